//! What the files of proofs take in storage: a total for each owner, and files that expire.

use crate::domain::{Owner, ProofId, Tier, Timestamp};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro expired;
    columns {
        id = "p.id",
        file_key = "p.file_key",
        original_key = "p.original_key",
        stored_bytes = "p.stored_bytes",
        account = "t.account_id",
        environment = "t.environment",
    }
    row ExpiredFiles = ExpiredFiles {
        proof: id,
        keys: [file_key, original_key],
        stored_bytes,
        owner: Owner { account, environment },
    };
}

crate::store::statements! {
    USED = "SELECT a.tier, t.stored_bytes FROM task_totals t JOIN accounts a ON a.id = t.account_id
        WHERE t.account_id = ?1 AND t.environment = ?2";
    TAKE = "UPDATE task_totals SET stored_bytes = stored_bytes + ?3
        WHERE account_id = ?1 AND environment = ?2 AND stored_bytes + ?3 <= ?4";
    GIVE_BACK = "UPDATE task_totals SET stored_bytes = stored_bytes - ?3
        WHERE account_id = ?1 AND environment = ?2";
    EXPIRED = concat!("SELECT ", expired!(columns), " FROM proofs p JOIN tasks t ON t.id = p.task_id
        WHERE p.files_expire_at <= ?1 ORDER BY p.files_expire_at LIMIT ?2");
    DELETED = "UPDATE proofs SET files_expire_at = NULL, files_deleted_at = ?2
        WHERE id = ?1 AND files_expire_at IS NOT NULL";
    /// The files of an erased account are deleted.
    OF_PROOFS = "SELECT p.id, p.file_key, p.original_key, p.content_type
        FROM proofs p JOIN tasks t ON t.id = p.task_id JOIN accounts a ON a.id = t.account_id
        WHERE p.id > ?1 AND p.files_deleted_at IS NULL AND a.erased_at IS NULL
        ORDER BY p.id LIMIT ?2";
    OF_DOCUMENTS = "SELECT id, file_key, content_type FROM verification_files
        WHERE id > ?1 ORDER BY id LIMIT ?2";
    OF_EXPORTS = "SELECT file_key FROM export_parts
        WHERE file_key > ?1 ORDER BY file_key LIMIT ?2";
    OF_UPLOADS = "SELECT file_key FROM upload_parts
        WHERE file_key > ?1 ORDER BY file_key LIMIT ?2";
}

/// The last record whose files were read, in each table: one is read after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCursor {
    pub proof: String,
    pub document: String,
    pub export: String,
    pub upload: String,
}

/// The files of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFiles {
    pub keys: Vec<String>,
    pub content_type: String,
}

/// The files of a proof that are due to be deleted.
#[derive(Clone, Debug)]
pub struct ExpiredFiles {
    pub proof: ProofId,
    pub keys: [String; 2],
    pub stored_bytes: i64,
    pub owner: Owner,
}

impl Tx<'_> {
    /// Up to `limit` records with files after a cursor, and the cursor after them.
    pub fn stored_files(
        &mut self,
        after: &FileCursor,
        limit: i64,
    ) -> Result<(Vec<StoredFiles>, FileCursor), StoreError> {
        let mut next = after.clone();
        let values = [(&after.proof).into(), limit.into()];
        type Record = ((String, String), (String, String));
        let proofs: Vec<Record> = self.all(OF_PROOFS, &values)?;
        let mut files = Vec::new();
        for ((id, key), (original, content_type)) in proofs {
            next.proof = id;
            let mut keys = vec![key, original];
            keys.dedup();
            files.push(StoredFiles { keys, content_type });
        }
        if files.is_empty() {
            let values = [(&after.document).into(), limit.into()];
            let documents: Vec<(String, String, String)> = self.all(OF_DOCUMENTS, &values)?;
            for (id, key, content_type) in documents {
                next.document = id;
                let keys = vec![key];
                files.push(StoredFiles { keys, content_type });
            }
        }
        for (statement, after, next, content_type) in [
            (
                OF_EXPORTS,
                &after.export,
                &mut next.export,
                "application/zip",
            ),
            (
                OF_UPLOADS,
                &after.upload,
                &mut next.upload,
                "application/octet-stream",
            ),
        ] {
            if !files.is_empty() {
                break;
            }
            for key in self.all::<String>(statement, &[after.into(), limit.into()])? {
                next.clone_from(&key);
                files.push(StoredFiles {
                    keys: vec![key],
                    content_type: content_type.to_owned(),
                });
            }
        }
        Ok((files, next))
    }

    /// The tier of an account, and what the proofs of one of its environments take.
    pub fn storage(&mut self, owner: Owner) -> Result<Option<(Tier, i64)>, StoreError> {
        self.optional(USED, &owned_by(owner))
    }

    /// Counts stored bytes. False when they would exceed the limit.
    pub fn take_storage(
        &mut self,
        owner: Owner,
        bytes: i64,
        limit: u64,
    ) -> Result<bool, StoreError> {
        let mut values = owned_by(owner);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        values.extend([bytes.into(), limit.into()]);
        Ok(self.execute(TAKE, &values)? == 1)
    }

    /// Proofs whose files are due, the oldest first.
    pub fn expired_files(
        &mut self,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<ExpiredFiles>, StoreError> {
        self.all(EXPIRED, &[now.into(), limit.into()])
    }

    /// Records that the files of a proof are deleted, and gives the storage back, once.
    pub fn files_deleted(
        &mut self,
        files: &ExpiredFiles,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if self.execute(DELETED, &[files.proof.into(), now.into()])? == 1 {
            let mut values = owned_by(files.owner);
            values.push(files.stored_bytes.into());
            self.execute(GIVE_BACK, &values)?;
        }
        Ok(())
    }
}
