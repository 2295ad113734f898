//! POST /v1/tasks

use axum::extract::State;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::tasks::creation::Creation;
use crate::api::developer::tasks::funding;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::rules::ListRule;
use crate::domain::tasks::{Location, Priority, ProofType, TaskType, field};
use crate::domain::{Environment, NewTask, Owner, Task, Timestamp, geo};
use crate::store::{StoreError, Tx};
use crate::usecases::Funding;
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
#[utoipa::path(
    post, path = "/v1/tasks", tag = "Tasks", operation_id = "createTask",
    params(IdempotencyKeyHeader), request_body = CreateTask,
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
        errors::StorageFull, errors::PaymentUnavailable)
)]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let CreateTask(new) = post.read()?;
    let creation = Creation::new(&app, caller.holder, new);
    let prepare = funding::prepare(&app, &creation);
    let create = {
        let creation = creation.clone();
        move |tx: &mut Tx<'_>, now, funding: &Funding| creation.run(tx, now, funding)
    };
    Idempotent::new(&app, caller.requester(), post)
        .of_account(caller.owner().account)
        .created()
        .sealed_if(has_secrets(caller.owner()))
        .prepare(prepare)
        .run(create, CreatedTask::json)
        .await
}

/// A live task may have a client secret.
pub fn has_secrets(owner: Owner) -> bool {
    owner.environment == Environment::Live
}

/// What to do, where, and for how much.
pub struct CreateTask(pub NewTask);

impl RequestBody for CreateTask {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let title = fields.text("title", &field::TITLE);
        let description = fields.text("description", &field::DESCRIPTION);
        let instructions = fields
            .doc("Private: only the assigned worker sees them.")
            .optional_text("instructions", &field::INSTRUCTIONS);
        let category = fields.choice("category");
        let required_skills = fields.optional_choices("required_skills", &ListRule::ANY);
        let location = fields.object("location", location);
        let budget_cents = fields
            .doc("The total that is charged, in cents.")
            .integer("budget_cents", &field::BUDGET_CENTS);
        let task_type = fields
            .doc("`standard` when left out. A bounty has a higher fee and is announced to workers nearby.")
            .optional_choice("task_type");
        let priority = fields
            .doc("`normal` when left out.")
            .optional_choice("priority");
        let deadline = fields
            .doc("ISO 8601. Without an offset it is taken as UTC.")
            .optional_text("deadline", &Timestamp::RULE);
        let proof_types = fields
            .doc("Photo when left out.")
            .optional_choices("proof_types", &field::PROOF_TYPES);
        let metadata = fields
            .doc("Your own key-value pairs, up to 16 KiB as JSON.")
            .optional_json_object("metadata", field::metadata);
        Some(Self(NewTask {
            title: title?,
            description: description?,
            instructions,
            category: category?,
            required_skills: required_skills.unwrap_or_default(),
            location: location?,
            budget_cents: budget_cents?,
            task_type: task_type.unwrap_or(TaskType::Standard),
            priority: priority.unwrap_or(Priority::Normal),
            deadline,
            proof_types: proof_types.unwrap_or_else(|| vec![ProofType::Photo]),
            metadata: metadata.unwrap_or_else(|| "{}".to_owned()),
        }))
    }
}

fn location(fields: &mut Fields<'_>) -> Option<Location> {
    let address = fields.optional_text("address", &field::ADDRESS);
    let city = fields.text("city", &field::CITY);
    let state = fields
        .doc("State code of two letters.")
        .text("state", &field::STATE);
    let latitude = fields.number("latitude", &geo::LATITUDE);
    let longitude = fields.number("longitude", &geo::LONGITUDE);
    Some(Location {
        address,
        city: city?,
        state: state?,
        latitude: latitude?,
        longitude: longitude?,
    })
}

request_bodies! {
    /// What to do, where, and for how much.
    CreateTask = json!({
        "title": "Photograph a storefront",
        "description": "Front of the shop with the door and the opening hours in view.",
        "category": "photography",
        "location": {"address": "240 Bedford Ave", "city": "Brooklyn", "state": "NY",
            "latitude": 40.7163, "longitude": -73.9595},
        "budget_cents": 2500,
        "deadline": "2026-11-20T18:00:00Z",
        "proof_types": ["photo"],
        "metadata": {"order": "4711"},
    });
}
