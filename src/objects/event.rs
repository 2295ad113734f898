//! What events carry.

use serde::Serialize;

use super::proof::ProofBody;
use super::task::TaskBody;
use super::to_json;
use crate::domain::task::Skill;
use crate::domain::{EventType, NewEvent, Proof, Task, Timestamp, Worker};
use crate::store::StoreError;

#[derive(Serialize)]
struct TaskData<'a> {
    #[serde(flatten)]
    task: TaskBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<ProofBody>,
}

/// A task, as it stands after what happened to it.
pub fn of_task(
    event_type: EventType,
    task: &Task,
    proof: Option<&Proof>,
) -> Result<NewEvent, StoreError> {
    let proof = proof.filter(|_| event_type.is_about_proof());
    let data = match proof {
        None => to_json(&TaskBody::told(task)?)?,
        Some(proof) => to_json(&TaskData {
            task: TaskBody::told(task)?,
            proof: Some(ProofBody::told(proof.clone())?),
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

/// A worker whom somebody may wait for.
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
