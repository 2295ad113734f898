//! POST /v1/tasks with the ID of a quote.

use axum::http::StatusCode;
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::developer::tasks::create::body::RedeemQuote;
use crate::api::developer::tasks::creation::{Creation, has_secrets};
use crate::api::developer::tasks::funding;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::{NewTask, QuoteId, TaskId};
use crate::store::{KeyHolder, StoreError, Tx};
use crate::usecases::{self, Funded, RedeemedQuote, UseCaseError};
use crate::views::to_json;

pub async fn redeem(app: &App, caller: &Caller, post: Post) -> Result<JsonResponse, ApiError> {
    let RedeemQuote(id) = post.read()?;
    let holder = caller.holder;
    let redeem = move |tx: &mut Tx<'_>, now, funded: &Option<(TaskId, Funded)>| {
        usecases::redeem_quote(tx, &holder, id, funded.as_ref(), now)
    };
    Idempotent::new(app, caller.requester(), post)
        .of_account(caller.owner().account)
        .sealed_if(has_secrets(caller.owner()))
        .prepare(fund(app, caller, id))
        .run_with_status(redeem, answer)
        .await
}

/// How the task is paid for. None if the quote was redeemed before.
async fn fund(
    app: &App,
    caller: &Caller,
    id: QuoteId,
) -> Result<Option<(TaskId, Funded)>, ApiError> {
    let holder = caller.holder;
    let Some(new) = quoted_task(app, holder, id).await? else {
        return Ok(None);
    };
    let creation = Creation::new(app, holder, new);
    match funding::prepare(app, caller, &creation).await {
        Ok(funded) => Ok(Some((creation.id, funded))),
        // The same request may have redeemed the quote meanwhile, and used up what was left.
        Err(refused) => match quoted_task(app, holder, id).await? {
            None => Ok(None),
            Some(_) => Err(refused),
        },
    }
}

async fn quoted_task(
    app: &App,
    holder: KeyHolder,
    id: QuoteId,
) -> Result<Option<NewTask>, UseCaseError> {
    let now = app.clock.now();
    let find = move |tx: &mut Tx<'_>| usecases::quoted_task(tx, &holder, id, now);
    app.store.read(find).await
}

fn answer(redeemed: &RedeemedQuote) -> Result<JsonResponse, StoreError> {
    Ok(JsonResponse {
        status: StatusCode::CREATED,
        body: body(redeemed)?,
        replayed: redeemed.again,
    })
}

/// The task with its secret, as a task is answered that was not quoted.
fn body(redeemed: &RedeemedQuote) -> Result<String, StoreError> {
    let Some(secret) = &redeemed.client_secret else {
        return Ok(redeemed.task.clone());
    };
    let mut task: Map<String, Value> = serde_json::from_str(&redeemed.task)
        .map_err(|_| StoreError::Failed("a stored task is not JSON".into()))?;
    task.insert("payment_client_secret".to_owned(), secret.clone().into());
    to_json(&task)
}
