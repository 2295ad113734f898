//! Admin keys.

use crate::domain::{AdminKey, AdminKeyId, Timestamp};
use crate::store::{Lookup, StoreError, Tx, columns};

columns! {
    macro key;
    table admin_keys;
    fn key_values<'a>(key: &'a AdminKey, key_hash: &'a str);
    columns {
        id: key.id,
        name: &key.name,
        role: key.role,
        key_prefix: &key.key_prefix,
        created_at: key.created_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
        created_by: key.created_by,
    }
    inserted { key_hash: key_hash }
    row AdminKey = AdminKey {
        id,
        name,
        role,
        key_prefix,
        created_at,
        last_used_at,
        revoked_at,
        created_by,
    };
}

crate::store::statements! {
    ADD_KEY = key!(insert);
    KEY_HOLDER = concat!("SELECT ", key!(columns), " FROM admin_keys
        WHERE key_hash = ?1 AND revoked_at IS NULL");
    KEYS = concat!("SELECT ", key!(columns), " FROM admin_keys ORDER BY id");
    KEY = concat!("SELECT ", key!(columns), " FROM admin_keys WHERE id = ?1");
    REVOKE_KEY = "UPDATE admin_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
    TOUCH = "UPDATE admin_keys SET last_used_at = ?2
        WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
    ADD_SESSION = "INSERT INTO admin_sessions (token_hash, admin_key_id, created_at, expires_at)
        VALUES (?1, ?2, ?3, ?4)";
    SESSION_HOLDER = concat!("SELECT ", key!(columns), " FROM admin_keys
        WHERE revoked_at IS NULL AND id = (SELECT admin_key_id FROM admin_sessions
            WHERE token_hash = ?1 AND expires_at > ?2)");
    END_SESSION = "DELETE FROM admin_sessions WHERE token_hash = ?1";
    END_SESSIONS = "DELETE FROM admin_sessions WHERE admin_key_id = ?1";
    PRUNE_SESSIONS = "DELETE FROM admin_sessions WHERE token_hash IN (
            SELECT token_hash FROM admin_sessions WHERE expires_at <= ?1
            ORDER BY expires_at LIMIT 500)";
}

impl Lookup<AdminKey> {
    /// The record of a key that is not revoked.
    pub fn admin_key(key_hash: String) -> Self {
        Self::new(KEY_HOLDER, vec![key_hash.into()])
    }

    /// The record of the key that a session belongs to, while both are good.
    pub fn admin_session(token_hash: String, now: Timestamp) -> Self {
        Self::new(SESSION_HOLDER, vec![token_hash.into(), now.into()])
    }
}

impl Tx<'_> {
    pub fn insert_admin_key(&mut self, key: &AdminKey, key_hash: &str) -> Result<(), StoreError> {
        self.defer(ADD_KEY, &key_values(key, key_hash))
    }

    /// All of them, revoked ones included, oldest first. There are few.
    pub fn admin_keys(&mut self) -> Result<Vec<AdminKey>, StoreError> {
        self.all(KEYS, &[])
    }

    pub fn admin_key(&mut self, id: AdminKeyId) -> Result<Option<AdminKey>, StoreError> {
        self.optional(KEY, &[id.into()])
    }

    /// False when there is no such key, or when it is revoked already.
    pub fn revoke_admin_key(&mut self, id: AdminKeyId, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(REVOKE_KEY, &[id.into(), now.into()])? == 1)
    }

    pub fn add_admin_session(
        &mut self,
        token_hash: &str,
        key: AdminKeyId,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [token_hash.into(), key.into(), now.into(), expires_at.into()];
        self.defer(ADD_SESSION, &values)
    }

    pub fn end_admin_session(&mut self, token_hash: &str) -> Result<bool, StoreError> {
        Ok(self.execute(END_SESSION, &[token_hash.into()])? == 1)
    }

    pub fn end_admin_sessions_of(&mut self, key: AdminKeyId) -> Result<(), StoreError> {
        self.defer(END_SESSIONS, &[key.into()])
    }

    /// Deletes a batch of expired sessions; returns how many.
    pub fn prune_admin_sessions(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE_SESSIONS, &[now.into()])
    }

    /// Records that a key was used.
    pub fn touch_admin_key(
        &mut self,
        id: AdminKeyId,
        used_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(TOUCH, &[id.into(), used_at.into()])
    }
}
