//! The history of tasks: every move, who made it, and why, and what happened to a task without moving
//! it. Rows are never changed, except that the reasons of a deleted account or worker are erased.

use crate::domain::{Actor, HistoryEntry, Status, Task, TaskId, Timestamp};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro entry;
    table task_moves;
    fn entry_values<'a>(task: TaskId, number: i64, entry: &'a HistoryEntry);
    columns {
        from_status: entry.from,
        to_status: entry.to,
        made_by: entry.by.kind,
        maker_id: &entry.by.id,
        reason: &entry.reason,
        made_at: entry.created_at,
    }
    inserted { task_id: task, number: number }
    row HistoryEntry = HistoryEntry {
        from: from_status,
        to: to_status,
        by: Actor { kind: made_by, id: maker_id },
        reason,
        created_at: made_at,
    };
}

crate::store::statements! {
    ADD = entry!(insert);
    /// The number is above that of any event, so that it is never taken by one.
    NOTE = "INSERT INTO task_moves (task_id, number, from_status, to_status, made_by, reason,
            made_at, follows)
        SELECT ?1, 4503599627370496 + COUNT(*), ?2, ?2, ?3, ?4, ?5,
            COALESCE(MAX(CASE WHEN follows IS NULL THEN number ELSE 0 END), 0)
        FROM task_moves WHERE task_id = ?1";
    OF_TASK = concat!("SELECT ", entry!(columns), " FROM task_moves
        WHERE task_id = ?1 ORDER BY COALESCE(follows, number), number LIMIT ?2 OFFSET ?3");
    AROUND_STATUS = concat!("SELECT ", entry!(columns), " FROM task_moves
        WHERE task_id = ?1 AND (from_status = ?2 OR to_status = ?2) AND follows IS NULL
        ORDER BY number LIMIT ?3");
    COUNT = "SELECT COUNT(*) FROM task_moves WHERE task_id = ?1";
}

impl Tx<'_> {
    pub(in crate::store) fn add_move(
        &mut self,
        task: TaskId,
        number: i64,
        entry: &HistoryEntry,
    ) -> Result<(), StoreError> {
        self.defer(ADD, &entry_values(task, number, entry))
    }

    /// Adds an entry about something that did not move the task, which the caller holds.
    pub fn note_in_history(
        &mut self,
        task: &Task,
        by: &Actor,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            task.id.into(),
            task.status.into(),
            by.kind.into(),
            reason.into(),
            now.into(),
        ];
        self.execute_one(NOTE, &values)
    }

    /// A page of the moves of a task, oldest first, and how many there are. The caller checks that
    /// it may see the task.
    pub fn history(
        &mut self,
        task: TaskId,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<HistoryEntry>, i64), StoreError> {
        let moves = self.all(OF_TASK, &[task.into(), limit.into(), offset.into()])?;
        let count = self.optional(COUNT, &[task.into()])?;
        Ok((moves, count.unwrap_or(0)))
    }

    /// The first moves of a task into a status and out of it, oldest first.
    pub fn moves_around(
        &mut self,
        task: TaskId,
        status: Status,
        limit: i64,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        self.all(AROUND_STATUS, &[task.into(), status.into(), limit.into()])
    }
}
