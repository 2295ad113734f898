//! A developer creates a task. A test task is funded at once, without a charge.

use std::sync::Arc;

use crate::domain::accounts::mandate::{Refusal, Verdict};
use crate::domain::{
    Action, Actor, ChargedMethod, EventType, HistoryEntry, JobKind, JobName, NewEvent, NewTask,
    Payment, PaymentIntent, PaymentStatus, ProcessorName, Status, Task, TaskId, Timestamp,
};
use crate::store::{KeyHolder, MandateInUse, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::accounts::{expect_allowed, expect_confirmed};
use crate::usecases::tasks::approvals::{self, AskedApproval};
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
    /// Nobody pays before a person has agreed.
    AfterApproval(Box<AskedApproval>),
}

impl Funding {
    /// What somebody pays with.
    pub fn client_secret(&self) -> Option<&str> {
        match self {
            Self::ByHand(_, intent) => Some(&intent.client_secret),
            Self::Simulated | Self::ByMethod(..) | Self::Later(_) | Self::AfterApproval(_) => None,
        }
    }
}

/// How a task is paid for, and the mandate of the limited key that creates it, as it stood a moment ago.
#[derive(Clone, Debug)]
pub struct Funded {
    pub funding: Funding,
    pub mandate: Option<Arc<MandateInUse>>,
}

impl Funded {
    pub fn order<'a>(&'a self, new: &'a NewTask, id: TaskId) -> TaskOrder<'a> {
        TaskOrder {
            new,
            id,
            funding: &self.funding,
            mandate: self.mandate.as_deref(),
        }
    }
}

/// A task to create.
#[derive(Clone, Copy, Debug)]
pub struct TaskOrder<'a> {
    pub new: &'a NewTask,
    pub id: TaskId,
    pub funding: &'a Funding,
    /// The mandate of a limited key, as it stood a moment ago.
    pub mandate: Option<&'a MandateInUse>,
}

pub fn create_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    order: &TaskOrder<'_>,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    expect_confirmed(by)?;
    let TaskOrder { new, id, .. } = *order;
    // A test clock that is ahead does not begin another month.
    let (real, month) = (now, now.month());
    let now = by.time(now);
    let mandate = allowing(tx, by, order, now)?;
    let mut task = Task::create(id, by.owner, by.tier, new, now);
    task.mandate_key = mandate.map(|_| by.key);
    let mut entry = None;
    let mut moves = vec![creation_event(&task, None, Actor::developer(by.key))?];
    if let Some(version) = mandate {
        moves[0].0.reason = Some(format!("under version {version} of the key's mandate"));
    }
    match order.funding {
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
        Funding::AfterApproval(asked) if task.is_live() => {
            tx.insert_payment(&payment(&task, asked.processor, None), None)?;
        }
        Funding::AfterApproval(_) => {}
    }
    let limit = by.tier.tasks_per_month();
    if tx.insert_task(&task, entry.as_ref(), &moves, (month, limit), mandate)? {
        if is_nearly_used_up(order, &task) {
            tx.add_job(&JobName::new(JobKind::WarnOfLimits, by.key), real)?;
        }
        if let Funding::AfterApproval(asked) = order.funding {
            approvals::ask(tx, by, &task, asked, real)?;
        }
        Ok(task)
    } else if tx.account_is_active(by.owner.account)? {
        Err(UseCaseError::TaskLimitExceeded { limit })
    } else {
        // The account was deleted after the key was checked.
        Err(UseCaseError::Unauthorized)
    }
}

/// The version of the mandate that allows a task, if the key has one. It is checked again by the
/// statement that counts the task: see `Tx::may_trust_earlier_reads`.
fn allowing(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    order: &TaskOrder<'_>,
    now: Timestamp,
) -> Result<Option<i64>, UseCaseError> {
    let Some(known) = order.mandate else {
        return Ok(None);
    };
    if tx.may_trust_earlier_reads() {
        allows(known, order, now)?;
        return Ok(Some(known.version));
    }
    // Whoever counts tasks of this key holds them. So what is read now stays true.
    tx.hold_totals(by.owner)?;
    match tx.mandate(by.key)? {
        Some(mandate) => {
            allows(&mandate, order, now)?;
            Ok(Some(mandate.version))
        }
        // It was lifted in this moment. If a person was to be asked, a person is asked all the same.
        None => Ok(None),
    }
}

/// Whether the owner should be told that a limit is nearly used up, as far as is known here.
fn is_nearly_used_up(order: &TaskOrder<'_>, task: &Task) -> bool {
    let now = task.created_at;
    order.mandate.is_some_and(|known| {
        let spent = known.spent.reserve(task.budget_cents, now);
        let (limits, _) = known.mandate.to_tell(spent, known.warned, now);
        !limits.is_empty()
    })
}

/// A task that a person has to agree to is not paid for before that.
fn allows(
    mandate: &MandateInUse,
    order: &TaskOrder<'_>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let verdict = expect_allowed(mandate, order.new, now)?;
    let waits = matches!(order.funding, Funding::AfterApproval(_));
    if matches!(verdict, Verdict::ApprovalRequired(_)) && !waits {
        let message = "the mandate has just changed, and a person has to agree now: send it again";
        let refusal = Refusal::new("approval_above_cents", message);
        return Err(UseCaseError::MandateExceeded(vec![refusal]));
    }
    Ok(())
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
