//! The identity documents and selfies of workers. Whoever deletes a row here also adds the job that
//! deletes its file, so that no file is left without a row or a job that knows it.

use crate::domain::{JobKind, JobName, Timestamp, VerificationFile, VerificationFileId, WorkerId};
use crate::store::{PRUNED_AT_ONCE, StoreError, Tx, columns};

columns! {
    macro document;
    table verification_files;
    fn file_values<'a>(file: &'a VerificationFile, worker: WorkerId, now: Timestamp);
    columns {
        id: file.id,
        kind: &file.kind,
        file_key: &file.key,
        content_type: &file.content_type,
        sha256: &file.sha256,
    }
    inserted { worker_id: worker, created_at: now }
    row VerificationFile = VerificationFile { id, kind, key: file_key, content_type, sha256 };
}

crate::store::statements! {
    PUT_FILE = document!(insert);
    FILES = concat!("SELECT ", document!(columns), " FROM verification_files
        WHERE worker_id = ?1 ORDER BY kind");
    DECIDED = "UPDATE verification_files SET decided_at = ?2
        WHERE worker_id = ?1 AND decided_at IS NULL";
    DUE = concat!("SELECT ", document!(columns), " FROM verification_files
        WHERE decided_at <= ?1 ORDER BY decided_at LIMIT 500");
    /// Decided on by a program that did not write down when. Dated ones that are as old are gone already.
    UNDATED = concat!("SELECT ", document!(columns), " FROM verification_files
        WHERE id < ?1 AND decided_at IS NULL AND EXISTS (
            SELECT 1 FROM workers w WHERE w.id = verification_files.worker_id
                AND w.status <> 'in_review')
        ORDER BY id LIMIT 500");
    DROP_FILE = "DELETE FROM verification_files WHERE id = ?1";
}

impl Tx<'_> {
    /// Replaces a worker's documents. Returns those from before. If the caller cannot delete their files,
    /// jobs do.
    pub fn put_verification_files(
        &mut self,
        worker: WorkerId,
        files: &[VerificationFile],
        now: Timestamp,
    ) -> Result<Vec<VerificationFile>, StoreError> {
        let replaced = self.verification_files(worker)?;
        self.remember_documents(worker, now)?;
        self.drop_documents(&replaced, now)?;
        for file in files {
            self.defer(PUT_FILE, &file_values(file, worker, now))?;
        }
        Ok(replaced)
    }

    pub fn verification_files(
        &mut self,
        worker: WorkerId,
    ) -> Result<Vec<VerificationFile>, StoreError> {
        self.all(FILES, &[worker.into()])
    }

    /// An admin has decided on a worker's documents.
    pub fn documents_decided(
        &mut self,
        worker: WorkerId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(DECIDED, &[worker.into(), now.into()])
    }

    pub fn drop_verification_files(
        &mut self,
        worker: WorkerId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let files = self.verification_files(worker)?;
        self.drop_documents(&files, now)
    }

    /// Deletes a batch of documents that were decided on before a moment. Returns whether there may be
    /// more.
    pub fn drop_decided_documents(
        &mut self,
        before: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let first_kept = VerificationFileId::new(before, &[0; 10]);
        let decided: Vec<VerificationFile> = self.all(DUE, &[before.into()])?;
        let undated: Vec<VerificationFile> = self.all(UNDATED, &[first_kept.into()])?;
        let mut more = false;
        for files in [decided, undated] {
            self.drop_documents(&files, now)?;
            more |= files.len() as u64 == PRUNED_AT_ONCE;
        }
        Ok(more)
    }

    fn drop_documents(
        &mut self,
        files: &[VerificationFile],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for file in files {
            self.defer(DROP_FILE, &[file.id.into()])?;
            self.add_job(&JobName::new(JobKind::DeleteFile, &file.key), now)?;
        }
        Ok(())
    }
}
