//! Writes notifications in the transaction of what they are about. A job sends them later.

use crate::ambient;
use crate::domain::events::notification::{self, NotificationText};
use crate::domain::events::to_workers;
use crate::domain::tasks::TaskType;
use crate::domain::{
    AccountId, JobKind, JobName, Moved, Notification, NotificationId, NotificationKind,
    NotificationStatus, Person, Recipient, Status, Timestamp, WorkerId,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;

/// Notifies workers of a move of a live task.
pub(in crate::usecases) fn of_move(
    tx: &mut Tx<'_>,
    moved: &Moved,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let task = &moved.task;
    if let (Some(id), Some(told)) = (task.worker, told(moved, reason, now)) {
        worker(tx, id, told.kind, told.occasion, told.text, now)?;
    }
    if task.status == Status::Posted && task.task_type == TaskType::Bounty {
        tx.add_job(&JobName::new(JobKind::AnnounceBounty, task.id), now)?;
    }
    Ok(())
}

/// What the worker of a task is told of a move.
struct Told {
    kind: NotificationKind,
    occasion: String,
    text: NotificationText,
}

fn told(moved: &Moved, reason: Option<&str>, now: Timestamp) -> Option<Told> {
    use Status::{
        Assigned, Cancelled, Completed, Disputed, Expired, InProgress, ProofRejected,
        ProofSubmitted, Refunded,
    };
    let task = &moved.task;
    let (id, paid_cents) = (task.id, moved.settlement.payout_cents);
    let (kind, occasion, text) = match (moved.from, task.status) {
        // A task can be released and accepted again. Each acceptance is an occasion of its own.
        (_, Assigned) => (
            NotificationKind::TaskAssigned,
            format!("assigned:{id}:{}", now.as_millis()),
            notification::assigned(task),
        ),
        (ProofSubmitted, ProofRejected | Refunded) => (
            NotificationKind::ProofRejected,
            format!("rejected:{id}:{}", task.proof_attempts),
            notification::rejected(task, reason.unwrap_or_default()),
        ),
        (Assigned, Cancelled) => (
            NotificationKind::TaskCancelled,
            format!("cancelled:{id}"),
            to_workers::cancelled(task, paid_cents),
        ),
        (Assigned | InProgress | ProofRejected, Expired) => (
            NotificationKind::TaskExpired,
            format!("expired:{id}"),
            to_workers::expired(task),
        ),
        (Disputed, Completed | Refunded) => (
            NotificationKind::DisputeDecided,
            format!("decided:{id}"),
            to_workers::dispute_decided(task, paid_cents, reason),
        ),
        _ => return None,
    };
    Some(Told {
        kind,
        occasion,
        text,
    })
}

/// Notifies a worker by e-mail and in every subscribed browser. Simulated workers have no row and
/// get nothing.
pub fn worker(
    tx: &mut Tx<'_>,
    id: WorkerId,
    kind: NotificationKind,
    occasion: String,
    text: NotificationText,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let to = Recipient::Worker(id);
    // The store knows the address.
    let notification = notification(kind, to, occasion, String::new(), text, now);
    Ok(tx.notify_worker(id, &notification)?)
}

/// Notifies the owner of an account by e-mail.
pub fn developer(
    tx: &mut Tx<'_>,
    id: AccountId,
    kind: NotificationKind,
    occasion: String,
    text: NotificationText,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if let Some(account) = tx.account(id)? {
        let to = Recipient::Account(id);
        add(
            tx,
            &notification(kind, to, occasion, account.email, text, now),
            now,
        )?;
    }
    Ok(())
}

/// Notifies a person at an address that need not be the one of the account or worker. Only by e-mail.
pub(in crate::usecases) fn address(
    tx: &mut Tx<'_>,
    (person, email): (Person, &str),
    kind: NotificationKind,
    occasion: String,
    text: NotificationText,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let to = match person {
        Person::Account(id) => Recipient::Account(id),
        Person::Worker(id) => Recipient::Worker(id),
        // Admins have no address.
        Person::Admin(_) => return Ok(()),
    };
    let notification = notification(kind, to, occasion, email.to_owned(), text, now);
    add(tx, &notification, now).map(drop)
}

fn notification(
    kind: NotificationKind,
    to: Recipient,
    occasion: String,
    email: String,
    text: NotificationText,
    now: Timestamp,
) -> Notification {
    Notification {
        unread: matches!(to, Recipient::Worker(_)),
        task: text.task,
        id: NotificationId::new(now, &ambient::random_for_id()),
        occasion,
        kind,
        to,
        email,
        subject: text.subject,
        paragraphs: text.paragraphs,
        link: text.link,
        status: NotificationStatus::Pending,
        error: None,
        sent_at: None,
        created_at: now,
    }
}

/// Returns false if a notification for the occasion already exists.
fn add(tx: &mut Tx<'_>, notification: &Notification, now: Timestamp) -> Result<bool, UseCaseError> {
    let new = tx.add_notification(notification)?;
    if new {
        tx.add_job(&JobName::new(JobKind::Mail, notification.id), now)?;
    }
    Ok(new)
}
