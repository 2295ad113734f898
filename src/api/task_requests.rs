//! What a task is made from, and reworded with: the bodies of POST and PATCH.

use axum::body::Bytes;
use utoipa::ToSchema;

use super::error::ApiError;
use super::fields::Fields;
use super::idempotency::Post;
use super::json;
use super::openapi::Example;
use crate::domain::task::{Category, Location, Priority, ProofType, Skill, TaskType, field};
use crate::domain::{NewTask, TaskEdit, Timestamp};

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

/// New words for a pending task; what is left out stays.
#[derive(ToSchema)]
#[schema(example = json!(Example::UpdateTask.value()))]
#[allow(dead_code, reason = "documents the body that `task_edit` reads")]
pub struct UpdateTask {
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
        nullable = false
    )]
    title: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 2000,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
        nullable = false
    )]
    description: Option<String>,
    /// Null clears it.
    #[schema(max_length = 5000, pattern = r"^[^\u0000]*$")]
    instructions: Option<String>,
    /// Null clears it.
    #[schema(format = DateTime)]
    deadline: Option<String>,
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

pub fn task_edit(bytes: &Bytes) -> Result<TaskEdit, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::invalid(json::BODY, "is required"));
    }
    let object = json::object(bytes).map_err(ApiError::Validation)?;
    let mut fields = Fields::of(&object);
    let edit = TaskEdit {
        title: fields.text_if_given("title", field::title),
        description: fields.text_if_given("description", field::description),
        instructions: fields.nullable_text("instructions", field::instructions),
        deadline: fields.nullable_text("deadline", Timestamp::rule),
    };
    fields.finish()?;
    Ok(edit)
}
