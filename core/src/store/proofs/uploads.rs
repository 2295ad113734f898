//! Uploads that are sent in several requests, and the files that hold their parts.

use crate::domain::{
    JobKind, JobName, NewUpload, TaskId, Timestamp, Upload, UploadId, UploadPart, WorkerId,
};
use crate::store::{PRUNED_AT_ONCE, StoreError, Tx, columns};

columns! {
    macro upload;
    table uploads;
    fn upload_values<'a>(upload: &'a Upload);
    columns {
        id: upload.id,
        worker_id: upload.worker,
        task_id: upload.new.task,
        proof_type: upload.new.proof_type,
        size_bytes: upload.new.size_bytes,
        metadata: &upload.new.metadata,
        name: &upload.new.name,
        received_bytes: upload.received_bytes,
        writer: &upload.writer,
        begun_at: upload.begun_at,
        last_byte_at: upload.last_byte_at,
        expires_at: upload.expires_at,
        ended_at: upload.ended_at,
    }
    row Upload = Upload {
        id,
        worker: worker_id,
        new: NewUpload { task: task_id, proof_type, size_bytes, metadata, name },
        received_bytes,
        writer,
        begun_at,
        last_byte_at,
        expires_at,
        ended_at,
    };
}

columns! {
    macro part;
    table upload_parts;
    fn part_values<'a>(upload: UploadId, part: &'a UploadPart);
    columns {
        start_byte: part.start_byte,
        size_bytes: part.size_bytes,
        file_key: &part.key,
    }
    inserted { upload_id: upload }
    row UploadPart = UploadPart { start_byte, size_bytes, key: file_key };
}

crate::store::statements! {
    ADD = upload!(insert);
    OWN = concat!("SELECT ", upload!(columns), " FROM uploads WHERE id = ?1 AND worker_id = ?2");
    NAMED = concat!("SELECT ", upload!(columns), " FROM uploads
        WHERE worker_id = ?1 AND name = ?2 AND ended_at IS NULL");
    /// By the index of names, which has those without one too.
    COUNT_OPEN = "SELECT COUNT(*) FROM uploads
        WHERE worker_id = ?1 AND ended_at IS NULL AND expires_at > ?2";
    OPEN_OF = concat!("SELECT ", upload!(columns), " FROM uploads
        WHERE worker_id = ?1 AND ended_at IS NULL LIMIT 500");
    TAKE_OVER = "UPDATE uploads SET writer = ?2 WHERE id = ?1 AND ended_at IS NULL";
    ADVANCE = "UPDATE uploads SET received_bytes = ?4, last_byte_at = ?5, expires_at = ?6
        WHERE id = ?1 AND writer = ?2 AND received_bytes = ?3 AND ended_at IS NULL";
    /// What the worker called it goes: of an upload that has ended, only its id is still needed.
    END = "UPDATE uploads SET ended_at = ?2, writer = '', name = NULL, metadata = ''
        WHERE id = ?1 AND ended_at IS NULL";
    EXPIRED = concat!("SELECT ", upload!(columns), " FROM uploads
        WHERE ended_at IS NULL AND expires_at <= ?1 ORDER BY expires_at LIMIT 50");
    PRUNE = "DELETE FROM uploads WHERE id IN (SELECT id FROM uploads
        WHERE ended_at IS NOT NULL AND ended_at < ?1 ORDER BY ended_at LIMIT 500)";
    ADD_PART = part!(insert);
    HOLDS = "SELECT CAST(1 AS BIGINT) FROM uploads WHERE task_id = ?1 AND ended_at IS NULL
        AND last_byte_at > ?2 AND worker_id = ?3 AND begun_at <= ?4 LIMIT 1";
    PARTS = concat!("SELECT ", part!(columns), " FROM upload_parts
        WHERE upload_id = ?1 ORDER BY start_byte");
    LAST_PART = concat!("SELECT ", part!(columns), " FROM upload_parts
        WHERE upload_id = ?1 ORDER BY start_byte DESC LIMIT 1");
    DROP_PART = "DELETE FROM upload_parts WHERE upload_id = ?1 AND start_byte = ?2";
    DROP_PARTS = "DELETE FROM upload_parts WHERE upload_id = ?1";
}

/// How many are ended in one transaction; the statement says the same number.
const ENDED_AT_ONCE: usize = 50;

impl Tx<'_> {
    pub fn add_upload(&mut self, upload: &Upload) -> Result<(), StoreError> {
        self.defer(ADD, &upload_values(upload))
    }

    pub fn upload_of(
        &mut self,
        worker: WorkerId,
        id: UploadId,
    ) -> Result<Option<Upload>, StoreError> {
        self.optional(OWN, &[id.into(), worker.into()])
    }

    /// The same, locked until this transaction ends.
    pub fn upload_to_change(
        &mut self,
        worker: WorkerId,
        id: UploadId,
    ) -> Result<Option<Upload>, StoreError> {
        self.optional_locked(OWN, &[id.into(), worker.into()])
    }

    /// The upload that a worker has given this name, unless it has ended.
    pub fn upload_named(
        &mut self,
        worker: WorkerId,
        name: &str,
    ) -> Result<Option<Upload>, StoreError> {
        self.optional(NAMED, &[worker.into(), name.into()])
    }

    pub fn count_open_uploads(
        &mut self,
        worker: WorkerId,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let count = self.optional(COUNT_OPEN, &[worker.into(), now.into()])?;
        Ok(count.unwrap_or(0))
    }

    /// What a worker has begun to send: no more than can be open, and those that expired since the last clean-up.
    pub fn open_uploads_of(&mut self, worker: WorkerId) -> Result<Vec<Upload>, StoreError> {
        self.all(OPEN_OF, &[worker.into()])
    }

    /// From now on this request alone may add bytes.
    pub fn take_over_upload(&mut self, id: UploadId, writer: &str) -> Result<(), StoreError> {
        self.change_locked(TAKE_OVER, &[id.into(), writer.into()])
    }

    /// Records bytes that were stored after those that the upload had. False when another request has
    /// taken over, or the upload has ended.
    pub fn advance_upload(
        &mut self,
        upload: &Upload,
        part: &UploadPart,
        replaced: Option<&UploadPart>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [
            upload.id.into(),
            (&upload.writer).into(),
            upload.received_bytes.into(),
            part.end().into(),
            now.into(),
            now.plus(crate::domain::proofs::uploads::upload::KEPT)
                .into(),
        ];
        if self.execute(ADVANCE, &values)? != 1 {
            return Ok(false);
        }
        if let Some(replaced) = replaced {
            self.add_job(&JobName::new(JobKind::DeleteFile, &replaced.key), now)?;
            let values = [upload.id.into(), replaced.start_byte.into()];
            self.defer(DROP_PART, &values)?;
        }
        self.defer(ADD_PART, &part_values(upload.id, part))?;
        Ok(true)
    }

    /// Whether a worker began an upload for a task before a moment, and bytes of it came after another.
    pub fn upload_holds(
        &mut self,
        task: TaskId,
        worker: WorkerId,
        begun_by: Timestamp,
        bytes_after: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [
            task.into(),
            bytes_after.into(),
            worker.into(),
            begun_by.into(),
        ];
        Ok(self.optional::<i64>(HOLDS, &values)?.is_some())
    }

    pub fn upload_parts(&mut self, id: UploadId) -> Result<Vec<UploadPart>, StoreError> {
        self.all(PARTS, &[id.into()])
    }

    pub fn last_upload_part(&mut self, id: UploadId) -> Result<Option<UploadPart>, StoreError> {
        self.optional(LAST_PART, &[id.into()])
    }

    /// Ends an upload. Jobs delete its files. False when it had ended.
    pub fn end_upload(&mut self, id: UploadId, now: Timestamp) -> Result<bool, StoreError> {
        if self.execute(END, &[id.into(), now.into()])? != 1 {
            return Ok(false);
        }
        for part in self.upload_parts(id)? {
            self.add_job(&JobName::new(JobKind::DeleteFile, &part.key), now)?;
        }
        self.defer(DROP_PARTS, &[id.into()])?;
        Ok(true)
    }

    /// Ends a batch of uploads that have expired. Returns whether there may be more.
    pub fn end_expired_uploads(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        let expired: Vec<Upload> = self.all(EXPIRED, &[now.into()])?;
        for upload in &expired {
            self.end_upload(upload.id, now)?;
        }
        Ok(expired.len() == ENDED_AT_ONCE)
    }

    /// Ends all uploads of a worker.
    pub fn end_uploads_of(&mut self, worker: WorkerId, now: Timestamp) -> Result<(), StoreError> {
        loop {
            let open = self.open_uploads_of(worker)?;
            for upload in &open {
                self.end_upload(upload.id, now)?;
            }
            if (open.len() as u64) < PRUNED_AT_ONCE {
                return Ok(());
            }
        }
    }

    /// Deletes a batch of uploads that ended before a moment; returns how many.
    pub fn prune_ended_uploads(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[before.into()])
    }
}
