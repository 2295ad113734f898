//! POST /v1/tasks

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::developer::tasks::funding;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::json;
use crate::api::response::json::Answer;
use crate::domain::tasks::{Category, Location, Priority, ProofType, Skill, TaskType, field};
use crate::domain::{NewTask, Task, TaskId, Timestamp};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, Funding};
use crate::views::examples::Example;
use crate::views::task::TaskBody;
use crate::views::to_json;

/// A task as its creation answers it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::CreatedTask.value()))]
pub struct CreatedTask<'a> {
    #[serde(flatten)]
    task: TaskBody<'a>,
    /// Present when payment is still to be completed: with it, somebody pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payment_client_secret: Option<&'a str>,
}

impl CreatedTask<'_> {
    fn json((task, client_secret): &(Task, Option<String>)) -> Result<String, StoreError> {
        to_json(&CreatedTask {
            task: TaskBody::of(task)?,
            payment_client_secret: client_secret.as_deref(),
        })
    }
}

/// Create a task
///
/// With a test key the task is funded at once, without a charge. With a live key it is pending: the
/// account's default payment method is charged right after, or, where there is none, the answer
/// carries a `payment_client_secret` with which somebody pays.
#[utoipa::path(
    post, path = "/v1/tasks", tag = "Tasks", operation_id = "createTask",
    params(IdempotencyKeyHeader), request_body = CreateTask,
    responses((status = 201, description = "The new task", body = CreatedTask,
            links(("get" = (operation_id = "getTask", parameters(("id" = "$response.body#/id")))),
                ("update" = (operation_id = "updateTask", parameters(("id" = "$response.body#/id")))),
                ("cancel" = (operation_id = "cancelTask", parameters(("id" = "$response.body#/id")))))),
        errors::Common, errors::Body, errors::Idempotency, errors::TaskLimit,
        errors::PaymentUnavailable)
)]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<Answer, ApiError> {
    let new = new_task(&post)?;
    let holder = caller.holder;
    let id = TaskId::new(holder.time(app.clock.now()), &ambient::random_for_id());
    let prepare = funding::prepare(&app, holder, id, new.budget_cents);
    let create = move |tx: &mut Tx<'_>, now, funding: &Funding| {
        let task = usecases::create_task(tx, &holder, &new, id, funding, now)?;
        let client_secret = match funding {
            Funding::ByHand(_, intent) => Some(intent.client_secret.clone()),
            Funding::Simulated | Funding::ByMethod(..) => None,
        };
        Ok((task, client_secret))
    };
    Idempotent::new(&app, caller.requester(), post)
        .created()
        .prepare(prepare)
        .run(create, CreatedTask::json)
        .await
}

/// What to do, where, and for how much.
#[derive(ToSchema)]
#[schema(example = json!(Example::CreateTask.value()))]
#[allow(dead_code, reason = "documents the body that `new_task` reads")]
pub struct CreateTask {
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
    )]
    title: String,
    #[schema(
        min_length = 1,
        max_length = 2000,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
    )]
    description: String,
    /// Private: shown to the assigned worker only.
    #[schema(max_length = 5000, pattern = r"^[^\u0000]*$")]
    instructions: Option<String>,
    category: Category,
    required_skills: Option<Vec<Skill>>,
    location: CreateTaskLocation,
    /// The total that is charged, in cents.
    #[schema(minimum = 500, maximum = 99_999_999)]
    budget_cents: i64,
    /// A bounty pays a higher fee and is announced to workers nearby.
    task_type: Option<TaskType>,
    priority: Option<Priority>,
    /// ISO 8601; without an offset it is taken as UTC.
    #[schema(format = DateTime)]
    deadline: Option<String>,
    #[schema(value_type = Option<HashSet<ProofType>>, min_items = 1, max_items = 3)]
    proof_types: Option<Vec<ProofType>>,
    /// Your own key-value pairs, up to 16 KiB as JSON.
    #[schema(value_type = Option<Object>)]
    metadata: Option<serde_json::Value>,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents the body that `location` reads")]
struct CreateTaskLocation {
    #[schema(max_length = 500, pattern = r"^[^\u0000]*$")]
    address: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
    )]
    city: String,
    /// State code of two letters.
    #[schema(pattern = "^[A-Za-z]{2}$")]
    state: String,
    #[schema(minimum = -90, maximum = 90)]
    latitude: f64,
    #[schema(minimum = -180, maximum = 180)]
    longitude: f64,
}

pub fn new_task(post: &Post) -> Result<NewTask, ApiError> {
    let mut fields = Fields::of(&post.body);
    let title = fields.text("title", field::title);
    let description = fields.text("description", field::description);
    let instructions = fields.optional_text("instructions", field::instructions);
    let category = fields.text("category", Category::rule);
    let required_skills =
        fields.optional_list("required_skills", Skill::rule, field::required_skills);
    let location = fields.object("location", location);
    let budget_cents = fields.integer("budget_cents", field::budget_cents);
    let task_type = fields.optional_text("task_type", TaskType::rule);
    let priority = fields.optional_text("priority", Priority::rule);
    let deadline = fields.optional_text("deadline", Timestamp::rule);
    let proof_types = fields.optional_list("proof_types", ProofType::rule, field::proof_types);
    let metadata = fields.optional_json_object("metadata", field::metadata);
    fields.finish()?;
    let (Some(title), Some(description), Some(category), Some(location), Some(budget_cents)) =
        (title, description, category, location, budget_cents)
    else {
        // `finish` has already refused a body without them.
        return Err(ApiError::invalid(json::BODY, "is incomplete"));
    };
    Ok(NewTask {
        title,
        description,
        instructions,
        category,
        required_skills: required_skills.unwrap_or_default(),
        location,
        budget_cents,
        task_type: task_type.unwrap_or(TaskType::Standard),
        priority: priority.unwrap_or(Priority::Normal),
        deadline,
        proof_types: proof_types.unwrap_or_else(|| vec![ProofType::Photo]),
        metadata: metadata.unwrap_or_else(|| "{}".to_owned()),
    })
}

fn location(fields: &mut Fields<'_>) -> Option<Location> {
    let address = fields.optional_text("address", field::address);
    let city = fields.text("city", field::city);
    let state = fields.text("state", field::state);
    let latitude = fields.number("latitude", field::latitude);
    let longitude = fields.number("longitude", field::longitude);
    Some(Location {
        address,
        city: city?,
        state: state?,
        latitude: latitude?,
        longitude: longitude?,
    })
}
