//! The default payment method for an account's live tasks.

use serde_json::json;

use crate::domain::{Actor, Owner, PaymentMethod, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

pub fn put_payment_method(
    tx: &mut Tx<'_>,
    owner: Owner,
    method: &PaymentMethod,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.put_payment_method(owner, method)?;
    record(tx, owner, by, "payment_method.set", now)
}

/// Removing a method that does not exist changes nothing.
pub fn remove_payment_method(
    tx: &mut Tx<'_>,
    owner: Owner,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if tx.delete_payment_method(owner)? {
        record(tx, owner, by, "payment_method.removed", now)?;
    }
    Ok(())
}

fn record(
    tx: &mut Tx<'_>,
    owner: Owner,
    by: &Actor,
    action: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (id, details) = (
        owner.account.to_string(),
        json!({"environment": owner.environment}),
    );
    audit(tx, by, action, "account", &id, details, now)
}
