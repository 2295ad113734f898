//! A worker's browser wants push messages.

use crate::domain::{PushSubscriptionId, Secret, Timestamp};
use crate::store::{PushSubscription, Tx};
use crate::usecases::UseCaseError;

/// Stores a subscription for as long as the token lives. Returns its id, which is that of an earlier one with the same
/// endpoint.
pub fn subscribe_worker(
    tx: &mut Tx<'_>,
    subscription: &PushSubscription,
    token: &Secret,
    now: Timestamp,
) -> Result<PushSubscriptionId, UseCaseError> {
    // Whoever ends all tokens of a worker, or stores another subscription, has the same lock.
    tx.worker_to_change(subscription.worker)?;
    let id = tx.subscribe(subscription, &token.hash(), now)?;
    id.ok_or(UseCaseError::Unauthorized)
}
