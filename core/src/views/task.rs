//! A task as JSON.

pub mod approval;
pub mod dispute;
pub mod history;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::domain::tasks::{Category, MAX_PROOF_ATTEMPTS, Priority, ProofType, Skill};
use crate::domain::{Environment, Status, Task, Timestamp};
use crate::store::StoreError;
use crate::views::object::Object;
use crate::views::{Id, examples};

/// A task.
#[derive(Serialize, ToSchema)]
#[schema(as = Task, example = json!(TaskBody::example()))]
pub struct TaskBody<'a> {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    developer_id: String,
    title: &'a str,
    description: &'a str,
    /// For the developer and the assigned worker. Events leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required, value_type = Option<String>)]
    instructions: Option<Option<&'a str>>,
    category: Category,
    required_skills: &'a [Skill],
    #[schema(required)]
    location_address: Option<&'a str>,
    location_city: &'a str,
    location_state: &'a str,
    location_latitude: f64,
    location_longitude: f64,
    budget_cents: i64,
    platform_fee_cents: i64,
    worker_payout_cents: i64,
    priority: Priority,
    status: Status,
    environment: Environment,
    #[schema(required, value_type = Option<Id>)]
    worker_id: Option<String>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    deadline: Option<Timestamp>,
    max_proof_attempts: i64,
    proof_types: &'a [ProofType],
    #[schema(value_type = Object)]
    metadata: &'a RawValue,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    assigned_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl<'a> TaskBody<'a> {
    pub fn of(task: &'a Task) -> Result<Self, StoreError> {
        let split = task.split();
        let metadata = serde_json::from_str(&task.metadata)
            .map_err(|e| StoreError::Failed(format!("metadata of {}: {e}", task.id)))?;
        Ok(Self {
            id: task.id.to_string(),
            developer_id: task.owner.account.to_string(),
            title: &task.title,
            description: &task.description,
            instructions: Some(task.instructions.as_deref()),
            category: task.category,
            required_skills: &task.required_skills,
            location_address: task.location.address.as_deref(),
            location_city: &task.location.city,
            location_state: &task.location.state,
            location_latitude: task.location.latitude,
            location_longitude: task.location.longitude,
            budget_cents: task.budget_cents,
            platform_fee_cents: split.fee_cents,
            worker_payout_cents: split.payout_cents,
            priority: task.priority,
            status: task.status,
            environment: task.owner.environment,
            worker_id: task.worker.map(|id| id.to_string()),
            deadline: task.deadline,
            max_proof_attempts: MAX_PROOF_ATTEMPTS,
            proof_types: &task.proof_types,
            metadata,
            assigned_at: task.assigned_at,
            started_at: task.started_at,
            completed_at: task.completed_at,
            cancelled_at: task.cancelled_at,
            created_at: task.created_at,
            updated_at: task.updated_at,
        })
    }

    /// The task as events carry it.
    pub fn for_event(task: &'a Task) -> Result<Self, StoreError> {
        Ok(Self {
            instructions: None,
            ..Self::of(task)?
        })
    }

    /// The task as text.
    pub fn json(task: &Task) -> Result<String, StoreError> {
        TaskBody::of(task)?.text()
    }

    /// What `Serialize` writes, but faster: tasks are what is read most.
    pub fn text(&self) -> Result<String, StoreError> {
        let mut object = Object::new();
        object.plain("id", &self.id);
        object.plain("developer_id", &self.developer_id);
        object.text("title", self.title);
        object.text("description", self.description);
        if let Some(instructions) = self.instructions {
            object.optional_text("instructions", instructions);
        }
        object.value("category", &self.category);
        object.value("required_skills", self.required_skills);
        object.optional_text("location_address", self.location_address);
        object.text("location_city", self.location_city);
        object.text("location_state", self.location_state);
        object.value("location_latitude", &self.location_latitude);
        object.value("location_longitude", &self.location_longitude);
        object.value("budget_cents", &self.budget_cents);
        object.value("platform_fee_cents", &self.platform_fee_cents);
        object.value("worker_payout_cents", &self.worker_payout_cents);
        object.value("priority", &self.priority);
        object.value("status", &self.status);
        object.value("environment", &self.environment);
        object.optional_plain("worker_id", self.worker_id.as_ref());
        object.optional_plain("deadline", self.deadline);
        object.value("max_proof_attempts", &self.max_proof_attempts);
        object.value("proof_types", self.proof_types);
        object.value("metadata", self.metadata);
        object.optional_plain("assigned_at", self.assigned_at);
        object.optional_plain("started_at", self.started_at);
        object.optional_plain("completed_at", self.completed_at);
        object.optional_plain("cancelled_at", self.cancelled_at);
        object.plain("created_at", self.created_at);
        object.plain("updated_at", self.updated_at);
        object.end()
    }

    fn example() -> Value {
        examples::json(TaskBody::of(&examples::funded().task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::to_json;

    fn is_written_as_serde_does(task: &Task) {
        let body = TaskBody::of(task).unwrap();
        assert_eq!(body.text().unwrap(), to_json(&body).unwrap());
        let body = TaskBody::for_event(task).unwrap();
        assert_eq!(body.text().unwrap(), to_json(&body).unwrap());
    }

    #[test]
    fn the_text_is_what_serde_writes() {
        let mut task = examples::funded().task;
        is_written_as_serde_does(&task);
        let at = Some(task.created_at);
        (task.instructions, task.location.address) = (None, None);
        (task.deadline, task.worker) = (None, None);
        is_written_as_serde_does(&task);
        task.instructions = Some("line\nline \"quoted\" \\ \u{1f} ä".to_owned());
        task.location.address = Some("ends with a backslash \\".to_owned());
        task.worker = Some(crate::domain::WorkerId::simulated(task.owner.account));
        (task.deadline, task.assigned_at, task.started_at) = (at, at, at);
        (task.completed_at, task.cancelled_at) = (at, at);
        task.metadata = r#"{"a":[1,"x"],"b":{"c":null}}"#.to_owned();
        task.location.latitude = -0.0;
        task.location.longitude = 1e-7;
        is_written_as_serde_does(&task);
    }
}
