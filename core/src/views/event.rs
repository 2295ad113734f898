//! The payloads of events.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::domain::tasks::Skill;
use crate::domain::tasks::approval::Approval;
use crate::domain::tasks::pricing::Settlement;
use crate::domain::{
    Event, EventType, NewEvent, PaymentFailure, Proof, Task, TaskLedger, Timestamp, Worker,
};
use crate::store::StoreError;
use crate::views::payment::{FailureBody, PayoutBody, RefundBody};
use crate::views::proof::ProofBody;
use crate::views::task::TaskBody;
use crate::views::task::approval::ApprovalBody;
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
    /// submitted or rejected, `refund` and `payout` if the task was cancelled, `failure` if a payment
    /// failed, `refund` if it was paid, `approval` if a person has to agree.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    refund: Option<RefundBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payout: Option<PayoutBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<ApprovalBody>,
}

impl<'a> TaskData<'a> {
    fn of(task: &'a Task) -> Result<Self, StoreError> {
        Ok(Self {
            task: TaskBody::for_event(task)?,
            proof: None,
            refund: None,
            payout: None,
            failure: None,
            approval: None,
        })
    }
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
            proof: Some(ProofBody::for_event(proof.clone())?),
            ..TaskData::of(task)?
        })?,
    };
    Ok(about(task, event_type, data))
}

/// A task was cancelled: with what goes back to the developer, and what goes to the worker.
pub fn of_cancelled(task: &Task, settlement: Settlement) -> Result<NewEvent, StoreError> {
    let data = to_json(&TaskData {
        refund: Some(RefundBody::promised(settlement.refund_cents)),
        payout: Some(PayoutBody::promised(
            settlement.payout_cents,
            settlement.fee_cents,
        )),
        ..TaskData::of(task)?
    })?;
    Ok(about(task, EventType::TaskCancelled, data))
}

/// A payment failed, and the task still waits for one.
pub fn of_failed_payment(task: &Task, failure: &PaymentFailure) -> Result<NewEvent, StoreError> {
    let data = to_json(&TaskData {
        failure: Some(failure.clone().into()),
        ..TaskData::of(task)?
    })?;
    Ok(about(task, EventType::TaskPaymentFailed, data))
}

/// A person has to agree to a task.
pub fn of_approval(task: &Task, approval: &Approval, url: &str) -> Result<NewEvent, StoreError> {
    let data = to_json(&TaskData {
        approval: Some(ApprovalBody::of(approval, url)),
        ..TaskData::of(task)?
    })?;
    Ok(about(task, EventType::TaskApprovalRequired, data))
}

/// A refund has left the processor. The ledger is that of the task, with the refund.
pub fn of_paid_refund(task: &Task, ledger: &TaskLedger) -> Result<NewEvent, StoreError> {
    let data = to_json(&TaskData {
        refund: Some(RefundBody::of(ledger)),
        ..TaskData::of(task)?
    })?;
    Ok(about(task, EventType::TaskRefundPaid, data))
}

fn about(task: &Task, event_type: EventType, data: String) -> NewEvent {
    NewEvent {
        event_type,
        task: Some(task.id),
        data,
    }
}

#[derive(Serialize)]
struct WorkerData<'a> {
    id: String,
    skills: &'a [Skill],
    verified_at: Option<Timestamp>,
}

/// An event about a verified worker, with the skills that count.
pub fn of_verified(worker: &Worker, skills: &[Skill]) -> Result<NewEvent, StoreError> {
    Ok(NewEvent {
        event_type: EventType::WorkerVerified,
        task: None,
        data: to_json(&WorkerData {
            id: worker.id.to_string(),
            skills,
            verified_at: worker.verified_at,
        })?,
    })
}
