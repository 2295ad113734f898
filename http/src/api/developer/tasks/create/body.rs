//! The bodies that POST /v1/tasks takes.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::openapi::{OneOfBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::schema;
use crate::domain::quotes::QUOTE_ID;
use crate::domain::rules::ListRule;
use crate::domain::tasks::{Location, Priority, ProofType, TaskType, field};
use crate::domain::{NewTask, QuoteId, Timestamp, geo};

/// A task, or a quote for one.
pub struct NewTaskBody;

impl PartialSchema for NewTaskBody {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(schema::reference::<CreateTask>())
            .item(schema::reference::<RedeemQuote>())
            .description(Some("A task, or the ID of a quote and nothing else."))
            .examples([example()])
            .into()
    }
}

impl ToSchema for NewTaskBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("NewTask")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        CreateTask::schemas(schemas);
        schemas.push((CreateTask::name().into_owned(), CreateTask::schema()));
        schemas.push((RedeemQuote::name().into_owned(), RedeemQuote::schema()));
    }
}

/// The quote to redeem.
pub struct RedeemQuote(pub QuoteId);

impl RequestBody for RedeemQuote {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields
            .doc("The ID of a quote. It says everything about the task, so nothing else is taken.")
            .text("quote_id", &QUOTE_ID);
        fields.others("must be left out: the quote says everything about the task");
        id.map(Self)
    }
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
            quoted_fee_percent: None,
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

/// The task of the examples.
fn example() -> Value {
    json!({
        "title": "Photograph a storefront",
        "description": "Front of the shop with the door and the opening hours in view.",
        "category": "photography",
        "location": {"address": "240 Bedford Ave", "city": "Brooklyn", "state": "NY",
            "latitude": 40.7163, "longitude": -73.9595},
        "budget_cents": 2500,
        "deadline": "2026-11-20T18:00:00Z",
        "proof_types": ["photo"],
        "metadata": {"order": "4711"},
    })
}

request_bodies! {
    /// What to do, where, and for how much.
    CreateTask = example();

    /// The quote to redeem.
    RedeemQuote = json!({"quote_id": "019a8574b2d07c2e9d1b3a5f60718293"});
}
