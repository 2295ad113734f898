//! Requests with a key, counted for its account.

use std::num::NonZeroU32;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::limits::rate::RateLimitStatus;
use crate::domain::accounts::mandate::MandateStatus;
use crate::store::KeyHolder;

/// Counts a request. One with a key that is paused or has expired counts for the limited keys alone: whoever has
/// paused it must be heard.
pub async fn count(
    app: &App,
    holder: &KeyHolder,
) -> (Option<RateLimitStatus>, Result<(), ApiError>) {
    let Some(limits) = &app.rate_limits else {
        return (None, Ok(()));
    };
    let (status, counted) = match is_stopped(app, holder) {
        true => limits.count_stopped(holder).await,
        false => limits.count_key(holder, NonZeroU32::MIN).await,
    };
    (Some(status), counted)
}

fn is_stopped(app: &App, holder: &KeyHolder) -> bool {
    let status = |now| holder.limits.map(|limits| limits.status(holder.time(now)));
    matches!(
        status(app.clock.now()),
        Some(MandateStatus::Paused | MandateStatus::Expired)
    )
}
