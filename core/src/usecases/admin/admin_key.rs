//! Admin keys. They are created and revoked on the command line, and by owners.

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
            last_used_at: None,
            revoked_at: None,
            created_by: None,
        };
        Self { record, secret }
    }
}

/// An owner creates a key.
pub fn create_admin_key_as(
    tx: &mut Tx<'_>,
    owner: AdminKeyId,
    key: &IssuedAdminKey,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    active_keys(tx, owner)?;
    let record = AdminKey {
        created_by: Some(owner),
        ..key.record.clone()
    };
    store(tx, &record, &key.secret, &Actor::admin(owner), now)
}

/// An owner revokes a key, their own included, unless no other owner would be left.
pub fn revoke_admin_key_as(
    tx: &mut Tx<'_>,
    owner: AdminKeyId,
    id: Option<AdminKeyId>,
    now: Timestamp,
) -> Result<AdminKey, UseCaseError> {
    let active = active_keys(tx, owner)?;
    let id = id.ok_or(UseCaseError::KeyNotFound)?;
    let mut owners = active.iter().filter(|key| key.role == AdminRole::Owner);
    if owners.all(|key| key.id == id) {
        return Err(UseCaseError::LastOwnerKey);
    }
    revoke_admin_key(tx, id, &Actor::admin(owner), now)
}

/// The active keys, for an owner whose key is still one of them. Locks the end of the audit log first,
/// so that of two owners who revoke each other's keys the second one sees what the first did.
fn active_keys(tx: &mut Tx<'_>, owner: AdminKeyId) -> Result<Vec<AdminKey>, UseCaseError> {
    tx.audit_head_to_change()?;
    let mut keys = tx.admin_keys()?;
    keys.retain(|key| key.revoked_at.is_none());
    if keys.iter().any(|key| key.id == owner) {
        Ok(keys)
    } else {
        Err(UseCaseError::Unauthorized)
    }
}

pub fn create_admin_key(
    tx: &mut Tx<'_>,
    key: &IssuedAdminKey,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    store(tx, &key.record, &key.secret, by, now)
}

fn store(
    tx: &mut Tx<'_>,
    key: &AdminKey,
    secret: &Secret,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.insert_admin_key(key, &secret.hash())?;
    let (id, details) = (key.id.to_string(), json!({"role": key.role}));
    audit(tx, by, "admin_key.created", "admin_key", &id, details, now)
}

/// The key that the operator gave to whoever holds this one: a key that an owner creates belongs to the owner,
/// as far as anybody can tell.
pub(in crate::usecases) fn first_key(
    tx: &mut Tx<'_>,
    mut id: AdminKeyId,
) -> Result<AdminKeyId, UseCaseError> {
    // A key is older than those that it creates, so this ends.
    while let Some(creator) = tx.admin_key(id)?.and_then(|key| key.created_by) {
        id = creator;
    }
    Ok(id)
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
