//! Requests with a key, counted for its account.

use std::num::NonZeroU32;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::limits::anonymous;
use crate::api::middleware::limits::rate::RateLimitStatus;
use crate::domain::accounts::mandate::MandateStatus;
use crate::limits::ClientAddress;
use crate::store::KeyHolder;

/// Counts a request. One with a key that is paused or has expired counts by address: it opens nothing, and must
/// not use up what the account has for its other keys.
pub async fn count(
    app: &App,
    holder: &KeyHolder,
    client: ClientAddress,
) -> (Option<RateLimitStatus>, Result<(), ApiError>) {
    if is_stopped(app, holder) {
        return (None, anonymous::count(app, client));
    }
    match &app.rate_limits {
        None => (None, Ok(())),
        Some(limits) => {
            let (status, counted) = limits.count_key(holder, NonZeroU32::MIN).await;
            (Some(status), counted)
        }
    }
}

fn is_stopped(app: &App, holder: &KeyHolder) -> bool {
    let status = |now| holder.limits.map(|limits| limits.status(holder.time(now)));
    matches!(
        status(app.clock.now()),
        Some(MandateStatus::Paused | MandateStatus::Expired)
    )
}
