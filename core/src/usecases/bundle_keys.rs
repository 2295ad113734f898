//! The key that signs proof bundles: made once for all servers, and rotated.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::domain::proofs::bundles::{BundleKey, BundleSigner};
use crate::domain::{Actor, Timestamp};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

/// The current key, if it is there with its private part.
pub fn bundle_signer(tx: &mut Tx<'_>) -> Result<Option<BundleSigner>, UseCaseError> {
    let Some((key, Some(private))) = tx.current_bundle_key()? else {
        return Ok(None);
    };
    let unreadable = || StoreError::Failed(format!("the private bundle key {} is damaged", key.id));
    let seed = STANDARD.decode(private).map_err(|_| unreadable())?;
    let signer = BundleSigner::from_seed(&seed, key.created_at).ok_or_else(unreadable)?;
    Ok(Some(signer))
}

/// The current key. Makes one from the seed if there is none, or if its private part was lost with the
/// master key.
pub fn make_bundle_key(
    tx: &mut Tx<'_>,
    seed: &[u8; 32],
    now: Timestamp,
) -> Result<BundleSigner, UseCaseError> {
    if let Some(signer) = bundle_signer(tx)? {
        return Ok(signer);
    }
    if let Some((lost, None)) = tx.current_bundle_key()? {
        tx.retire_bundle_key(&lost.id, now)?;
    }
    add(tx, seed, now)?;
    let missing = || StoreError::Failed("no bundle key was stored".into());
    Ok(bundle_signer(tx)?.ok_or_else(missing)?)
}

/// Retires the current key and makes another one from the seed. Returns it.
pub fn rotate_bundle_key(
    tx: &mut Tx<'_>,
    seed: &[u8; 32],
    by: &Actor,
    now: Timestamp,
) -> Result<BundleKey, UseCaseError> {
    let retired = tx.current_bundle_key()?.map(|(key, _)| key.id);
    if let Some(id) = &retired {
        tx.retire_bundle_key(id, now)?;
    }
    let key = add(tx, seed, now)?;
    let details = json!({ "retired": retired });
    audit(
        tx,
        by,
        "bundle_key.rotated",
        "bundle_key",
        &key.id,
        details,
        now,
    )?;
    Ok(key)
}

fn add(tx: &mut Tx<'_>, seed: &[u8; 32], now: Timestamp) -> Result<BundleKey, UseCaseError> {
    let unfit = || StoreError::Failed("no key can be made".into());
    let signer = BundleSigner::from_seed(seed, now).ok_or_else(unfit)?;
    // If another server was faster, its key is current.
    tx.add_bundle_key(&signer.key, &STANDARD.encode(seed))?;
    Ok(signer.key)
}
