//! Seals secrets: those that an older program wrote as plain text, and all of them when the master key
//! changes.

use serde_json::json;

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::webhooks::WebhookSecret;
use crate::domain::{Actor, Timestamp, TotpSecret};
use crate::store::{SEALED_COLUMNS, SealedColumn, SecretPlace, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

/// How many texts are sealed in one transaction.
const AT_ONCE: usize = 200;

/// Seals some of the texts that an older program wrote. Returns whether there may be more. Several
/// servers may do this at the same time.
pub fn seal_plain_texts(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    for column in SEALED_COLUMNS {
        let plain = tx.plain_texts(*column, AT_ONCE as i64)?;
        let mut sealed = 0;
        for (id, stored) in &plain {
            if tx.reseal(*column, id, stored)? {
                sealed += 1;
            }
        }
        if sealed == AT_ONCE {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes another master key the one that seals.
pub fn change_master_key(
    tx: &mut Tx<'_>,
    id: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.change_master_key(id, now)?;
    audit(tx, by, "secrets.rotated", "master_key", id, json!({}), now)
}

/// Seals some texts of a column under the current key. Returns after which row to go on, if there may
/// be more.
pub fn reseal_page(
    tx: &mut Tx<'_>,
    column: SealedColumn,
    after: &str,
) -> Result<Option<String>, UseCaseError> {
    let page = tx.stored_texts(column, after, AT_ONCE as i64)?;
    for (id, stored) in &page {
        tx.reseal(column, id, stored)?;
    }
    Ok(next(page))
}

/// Replaces those of some texts that cannot be opened because the master key is lost. Returns after
/// which row to go on, and how many were replaced.
pub fn replace_lost_page(
    tx: &mut Tx<'_>,
    column: SealedColumn,
    after: &str,
) -> Result<(Option<String>, usize), UseCaseError> {
    let page = tx.stored_texts(column, after, AT_ONCE as i64)?;
    let mut replaced = 0;
    for (id, stored) in &page {
        if tx.opens(column, id, stored) {
            tx.reseal(column, id, stored)?;
            continue;
        }
        match replacement(column.place, id) {
            Some(new) => tx.replace_secret(column, id, stored, &new)?,
            None => tx.drop_secret(column.place, id)?,
        }
        replaced += 1;
    }
    Ok((next(page), replaced))
}

/// `None` for what the next start makes anew.
fn replacement(place: SecretPlace, id: &str) -> Option<String> {
    match place {
        SecretPlace::Webhook => {
            let secret = WebhookSecret::new(&ambient::random());
            Some(secret.expose().to_owned())
        }
        // The processor's own. There is no way to ask for it again, so the task cannot be paid.
        SecretPlace::Payment | SecretPlace::SandboxPayment => Some(String::new()),
        SecretPlace::SandboxPayoutAccount => {
            Some(format!("{id}_secret_{}", hex(&ambient::random::<24>())))
        }
        // Nobody knows it: the holder signs in with a recovery code and sets the factor up again.
        SecretPlace::SecondFactor => Some(TotpSecret::new(&ambient::random()).to_base32()),
        SecretPlace::Service
        | SecretPlace::AcmeAccount
        | SecretPlace::AcmeKey
        | SecretPlace::AcmeChallenge => None,
    }
}

/// Browsers subscribed to a key that is gone.
pub fn record_reset(tx: &mut Tx<'_>, by: &Actor, now: Timestamp) -> Result<(), StoreError> {
    tx.drop_all_push_subscriptions()?;
    let recorded = audit(tx, by, "secrets.reset", "master_key", "", json!({}), now);
    recorded.map_err(|error| match error {
        UseCaseError::Store(error) => error,
        other => StoreError::Failed(other.to_string()),
    })
}

fn next(page: Vec<(String, String)>) -> Option<String> {
    let is_full = page.len() == AT_ONCE;
    page.into_iter()
        .next_back()
        .map(|(id, _)| id)
        .filter(|_| is_full)
}
