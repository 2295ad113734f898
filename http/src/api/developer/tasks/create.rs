//! POST /v1/tasks

pub mod body;
mod redeem;

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::tasks::create::body::{CreateTask, NewTaskBody};
use crate::api::developer::tasks::creation::{Creation, has_secrets};
use crate::api::developer::tasks::funding;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::Task;
use crate::store::{StoreError, Tx};
use crate::usecases::Funded;
use crate::views::task::TaskBody;
use crate::views::{examples, to_json};

/// A new task.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(CreatedTask::example()))]
pub struct CreatedTask<'a> {
    #[serde(flatten)]
    task: TaskBody<'a>,
    /// Present while the payment is still to be completed: whoever has it can pay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payment_client_secret: Option<&'a str>,
}

impl<'a> CreatedTask<'a> {
    fn of(task: &'a Task, client_secret: Option<&'a str>) -> Result<Self, StoreError> {
        Ok(Self {
            task: TaskBody::of(task)?,
            payment_client_secret: client_secret,
        })
    }

    pub fn json((task, client_secret): &(Task, Option<String>)) -> Result<String, StoreError> {
        to_json(&CreatedTask::of(task, client_secret.as_deref())?)
    }

    pub fn example() -> Value {
        let (story, intent) = (examples::pending(), examples::payment_intent());
        examples::json(CreatedTask::of(&story.task, Some(&intent.client_secret)))
    }
}

/// Create a task
///
/// With a test key, the task is funded at once without a charge. With a live key, it is `pending`:
/// the account's default payment method is charged right after. Without a default method, the
/// response has a `payment_client_secret` to complete the payment with.
///
/// With the `quote_id` of a quote and nothing else, its task is created at what was quoted. Sent again, it
/// answers the same task.
#[utoipa::path(
    post, path = "/v1/tasks", tag = "Tasks", operation_id = "createTask",
    params(IdempotencyKeyHeader), request_body = NewTaskBody,
    responses((status = 201, description = "The new task", body = CreatedTask,
            links(("get" = (operation_id = "getTask", parameters(("id" = "$response.body#/id")))),
                ("update" = (operation_id = "updateTask", parameters(("id" = "$response.body#/id")))),
                ("cancel" = (operation_id = "cancelTask", parameters(("id" = "$response.body#/id")))),
                ("proofs" = (operation_id = "listProofs", parameters(("id" = "$response.body#/id")))),
                ("history" = (operation_id = "getHistory", parameters(("id" = "$response.body#/id")))),
                ("payment" = (operation_id = "getPayment", parameters(("id" = "$response.body#/id")))),
                ("ledger" = (operation_id = "getLedger", parameters(("id" = "$response.body#/id")))),
                ("advance" = (operation_id = "advanceTask", parameters(("id" = "$response.body#/id")))),
                ("simulate_proof" = (operation_id = "simulateProof", parameters(("id" = "$response.body#/id")))))),
        groups::Developer, groups::Body, groups::Idempotency, errors::EmailNotConfirmed, errors::TaskLimitExceeded,
        errors::MandateExceeded, errors::QuoteNotFound, errors::QuoteExpired, errors::StorageFull, errors::PaymentUnavailable)
)]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    if post.gives("quote_id") {
        return redeem::redeem(&app, &caller, post.without_nulls(|_| true)).await;
    }
    let post = post.without_nulls(|name| name == "quote_id");
    let CreateTask(new) = post.read()?;
    let creation = Creation::new(&app, caller.holder, new);
    let prepare = funding::prepare(&app, &caller, &creation);
    let create = {
        let creation = creation.clone();
        move |tx: &mut Tx<'_>, now, funded: &Funded| creation.run(tx, now, funded)
    };
    Idempotent::new(&app, caller.requester(), post)
        .of_account(caller.owner().account)
        .created()
        .sealed_if(has_secrets(caller.owner()))
        .prepare(prepare)
        .run(create, CreatedTask::json)
        .await
}
