//! Requests of those who are known, counted: with a key for its account, of workers and of admins.

use std::num::NonZeroU32;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::limits::rate::RateLimitStatus;
use crate::domain::accounts::mandate::MandateStatus;
use crate::domain::{AdminKeyId, WorkerId};
use crate::store::KeyHolder;

/// Where a caller stands, if that is counted, and whether the request passes.
type Counted = (Option<RateLimitStatus>, Result<(), ApiError>);

/// Counts a request with a key. One with a key that is paused or has expired counts for the limited keys alone: whoever has
/// paused it must be heard.
pub async fn count_key(app: &App, holder: &KeyHolder) -> Counted {
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

pub async fn count_worker(app: &App, worker: WorkerId) -> Counted {
    let Some(limits) = &app.rate_limits else {
        return (None, Ok(()));
    };
    let (status, counted) = limits.count_worker(worker).await;
    (Some(status), counted)
}

pub async fn count_admin(app: &App, admin: AdminKeyId) -> Counted {
    let Some(limits) = &app.rate_limits else {
        return (None, Ok(()));
    };
    let (status, counted) = limits.count_admin(admin).await;
    (Some(status), counted)
}
