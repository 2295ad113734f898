//! /v1/tasks/{id}/payment and /v1/tasks/{id}/ledger: the money of a task.

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::request::query::PageQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::usecases::UseCaseError;
use crate::views::payment::{EntryBody, PaymentBody};

type EntryList = OffsetList<EntryBody>;

/// Get the payment of a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}/payment", tag = "Payments", operation_id = "getPayment",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The payment", body = PaymentBody),
        groups::Developer, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
) -> Result<JsonResponse, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let processor = app.payments.processor.as_ref();
    let (name, now) = (processor.name(), app.clock.now());
    // What is held and what was paid out are of one moment, or money would count twice.
    let (body, secret) = app
        .store
        .snapshot(move |tx| {
            let task = tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
            let (payment, ledger) = (tx.payment(id)?, tx.ledger_of_task(id)?);
            let body = PaymentBody::of(&task, payment.as_ref(), &ledger);
            let payable = payment.and_then(|payment| payment.payable(&task, name, now));
            let secret = payable.map(|intent| tx.client_secret(id, &intent));
            Ok::<_, UseCaseError>((body, secret.transpose()?.flatten()))
        })
        .await?;
    let body = match secret {
        Some(secret) => {
            let url = processor.payment_url(&secret);
            body.with_secret(secret, url)
        }
        None => body,
    };
    JsonResponse::ok(&body)
}

/// Get the ledger of a task
///
/// Every movement of the task's money, oldest first. The postings of an entry add up to zero.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/ledger", tag = "Payments", operation_id = "getLedger",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        parameters::OffsetPage),
    responses((status = 200, description = "The entries", body = EntryList),
        groups::Developer, groups::Query, errors::TaskNotFound)
)]
pub async fn ledger(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<JsonResponse, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let read = app.store.read(move |tx| {
        tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
        Ok::<_, UseCaseError>(tx.ledger_of_task(id)?)
    });
    let ledger = read.await?;
    let entries = ledger.entries().iter().map(EntryBody::from);
    JsonResponse::ok(&page.part_of(entries.collect()))
}
