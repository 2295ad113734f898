//! The review queue: what admins have to look at.

use crate::domain::{
    AdminKeyId, Environment, QueueItem, QueueItemId, QueueKind, QueueStatus, TaskId, Timestamp,
};
use crate::store::{StoreError, Tx, Value, columns};

columns! {
    macro item;
    table queue_items;
    fn item_values<'a>(item: &'a QueueItem);
    columns {
        id: item.id,
        kind: item.kind,
        subject: &item.subject,
        environment: item.environment,
        task_id: item.task,
        worker_id: item.worker,
        status: item.status,
        note: &item.note,
        claimed_by: item.claimed_by,
        claimed_until: item.claimed_until,
        decided_at: item.decided_at,
        created_at: item.created_at,
    }
    row QueueItem = QueueItem {
        id,
        kind,
        subject,
        environment,
        task: task_id,
        worker: worker_id,
        status,
        note,
        claimed_by,
        claimed_until,
        decided_at,
        created_at,
    };
}

crate::store::statements! {
    /// A closed item is opened again when the same thing happens again. What an admin noted on an open
    /// one stays, within bounds: a worker can have it happen again and again.
    ADD = concat!(item!(insert), "
        ON CONFLICT (kind, subject) DO UPDATE SET status = 'open', decided_by = NULL,
            decided_at = NULL,
            note = CASE WHEN excluded.note IS NULL THEN queue_items.note
                WHEN queue_items.status = 'closed' OR queue_items.note IS NULL THEN excluded.note
                ELSE substr(queue_items.note || ' ' || excluded.note, 1, 4000) END");
    ONE = concat!("SELECT ", item!(columns), " FROM queue_items WHERE id = ?1");
    OF_SUBJECT = concat!("SELECT ", item!(columns), " FROM queue_items
        WHERE kind = ?1 AND subject = ?2");
    /// With a time, only what nobody has claimed at that time: few items are claimed.
    PAGE = concat!("SELECT ", item!(columns), " FROM queue_items
        WHERE status = ?1 AND id > ?2
            AND (CAST(?4 AS BIGINT) IS NULL OR claimed_until IS NULL OR claimed_until <= ?4)
        ORDER BY id LIMIT ?3");
    PAGE_OF_KIND = concat!("SELECT ", item!(columns), " FROM queue_items
        WHERE status = ?1 AND kind = ?5 AND id > ?2
            AND (CAST(?4 AS BIGINT) IS NULL OR claimed_until IS NULL OR claimed_until <= ?4)
        ORDER BY id LIMIT ?3");
    PAGE_IN_ENVIRONMENT = concat!("SELECT ", item!(columns), " FROM queue_items
        WHERE status = ?1 AND environment = ?5 AND id > ?2
            AND (CAST(?4 AS BIGINT) IS NULL OR claimed_until IS NULL OR claimed_until <= ?4)
        ORDER BY id LIMIT ?3");
    PAGE_OF_KIND_IN_ENVIRONMENT = concat!("SELECT ", item!(columns), " FROM queue_items
        WHERE status = ?1 AND kind = ?5 AND environment = ?6 AND id > ?2
            AND (CAST(?4 AS BIGINT) IS NULL OR claimed_until IS NULL OR claimed_until <= ?4)
        ORDER BY id LIMIT ?3");
    /// An admin has claimed few.
    CLAIMED_PAGE = concat!("SELECT ", item!(columns), " FROM queue_items
        WHERE claimed_by = ?6 AND claimed_until > ?4 AND status = ?1 AND id > ?2
            AND (CAST(?5 AS TEXT) IS NULL OR kind = ?5)
            AND (CAST(?7 AS TEXT) IS NULL OR environment = ?7)
        ORDER BY id LIMIT ?3");
    /// If two admins claim at the same time, the second one sees the claim of the first.
    CLAIM = "UPDATE queue_items SET claimed_by = ?2, claimed_until = ?3
        WHERE id = ?1 AND status = 'open'
            AND (claimed_by = ?2 OR claimed_until IS NULL OR claimed_until <= ?4)";
    RELEASE = "UPDATE queue_items SET claimed_by = NULL, claimed_until = NULL
        WHERE id = ?1 AND claimed_by = ?2";
    NOTE = "UPDATE queue_items SET note = ?2 WHERE id = ?1";
    /// Fails if another admin has claimed it since it was read.
    CLOSE = "UPDATE queue_items SET status = 'closed', note = COALESCE(?2, note), decided_by = ?3,
            decided_at = ?4, claimed_by = NULL, claimed_until = NULL
        WHERE id = ?1 AND status = 'open'
            AND (claimed_by = ?3 OR claimed_until IS NULL OR claimed_until <= ?4)";
    CLOSE_FLAGGED = "UPDATE queue_items SET status = 'closed', decided_at = ?2, claimed_by = NULL,
            claimed_until = NULL
        WHERE task_id = ?1 AND kind = 'flagged_proof' AND status = 'open'";
    CLOSE_OF_SUBJECT = "UPDATE queue_items SET status = 'closed', decided_by = ?3, decided_at = ?4,
            claimed_by = NULL, claimed_until = NULL
        WHERE kind = ?1 AND subject = ?2 AND status = 'open'";
}

/// Which items to list.
#[derive(Clone, Copy, Debug)]
pub struct QueueFilter {
    pub status: QueueStatus,
    pub kind: Option<QueueKind>,
    pub environment: Option<Environment>,
    pub claimed: Option<Claimed>,
}

/// Whose items to list.
#[derive(Clone, Copy, Debug)]
pub enum Claimed {
    By(AdminKeyId),
    ByNobody,
}

impl Tx<'_> {
    /// Adds an item. If there is one of that kind and subject, it is opened again.
    pub fn add_queue_item(&mut self, item: &QueueItem) -> Result<(), StoreError> {
        self.defer(ADD, &item_values(item))
    }

    pub fn queue_item(&mut self, id: QueueItemId) -> Result<Option<QueueItem>, StoreError> {
        self.optional(ONE, &[id.into()])
    }

    pub fn queue_item_of(
        &mut self,
        kind: QueueKind,
        subject: &str,
    ) -> Result<Option<QueueItem>, StoreError> {
        self.optional(OF_SUBJECT, &[kind.into(), subject.into()])
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
        let mut values = vec![filter.status.into(), after.into(), limit.into()];
        values.push(filter.claimed.map(|_| now).into());
        if let Some(Claimed::By(admin)) = filter.claimed {
            values.extend([filter.kind.into(), admin.into(), filter.environment.into()]);
            return self.all(CLAIMED_PAGE, &values);
        }
        values.extend(filter.kind.map(Value::from));
        values.extend(filter.environment.map(Value::from));
        let statement = match (filter.kind, filter.environment) {
            (None, None) => PAGE,
            (Some(_), None) => PAGE_OF_KIND,
            (None, Some(_)) => PAGE_IN_ENVIRONMENT,
            (Some(_), Some(_)) => PAGE_OF_KIND_IN_ENVIRONMENT,
        };
        self.all(statement, &values)
    }

    /// Claims an open item, or extends the claim; false when another admin has claimed it or it is
    /// not open.
    pub fn claim_queue_item(
        &mut self,
        id: QueueItemId,
        admin: AdminKeyId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [id.into(), admin.into(), until.into(), now.into()];
        Ok(self.execute(CLAIM, &values)? == 1)
    }

    /// False when this admin has not claimed it.
    pub fn release_queue_item(
        &mut self,
        id: QueueItemId,
        admin: AdminKeyId,
    ) -> Result<bool, StoreError> {
        let values = [id.into(), admin.into()];
        Ok(self.execute(RELEASE, &values)? == 1)
    }

    pub fn note_queue_item(&mut self, id: QueueItemId, note: &str) -> Result<(), StoreError> {
        self.execute_one(NOTE, &[id.into(), note.into()])
    }

    /// Closes an item that was read as open and that no other admin has claimed.
    pub fn close_queue_item(
        &mut self,
        id: QueueItemId,
        note: Option<&str>,
        by: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [id.into(), note.into(), by.into(), now.into()];
        self.execute_one(CLOSE, &values)
    }

    /// Closes the item of a subject, whoever has claimed it.
    pub fn close_queue_items_of(
        &mut self,
        kind: QueueKind,
        subject: &str,
        by: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [kind.into(), subject.into(), by.into(), now.into()];
        self.defer(CLOSE_OF_SUBJECT, &values)
    }

    /// Closes the items about proofs of a task that is over, whoever has claimed them.
    pub fn close_flagged_proofs(&mut self, task: TaskId, now: Timestamp) -> Result<(), StoreError> {
        self.defer(CLOSE_FLAGGED, &[task.into(), now.into()])
    }
}
