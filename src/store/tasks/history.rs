//! The history of tasks: every move, who made it, and why. Rows are never changed.

use crate::domain::{Actor, ActorKind, HistoryEntry, Status, TaskId};
use crate::store::{Row, StoreError, Tx};

crate::store::statements! {
    ADD = "INSERT INTO task_moves (task_id, number, from_status, to_status, made_by, maker_id, reason,
            made_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    OF_TASK = "SELECT from_status, to_status, made_by, maker_id, reason, made_at FROM task_moves
        WHERE task_id = ?1 ORDER BY number LIMIT ?2 OFFSET ?3";
    AROUND_STATUS = "SELECT from_status, to_status, made_by, maker_id, reason, made_at
        FROM task_moves WHERE task_id = ?1 AND (from_status = ?2 OR to_status = ?2)
        ORDER BY number LIMIT ?3";
    COUNT = "SELECT COUNT(*) FROM task_moves WHERE task_id = ?1";
}

impl Tx<'_> {
    pub(in crate::store) fn add_move(
        &mut self,
        task: TaskId,
        number: i64,
        made: &HistoryEntry,
    ) -> Result<(), StoreError> {
        let values = [
            task.to_string().into(),
            number.into(),
            made.from.map(Status::as_str).into(),
            made.to.as_str().into(),
            made.by.kind.as_str().into(),
            made.by.id.as_ref().into(),
            made.reason.as_ref().into(),
            made.created_at.into(),
        ];
        self.defer(ADD, &values)
    }

    /// A page of the moves of a task, oldest first, and how many there are. Whether the caller may
    /// see the task is the caller's to check.
    pub fn history(
        &mut self,
        task: TaskId,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<HistoryEntry>, i64), StoreError> {
        let id = task.to_string();
        let moves = self.all(OF_TASK, &[(&id).into(), limit.into(), offset.into()], read)?;
        let count = self.optional(COUNT, &[(&id).into()], |row| row.get(0))?;
        Ok((moves, count.unwrap_or(0)))
    }

    /// The first moves of a task into a status and out of it, oldest first.
    pub fn moves_around(
        &mut self,
        task: TaskId,
        status: Status,
        limit: i64,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let values = [
            task.to_string().into(),
            status.as_str().into(),
            limit.into(),
        ];
        self.all(AROUND_STATUS, &values, read)
    }
}

fn read(row: &Row<'_>) -> Result<HistoryEntry, StoreError> {
    let from: Option<String> = row.get(0)?;
    Ok(HistoryEntry {
        from: from.as_deref().and_then(Status::parse),
        to: row.parse(1, Status::parse)?,
        by: Actor {
            kind: row.parse(2, ActorKind::parse)?,
            id: row.get(3)?,
        },
        reason: row.get(4)?,
        created_at: row.get(5)?,
    })
}
