//! Admin keys. They are created and revoked on the command line.

use serde_json::json;

use crate::domain::{Actor, AdminKey, AdminKeyId, AdminRole, Secret, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

/// A key record together with the key.
#[derive(Clone, Debug)]
pub struct IssuedAdminKey {
    pub record: AdminKey,
    pub secret: Secret,
}

impl IssuedAdminKey {
    pub fn new(
        name: &str,
        role: AdminRole,
        id: AdminKeyId,
        random: &[u8; 32],
        now: Timestamp,
    ) -> Self {
        let secret = Secret::admin_key(random);
        let record = AdminKey {
            id,
            name: name.to_owned(),
            role,
            key_prefix: secret.shown_prefix().to_owned(),
            created_at: now,
            revoked_at: None,
        };
        Self { record, secret }
    }
}

pub fn create_admin_key(
    tx: &mut Tx<'_>,
    key: &IssuedAdminKey,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.insert_admin_key(&key.record, &key.secret.hash())?;
    let (id, details) = (key.record.id.to_string(), json!({"role": key.record.role}));
    audit(tx, by, "admin_key.created", "admin_key", &id, details, now)
}

/// Revokes a key permanently. Revoking it again changes nothing.
pub fn revoke_admin_key(
    tx: &mut Tx<'_>,
    id: AdminKeyId,
    by: &Actor,
    now: Timestamp,
) -> Result<AdminKey, UseCaseError> {
    let revoked = tx.revoke_admin_key(id, now)?;
    let key = tx.admin_key(id)?.ok_or(UseCaseError::KeyNotFound)?;
    if revoked {
        let id = id.to_string();
        audit(
            tx,
            by,
            "admin_key.revoked",
            "admin_key",
            &id,
            json!({}),
            now,
        )?;
    }
    Ok(key)
}
