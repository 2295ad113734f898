//! The payloads of events.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::domain::tasks::Skill;
use crate::domain::{Event, EventType, NewEvent, Proof, Task, Timestamp, Worker};
use crate::store::StoreError;
use crate::views::proof::ProofBody;
use crate::views::task::TaskBody;
use crate::views::{Id, examples, to_json};

/// An event. Webhooks carry the same `event` and `data`.
#[derive(Serialize, ToSchema)]
#[schema(as = Event, example = json!(EventBody::example()))]
pub struct EventBody {
    #[schema(value_type = Id)]
    id: String,
    /// Events of an account and environment are numbered without gaps.
    number: i64,
    event: EventType,
    /// The task after the event, without its instructions. Includes the `proof` if one was
    /// submitted or rejected.
    #[schema(value_type = Object)]
    data: Box<RawValue>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl EventBody {
    pub fn of(event: Event) -> Result<Self, StoreError> {
        let data = RawValue::from_string(event.data)
            .map_err(|e| StoreError::Failed(format!("data of {}: {e}", event.id)))?;
        Ok(Self {
            id: event.id.to_string(),
            number: event.number,
            event: event.event_type,
            data,
            created_at: event.created_at,
        })
    }

    fn example() -> Value {
        let event_type = EventType::TaskFunded;
        let new = of_task(event_type, &examples::funded().task, None);
        examples::json(new.and_then(|new| {
            Self::of(Event {
                id: examples::event_id(),
                number: 2,
                event_type,
                task: new.task,
                data: new.data,
                created_at: examples::PAID,
            })
        }))
    }
}

#[derive(Serialize)]
struct TaskData<'a> {
    #[serde(flatten)]
    task: TaskBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<ProofBody>,
}

/// An event about a task, with the task as it is afterwards.
pub fn of_task(
    event_type: EventType,
    task: &Task,
    proof: Option<&Proof>,
) -> Result<NewEvent, StoreError> {
    let proof = proof.filter(|_| event_type.is_about_proof());
    let data = match proof {
        None => TaskBody::for_event(task)?.text()?,
        Some(proof) => to_json(&TaskData {
            task: TaskBody::for_event(task)?,
            proof: Some(ProofBody::for_event(proof.clone())?),
        })?,
    };
    Ok(NewEvent {
        event_type,
        task: Some(task.id),
        data,
    })
}

#[derive(Serialize)]
struct WorkerData<'a> {
    id: String,
    skills: &'a [Skill],
    verified_at: Option<Timestamp>,
}

/// An event about a verified worker.
pub fn of_verified(worker: &Worker) -> Result<NewEvent, StoreError> {
    Ok(NewEvent {
        event_type: EventType::WorkerVerified,
        task: None,
        data: to_json(&WorkerData {
            id: worker.id.to_string(),
            skills: &worker.skills,
            verified_at: worker.verified_at,
        })?,
    })
}
