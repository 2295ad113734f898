//! /v1/quotes: what a task would cost.

use axum::extract::State;

use crate::ambient;
use crate::api::App;
use crate::api::developer::tasks::create::body::CreateTask;
use crate::api::developer::tasks::funding;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::IdPath;
use crate::api::response::json::JsonResponse;
use crate::domain::quotes::coverage::Coverage;
use crate::domain::{Environment, NewTask, QuoteId};
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};
use crate::views::quote::QuoteBody;

/// Ask what a task would cost
///
/// Takes the body of `POST /v1/tasks` and creates nothing. The quote is good for 15 minutes:
/// `POST /v1/tasks` with its `quote_id` creates the task at what was quoted.
#[utoipa::path(
    post, path = "/v1/quotes", tag = "Tasks", operation_id = "createQuote",
    params(IdempotencyKeyHeader), request_body = CreateTask,
    responses((status = 201, description = "The quote", body = QuoteBody,
            links(("get" = (operation_id = "getQuote", parameters(("id" = "$response.body#/id")))))),
        groups::Developer, groups::Body, groups::Idempotency, errors::EmailNotConfirmed,
        errors::TaskLimitExceeded, errors::TooManyQuotes, errors::StorageFull)
)]
pub async fn make(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let CreateTask(new) = post.read()?;
    let holder = caller.holder;
    let id = QuoteId::new(app.clock.now(), &ambient::random_for_id());
    let prepare = look(&app, &caller, new.clone());
    let make = move |tx: &mut Tx<'_>, now, coverage: &Coverage| {
        usecases::make_quote(tx, &holder, &new, (id, *coverage), now)
    };
    Idempotent::new(&app, caller.requester(), post)
        .of_account(caller.owner().account)
        .created()
        .prepare(prepare)
        .run(make, QuoteBody::json)
        .await
}

/// Looks whether the task could be created, and at its surroundings.
async fn look(app: &App, caller: &Caller, new: NewTask) -> Result<Coverage, ApiError> {
    funding::terms(app, caller).await?;
    if caller.owner().environment == Environment::Test {
        return Ok(Coverage::OF_TEST);
    }
    let coverage = app.store.snapshot(move |tx| usecases::coverage(tx, &new));
    Ok(coverage.await?)
}

/// Get a quote
///
/// As it was given. A quote that has expired is there for another hour, one that was redeemed for a day.
#[utoipa::path(
    get, path = "/v1/quotes/{id}", tag = "Tasks", operation_id = "getQuote",
    params(("id" = inline(parameters::QuoteId), Path, description = "Quote ID")),
    responses((status = 200, description = "The quote", body = QuoteBody),
        groups::Developer, errors::QuoteNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: IdPath<QuoteId>,
) -> Result<JsonResponse, ApiError> {
    let (holder, id) = (caller.holder, path.0.ok_or(UseCaseError::QuoteNotFound)?);
    let find = app
        .store
        .read(move |tx| usecases::own_quote(tx, &holder, id));
    Ok(JsonResponse::of_text(find.await?.body))
}
