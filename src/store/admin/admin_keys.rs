//! Admin keys, workers' documents, and secrets of the service.

use crate::domain::{
    AdminKey, AdminKeyId, AdminRole, Timestamp, VerificationFile, VerificationFileId, WorkerId,
};
use crate::store::{Row, StoreError, Tx};

/// The columns of the record of a key, in the order in which `read_key` takes them.
macro_rules! key_columns {
    () => {
        "id, name, role, key_prefix, created_at, revoked_at"
    };
}

crate::store::statements! {
    ADD_KEY = concat!("INSERT INTO admin_keys (", key_columns!(), ", key_hash)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    KEY_HOLDER = concat!("SELECT ", key_columns!(), " FROM admin_keys
        WHERE key_hash = ?1 AND revoked_at IS NULL");
    KEYS = concat!("SELECT ", key_columns!(), " FROM admin_keys ORDER BY id");
    KEY = concat!("SELECT ", key_columns!(), " FROM admin_keys WHERE id = ?1");
    REVOKE_KEY = "UPDATE admin_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
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
    pub fn insert_admin_key(&mut self, key: &AdminKey, key_hash: &str) -> Result<(), StoreError> {
        let values = [
            key.id.to_string().into(),
            (&key.name).into(),
            key.role.as_str().into(),
            (&key.key_prefix).into(),
            key.created_at.into(),
            key.revoked_at.into(),
            key_hash.into(),
        ];
        self.defer(ADD_KEY, &values)
    }

    /// The record of a key that is good.
    pub fn admin_key_holder(&mut self, key_hash: &str) -> Result<Option<AdminKey>, StoreError> {
        self.optional(KEY_HOLDER, &[key_hash.into()], read_key)
    }

    /// All of them, revoked ones included, oldest first. There are few.
    pub fn admin_keys(&mut self) -> Result<Vec<AdminKey>, StoreError> {
        self.all(KEYS, &[], read_key)
    }

    pub fn admin_key(&mut self, id: AdminKeyId) -> Result<Option<AdminKey>, StoreError> {
        self.optional(KEY, &[id.to_string().into()], read_key)
    }

    /// False when there is no such key that is good.
    pub fn revoke_admin_key(&mut self, id: AdminKeyId, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(REVOKE_KEY, &[id.to_string().into(), now.into()])? == 1)
    }

    /// Replaces a worker's documents.
    pub fn put_verification_files(
        &mut self,
        worker: WorkerId,
        files: &[VerificationFile],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(DROP_FILES, &[worker.to_string().into()])?;
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
            self.defer(PUT_FILE, &values)?;
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
        self.defer(ADD_SECRET, &[name.into(), new.into()])?;
        let stored = self.optional(SECRET, &[name.into()], |row| row.get(0))?;
        stored.ok_or_else(|| StoreError::Failed("a secret was not stored".into()))
    }
}

fn read_key(row: &Row<'_>) -> Result<AdminKey, StoreError> {
    Ok(AdminKey {
        id: row.parse(0, AdminKeyId::parse)?,
        name: row.get(1)?,
        role: row.parse(2, AdminRole::parse)?,
        key_prefix: row.get(3)?,
        created_at: row.get(4)?,
        revoked_at: row.get(5)?,
    })
}
