//! Where the operator requires a second factor, who has not given one may only set it up.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::around::Next;
use crate::api::middleware::authentication::{AdminHolder, WorkerCaller};
use crate::api::middleware::limits::anonymous::refuse;
use crate::domain::Person;
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};

/// Runs after `require_worker`.
pub async fn require_workers_factor(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<WorkerCaller>();
    let holder = |caller: &WorkerCaller| Person::Worker(caller.worker.id);
    let holder = caller.map(|caller| (holder(caller), caller.session.second_factor));
    pass(&app, holder, request, next).await
}

/// Runs after `require_admin`.
pub async fn require_admins_factor(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<AdminHolder>();
    let holder = caller.map(|caller| (Person::Admin(caller.key.id), caller.second_factor));
    pass(&app, holder, request, next).await
}

async fn pass(app: &App, holder: Option<(Person, bool)>, request: Request, next: Next) -> Response {
    // Missing only on a route that is not behind `require_...`.
    let Some((holder, was_given)) = holder else {
        return refuse(UseCaseError::Unauthorized.into(), request).await;
    };
    if was_given || !app.required_factor.of(holder) {
        return next.run(request).await;
    }
    refuse(what_is_missing(app, holder).await, request).await
}

async fn what_is_missing(app: &App, holder: Person) -> ApiError {
    let has_one = app.store.read(move |tx| match holder {
        // The key of an admin belongs to programs too, which have no passkeys.
        Person::Admin(_) => Ok(tx.second_factor_enabled(holder)?.is_some()),
        Person::Account(_) | Person::Worker(_) => usecases::has_factor(tx, holder),
    });
    let has_one: Result<bool, StoreError> = has_one.await;
    match has_one {
        Ok(true) => UseCaseError::SecondFactorRequired.into(),
        Ok(false) => UseCaseError::SecondFactorNotSetUp.into(),
        Err(error) => error.into(),
    }
}
