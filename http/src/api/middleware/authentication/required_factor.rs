//! Where the operator requires a second factor, who has not given one may only set it up.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::{AdminHolder, WorkerCaller};
use crate::api::middleware::limits::anonymous::refuse;
use crate::domain::Person;
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};

/// Runs after `require_worker`.
pub async fn require_workers_factor(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
    next: Next,
) -> Response {
    let holder = Person::Worker(caller.worker.id);
    pass(&app, (holder, caller.session.second_factor), request, next).await
}

/// Runs after `require_admin`.
pub async fn require_admins_factor(
    State(app): State<App>,
    caller: AdminHolder,
    request: Request,
    next: Next,
) -> Response {
    let holder = Person::Admin(caller.key.id);
    pass(&app, (holder, caller.second_factor), request, next).await
}

async fn pass(
    app: &App,
    (holder, was_given): (Person, bool),
    request: Request,
    next: Next,
) -> Response {
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
