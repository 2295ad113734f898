//! A developer creates a task. A test task is funded at once, without a charge.

use crate::domain::{
    Action, Actor, ChargedMethod, EventType, HistoryEntry, JobKind, JobName, NewEvent, NewTask,
    Payment, PaymentIntent, PaymentStatus, ProcessorName, Status, Task, TaskId, Timestamp,
};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::accounts::expect_confirmed;
use crate::views::event;

/// How a new task is paid for.
#[derive(Clone, Debug)]
pub enum Funding {
    /// A test task: funded at once, without a payment.
    Simulated,
    /// Someone pays with the client secret of this payment.
    ByHand(ProcessorName, PaymentIntent),
    /// A job charges the account's default payment method.
    ByMethod(ProcessorName, ChargedMethod),
    /// The deadline has passed already. A job expires the task; if the developer has moved the deadline
    /// by then, it creates a payment for somebody to pay with.
    Later(ProcessorName),
}

impl Funding {
    /// What somebody pays with.
    pub fn client_secret(&self) -> Option<&str> {
        match self {
            Self::ByHand(_, intent) => Some(&intent.client_secret),
            Self::Simulated | Self::ByMethod(..) | Self::Later(_) => None,
        }
    }
}

pub fn create_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    new: &NewTask,
    id: TaskId,
    funding: &Funding,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    expect_confirmed(by)?;
    // A test clock that is ahead does not begin another month.
    let month = now.month();
    let now = by.time(now);
    let mut task = Task::create(id, by.owner, by.tier, new, now);
    let mut entry = None;
    let mut moves = vec![creation_event(&task, None, Actor::developer(by.key))?];
    match funding {
        Funding::Simulated => {
            let paid = task.act(Action::Pay, now)?;
            moves.push(creation_event(
                &paid.task,
                Some(paid.from),
                Actor::PROCESSOR,
            )?);
            (task, entry) = (paid.task, paid.entry);
        }
        Funding::ByHand(processor, intent) => {
            tx.insert_payment(&payment(&task, *processor, None), Some(intent))?;
        }
        Funding::ByMethod(processor, method) => {
            let payment = payment(&task, *processor, Some(method.clone()));
            tx.insert_payment(&payment, None)?;
            tx.add_job(&JobName::new(JobKind::Charge, id), now)?;
        }
        Funding::Later(processor) => {
            tx.insert_payment(&payment(&task, *processor, None), None)?;
            tx.add_job(&JobName::new(JobKind::Charge, id), now)?;
        }
    }
    let limit = by.tier.tasks_per_month();
    if tx.insert_task(&task, entry.as_ref(), &moves, (month, limit))? {
        Ok(task)
    } else if tx.account_is_active(by.owner.account)? {
        Err(UseCaseError::TaskLimitExceeded { limit })
    } else {
        // The account was deleted after the key was checked.
        Err(UseCaseError::Unauthorized)
    }
}

/// A move that a task makes before it is stored, and its event.
fn creation_event(
    task: &Task,
    from: Option<Status>,
    by: Actor,
) -> Result<(HistoryEntry, NewEvent), UseCaseError> {
    let event_type = match from {
        None => EventType::TaskCreated,
        Some(_) => EventType::TaskFunded,
    };
    let made = HistoryEntry {
        from,
        to: task.status,
        by,
        reason: None,
        created_at: task.updated_at,
    };
    Ok((made, event::of_task(event_type, task, None)?))
}

fn payment(task: &Task, processor: ProcessorName, method: Option<ChargedMethod>) -> Payment {
    Payment {
        task: task.id,
        account: task.owner.account,
        processor,
        status: if method.is_some() {
            PaymentStatus::Processing
        } else {
            PaymentStatus::RequiresPayment
        },
        intent: None,
        amount_cents: task.budget_cents,
        method,
        failure: None,
        created_at: task.created_at,
        updated_at: task.created_at,
    }
}
