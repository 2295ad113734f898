//! Admin keys, the queue of what admins have to look at, and workers' documents.

use super::{Row, StoreError, Tx};
use crate::domain::{
    AdminKeyId, By, QueueItem, QueueItemId, QueueKind, QueueStatus, TaskId, Timestamp,
    VerificationFile, VerificationFileId, WorkerId,
};

macro_rules! item_columns {
    () => {
        "id, kind, subject, task_id, worker_id, status, note, decided_at, created_at"
    };
}

super::statements! {
    ADD_KEY = "INSERT INTO admin_keys (id, name, key_hash, key_prefix, created_at, revoked_at)
        VALUES (?1, ?2, ?3, ?4, ?5, NULL)";
    KEY_HOLDER = "SELECT id, name FROM admin_keys WHERE key_hash = ?1 AND revoked_at IS NULL";
    /// An item that was closed is opened again by what happens anew.
    ADD_ITEM = "INSERT INTO queue_items (id, kind, subject, task_id, worker_id, status, note,
            decided_by, decided_at, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?7, NULL, NULL, ?6)
        ON CONFLICT (kind, subject) DO UPDATE SET status = 'open', decided_by = NULL,
            decided_at = NULL";
    ITEM = concat!("SELECT ", item_columns!(), " FROM queue_items WHERE id = ?1");
    ITEMS = concat!("SELECT ", item_columns!(), " FROM queue_items
        WHERE status = ?1 AND id > ?2 ORDER BY id LIMIT ?3");
    CLOSE_ITEM = "UPDATE queue_items SET status = ?2, note = COALESCE(?3, note), decided_by = ?4,
            decided_at = ?5
        WHERE id = ?1 AND status = 'open'";
    NOTE_ITEM = "UPDATE queue_items SET note = ?2 WHERE id = ?1";
    CLOSE_BY_SUBJECT = "UPDATE queue_items SET status = 'closed', decided_by = ?3, decided_at = ?4
        WHERE kind = ?1 AND subject = ?2 AND status = 'open'";
    CLOSE_UNDECIDED = "UPDATE queue_items SET status = 'closed', decided_at = ?3
        WHERE kind = ?1 AND subject = ?2 AND status = 'open'";
    PUT_FILE = "INSERT INTO verification_files (id, worker_id, kind, file_key, content_type, sha256,
            created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    DROP_FILES = "DELETE FROM verification_files WHERE worker_id = ?1";
    FILES = "SELECT id, worker_id, kind, file_key, content_type, sha256, created_at
        FROM verification_files WHERE worker_id = ?1 ORDER BY kind";
    SECRET = "SELECT secret FROM service_secrets WHERE name = ?1";
    ADD_SECRET = "INSERT INTO service_secrets (name, secret) VALUES (?1, ?2)
        ON CONFLICT (name) DO NOTHING";
}

impl Tx<'_> {
    /// Closes the open item of a subject that nobody decided in time.
    pub fn close_undecided(
        &mut self,
        kind: QueueKind,
        subject: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [kind.as_str().into(), subject.into(), now.into()];
        self.queue(CLOSE_UNDECIDED, &values)
    }

    pub fn insert_admin_key(
        &mut self,
        id: AdminKeyId,
        name: &str,
        key_hash: &str,
        key_prefix: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            id.to_string().into(),
            name.into(),
            key_hash.into(),
            key_prefix.into(),
            now.into(),
        ];
        self.queue(ADD_KEY, &values)
    }

    pub fn admin_key_holder(&mut self, key_hash: &str) -> Result<Option<AdminKeyId>, StoreError> {
        self.optional(KEY_HOLDER, &[key_hash.into()], |row| {
            row.parse(0, AdminKeyId::parse)
        })
    }

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
        self.queue(ADD_ITEM, &values)
    }

    pub fn queue_item(&mut self, id: QueueItemId) -> Result<Option<QueueItem>, StoreError> {
        self.optional(ITEM, &[id.to_string().into()], read_item)
    }

    /// Up to `limit` items in a status, oldest first, after the given one.
    pub fn queue_items(
        &mut self,
        status: QueueStatus,
        after: Option<QueueItemId>,
        limit: i64,
    ) -> Result<Vec<QueueItem>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let values = [status.as_str().into(), after.into(), limit.into()];
        self.all(ITEMS, &values, read_item)
    }

    /// Closes an open item; false when it is not open.
    pub fn close_queue_item(
        &mut self,
        id: QueueItemId,
        note: Option<&str>,
        by: AdminKeyId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [
            id.to_string().into(),
            QueueStatus::Closed.as_str().into(),
            note.into(),
            by.to_string().into(),
            now.into(),
        ];
        Ok(self.execute(CLOSE_ITEM, &values)? == 1)
    }

    pub fn note_queue_item(&mut self, id: QueueItemId, note: &str) -> Result<(), StoreError> {
        self.execute_one(NOTE_ITEM, &[id.to_string().into(), note.into()])
    }

    /// Closes what was asked about a subject, because it has been decided.
    pub fn close_queue_items_of(
        &mut self,
        kind: QueueKind,
        subject: &str,
        by: &By,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            kind.as_str().into(),
            subject.into(),
            by.to_string().into(),
            now.into(),
        ];
        self.queue(CLOSE_BY_SUBJECT, &values)
    }

    /// Replaces a worker's documents.
    pub fn put_verification_files(
        &mut self,
        worker: WorkerId,
        files: &[VerificationFile],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.queue(DROP_FILES, &[worker.to_string().into()])?;
        for file in files {
            let values = [
                file.id.to_string().into(),
                worker.to_string().into(),
                (&file.kind).into(),
                (&file.key).into(),
                (&file.content_type).into(),
                (&file.sha256).into(),
                now.into(),
            ];
            self.queue(PUT_FILE, &values)?;
        }
        Ok(())
    }

    pub fn verification_files(
        &mut self,
        worker: WorkerId,
    ) -> Result<Vec<VerificationFile>, StoreError> {
        self.all(FILES, &[worker.to_string().into()], |row| {
            Ok(VerificationFile {
                id: row.parse(0, VerificationFileId::parse)?,
                kind: row.get(2)?,
                key: row.get(3)?,
                content_type: row.get(4)?,
                sha256: row.get(5)?,
            })
        })
    }

    /// A secret of the service: the one that is stored, or this one from now on.
    pub fn service_secret(&mut self, name: &str, new: &str) -> Result<String, StoreError> {
        self.queue(ADD_SECRET, &[name.into(), new.into()])?;
        let stored = self.optional(SECRET, &[name.into()], |row| row.get(0))?;
        stored.ok_or_else(|| StoreError::Failed("a secret was not stored".into()))
    }
}

fn read_item(row: &Row<'_>) -> Result<QueueItem, StoreError> {
    let (task, worker): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
    Ok(QueueItem {
        id: row.parse(0, QueueItemId::parse)?,
        kind: row.parse(1, QueueKind::parse)?,
        subject: row.get(2)?,
        task: task.as_deref().and_then(TaskId::parse),
        worker: worker.as_deref().and_then(WorkerId::parse),
        status: row.parse(5, QueueStatus::parse)?,
        note: row.get(6)?,
        decided_at: row.get(7)?,
        created_at: row.get(8)?,
    })
}
