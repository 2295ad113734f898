//! An admin says which skills of a worker are confirmed.

use serde_json::json;

use crate::domain::tasks::Skill;
use crate::domain::{Actor, QueueKind, Timestamp, Worker, WorkerId};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit::{Done, audit_with_note};
use crate::usecases::admin::review_queue;

/// Sets the confirmed skills. Saying the same again changes nothing.
pub fn confirm_skills(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    (skills, note): (&[Skill], Option<&str>),
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = tx.worker_to_change(worker)?;
    let worker = worker.ok_or(UseCaseError::WorkerNotFound)?;
    if worker.is_deleted() {
        return Err(UseCaseError::InvalidWorkerState {
            status: worker.status,
            what: "have skills",
        });
    }
    let subject = worker.id.to_string();
    let item = review_queue::decidable_item(tx, QueueKind::SkillCheck, &subject, by, now)?;
    if item.is_none() && worker.confirmed_skills == skills {
        return Ok(worker);
    }
    let before = worker.confirmed_skills.clone();
    let worker = Worker {
        confirmed_skills: skills.to_vec(),
        updated_at: now,
        ..worker
    };
    tx.set_confirmed_skills(&worker)?;
    if let Some(item) = item {
        review_queue::close(tx, &item, note, by, now)?;
    }
    let details = json!({"confirmed": worker.confirmed_skills, "before": before});
    let done = Done {
        action: "worker.skills_confirmed",
        subject: "worker",
        subject_id: &subject,
        details,
    };
    audit_with_note(tx, by, &done, note, now)?;
    Ok(worker)
}
