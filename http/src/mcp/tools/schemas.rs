//! The parts that the schemas of tools are made of.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

pub fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: JsonObject = properties
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

pub fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

pub fn id() -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{32}$"})
}

pub fn word() -> Value {
    json!({"type": "string"})
}

/// An object as the API describes it.
pub fn fields_of_api() -> Value {
    json!({"type": "object"})
}

pub fn list() -> Value {
    json!({"type": "array"})
}

pub fn task() -> Value {
    let fields = [
        ("id", id()),
        ("status", word()),
        ("approval", fields_of_api()),
    ];
    object(&fields, &["id", "status"])
}

pub fn quote() -> Value {
    let cents = json!({"type": "integer"});
    let fields = [
        ("id", id()),
        ("budget_cents", cents),
        ("mandate", fields_of_api()),
        ("coverage", fields_of_api()),
        ("expires_at", text("Until then")),
    ];
    object(&fields, &["id", "budget_cents", "expires_at"])
}

pub fn task_fields() -> Value {
    use legwork_client::{Category, Priority, ProofType, Skill, TaskType};
    let number = |about: &str| json!({"type": "number", "description": about});
    let place = object(
        &[
            (
                "address",
                text("Street and number; only the worker reads it"),
            ),
            ("city", text("City")),
            ("state", text("Two letters, such as NY")),
            ("latitude", number("Degrees north")),
            ("longitude", number("Degrees east, negative in America")),
        ],
        &["city", "state", "latitude", "longitude"],
    );
    let cents =
        json!({"type": "integer", "minimum": 500, "description": "What you pay in all, in cents"});
    let of = |words: &[&str]| json!({"type": "array", "items": {"type": "string", "enum": words}});
    object(
        &[
            ("title", text("What is to be done, in a few words")),
            (
                "description",
                text("What is to be done, for everybody who looks for work"),
            ),
            ("instructions", text("What only the hired worker reads")),
            ("category", json!({"type": "string", "enum": Category::ALL})),
            ("location", place),
            ("budget_cents", cents),
            ("deadline", text("Such as 2030-11-21T18:00:00Z")),
            ("priority", json!({"type": "string", "enum": Priority::ALL})),
            (
                "task_type",
                json!({"type": "string", "enum": TaskType::ALL}),
            ),
            ("proof_types", of(ProofType::ALL)),
            ("required_skills", of(Skill::ALL)),
            (
                "metadata",
                json!({"type": "object", "description": "Your own references"}),
            ),
        ],
        &[
            "title",
            "description",
            "category",
            "location",
            "budget_cents",
        ],
    )
}
