//! A key is looked up before the body of a request is read, and whoever sends the body decides when that is
//! over. So a key is looked up once more when its body has been long in coming.

use std::time::Instant;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::Extensions;

use crate::api::App;
use crate::api::error::ApiError;
use crate::domain::Secret;
use crate::domain::accounts::mandate::Needs;
use crate::store::{KeyHolder, Lookup};
use crate::usecases::{self, UseCaseError};

/// The key of a request with a body, as it was when the request was let in.
#[derive(Clone, Debug)]
struct Admitted {
    at: Instant,
    key: Secret,
    holder: KeyHolder,
    needs: Needs,
}

/// Notes on a request that is let in what is needed to ask again.
pub fn note(request: &mut Request, key: &Secret, holder: KeyHolder, needs: Needs) {
    if request.body().is_end_stream() {
        return;
    }
    let admitted = Admitted {
        at: Instant::now(),
        key: key.clone(),
        holder,
        needs,
    };
    request.extensions_mut().insert(admitted);
}

/// Refuses what a key may no longer do. Where it may still do it, but under other limits than the request
/// was let in with, the body has come too late: sent again, the request is held against those.
pub async fn check(app: &App, request: &Extensions) -> Result<(), ApiError> {
    let late = request
        .get()
        .filter(|by: &&Admitted| by.at.elapsed() > app.timeouts.recheck);
    let Some(Admitted {
        key, holder, needs, ..
    }) = late
    else {
        return Ok(());
    };
    let found = app.store.find(Lookup::key_holder(key.hash())).await?;
    let now = usecases::authenticate(found)?;
    if let Some(limits) = now.limits {
        let time = now.time(app.clock.now());
        limits.allow(*needs, time).map_err(UseCaseError::from)?;
    }
    match (now.limits, now.is_confined) == (holder.limits, holder.is_confined) {
        true => Ok(()),
        false => Err(ApiError::MandateChanged),
    }
}
