//! A server records what it let through, and takes what it may let through next.

use crate::domain::accounts::rate_limit::{Settled, Settlement};
use crate::domain::{AccountId, Timestamp};
use crate::store::{StoreError, Tx};

/// Answers in the same order. The callers must be sorted: two servers that lock the same rows in
/// another order would wait for each other.
pub fn settle_rate_limits(
    tx: &mut Tx<'_>,
    asked: &[(AccountId, Settlement)],
    now: Timestamp,
) -> Result<Vec<Settled>, StoreError> {
    let settle = |(caller, asked): &(AccountId, Settlement)| {
        let bucket = tx.rate_limit(*caller, now)?;
        let (after, settled) = bucket.settle(*asked, now);
        tx.set_rate_limit(*caller, after)?;
        Ok(settled)
    };
    asked.iter().map(settle).collect()
}
