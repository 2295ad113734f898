//! The queue of what admins have to look at.

use crate::domain::{
    AdminKeyId, QueueItem, QueueItemId, QueueKind, QueueStatus, TaskId, Timestamp, WorkerId,
};
use crate::store::{Row, StoreError, Tx, Value};

macro_rules! columns {
    () => {
        "id, kind, subject, task_id, worker_id, status, note, claimed_by, claimed_until, \
         decided_at, created_at"
    };
}

crate::store::statements! {
    /// An item that was closed is opened again by what happens anew.
    ADD = "INSERT INTO queue_items (id, kind, subject, task_id, worker_id, status, note,
            decided_by, decided_at, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?7, NULL, NULL, ?6)
        ON CONFLICT (kind, subject) DO UPDATE SET status = 'open', decided_by = NULL,
            decided_at = NULL";
    ONE = concat!("SELECT ", columns!(), " FROM queue_items WHERE id = ?1");
    OF_SUBJECT = concat!("SELECT ", columns!(), " FROM queue_items
        WHERE kind = ?1 AND subject = ?2");
    PAGE = concat!("SELECT ", columns!(), " FROM queue_items
        WHERE status = ?1 AND id > ?2 AND (?4 = '' OR kind = ?4)
            AND (?5 = '' OR (?5 = 'me' AND claimed_by = ?6 AND claimed_until > ?7)
                OR (?5 = 'nobody' AND (claimed_until IS NULL OR claimed_until <= ?7)))
        ORDER BY id LIMIT ?3");
    /// Of two who claim at once, the second finds the claim of the first.
    CLAIM = "UPDATE queue_items SET claimed_by = ?2, claimed_until = ?3
        WHERE id = ?1 AND status = 'open'
            AND (claimed_by = ?2 OR claimed_until IS NULL OR claimed_until <= ?4)";
    RELEASE = "UPDATE queue_items SET claimed_by = NULL, claimed_until = NULL
        WHERE id = ?1 AND claimed_by = ?2";
    NOTE = "UPDATE queue_items SET note = ?2 WHERE id = ?1";
    /// Nobody else may have claimed it since it was read.
    CLOSE = "UPDATE queue_items SET status = 'closed', note = COALESCE(?2, note), decided_by = ?3,
            decided_at = ?4, claimed_by = NULL, claimed_until = NULL
        WHERE id = ?1 AND status = 'open'
            AND (claimed_by = ?3 OR claimed_until IS NULL OR claimed_until <= ?4)";
    CLOSE_OF_SUBJECT = "UPDATE queue_items SET status = 'closed', decided_by = ?3, decided_at = ?4,
            claimed_by = NULL, claimed_until = NULL
        WHERE kind = ?1 AND subject = ?2 AND status = 'open'";
}

/// Which items are asked for.
#[derive(Clone, Copy, Debug)]
pub struct QueueFilter {
    pub status: QueueStatus,
    pub kind: Option<QueueKind>,
    pub claimed: Option<Claimed>,
}

/// Whose items are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Claimed {
    By(AdminKeyId),
    ByNobody,
}

impl Tx<'_> {
    /// Puts something before the admins; what is there already stays one item.
    pub fn add_queue_item(&mut self, item: &QueueItem) -> Result<(), StoreError> {
        let values = [
            item.id.to_string().into(),
            item.kind.as_str().into(),
            (&item.subject).into(),
            item.task.map(|id| id.to_string()).into(),
            item.worker.map(|id| id.to_string()).into(),
            item.created_at.into(),
            item.note.as_ref().into(),
        ];
        self.defer(ADD, &values)
    }

    pub fn queue_item(&mut self, id: QueueItemId) -> Result<Option<QueueItem>, StoreError> {
        self.optional(ONE, &[id.to_string().into()], read)
    }

    pub fn queue_item_of(
        &mut self,
        kind: QueueKind,
        subject: &str,
    ) -> Result<Option<QueueItem>, StoreError> {
        self.optional(OF_SUBJECT, &[kind.as_str().into(), subject.into()], read)
    }

    /// Up to `limit` items, oldest first, after the given one.
    pub fn queue_items(
        &mut self,
        filter: QueueFilter,
        after: Option<QueueItemId>,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<QueueItem>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let kind = filter.kind.map_or("", QueueKind::as_str);
        let (claimed, admin) = match filter.claimed {
            None => ("", Value::Null),
            Some(Claimed::By(admin)) => ("me", admin.to_string().into()),
            Some(Claimed::ByNobody) => ("nobody", Value::Null),
        };
        let values = [
            filter.status.as_str().into(),
            after.into(),
            limit.into(),
            kind.into(),
            claimed.into(),
            admin,
            now.into(),
        ];
        self.all(PAGE, &values, read)
    }

    /// Claims an open item, or claims it for longer; false when another admin has it, or when it is
    /// not open.
    pub fn claim_queue_item(
        &mut self,
        id: QueueItemId,
        admin: AdminKeyId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [
            id.to_string().into(),
            admin.to_string().into(),
            until.into(),
            now.into(),
        ];
        Ok(self.execute(CLAIM, &values)? == 1)
    }

    /// False when this admin has not claimed it.
    pub fn release_queue_item(
        &mut self,
        id: QueueItemId,
        admin: AdminKeyId,
    ) -> Result<bool, StoreError> {
        let values = [id.to_string().into(), admin.to_string().into()];
        Ok(self.execute(RELEASE, &values)? == 1)
    }

    pub fn note_queue_item(&mut self, id: QueueItemId, note: &str) -> Result<(), StoreError> {
        self.execute_one(NOTE, &[id.to_string().into(), note.into()])
    }

    /// Closes an item that was read as open, and not claimed by anybody else.
    pub fn close_queue_item(
        &mut self,
        id: QueueItemId,
        note: Option<&str>,
        by: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [id.to_string().into(), note.into(), by.into(), now.into()];
        self.execute_one(CLOSE, &values)
    }

    /// Closes what was asked about a subject, whoever has claimed it.
    pub fn close_queue_items_of(
        &mut self,
        kind: QueueKind,
        subject: &str,
        by: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [kind.as_str().into(), subject.into(), by.into(), now.into()];
        self.defer(CLOSE_OF_SUBJECT, &values)
    }
}

fn read(row: &Row<'_>) -> Result<QueueItem, StoreError> {
    let (task, worker): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
    let claimed_by: Option<String> = row.get(7)?;
    Ok(QueueItem {
        id: row.parse(0, QueueItemId::parse)?,
        kind: row.parse(1, QueueKind::parse)?,
        subject: row.get(2)?,
        task: task.as_deref().and_then(TaskId::parse),
        worker: worker.as_deref().and_then(WorkerId::parse),
        status: row.parse(5, QueueStatus::parse)?,
        note: row.get(6)?,
        claimed_by: claimed_by.as_deref().and_then(AdminKeyId::parse),
        claimed_until: row.get(8)?,
        decided_at: row.get(9)?,
        created_at: row.get(10)?,
    })
}
