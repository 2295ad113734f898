//! People are told: what is to be said is written with what happened, and sent later.

use crate::ambient;
use crate::domain::events::notification::{self, Words};
use crate::domain::tasks::TaskType;
use crate::domain::{
    AccountId, JobKind, JobName, Moved, Notification, NotificationId, NotificationKind,
    NotificationStatus, Recipient, Status, Timestamp, WorkerId,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;

/// What workers hear of a move of a live task.
pub(in crate::usecases) fn of_move(
    tx: &mut Tx<'_>,
    moved: &Moved,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let task = &moved.task;
    let rejected = moved.from == Status::ProofSubmitted
        && matches!(task.status, Status::ProofRejected | Status::Refunded);
    match task.worker {
        Some(worker_id) if task.status == Status::Assigned => {
            // A task can be given back and taken again: each time is an occasion.
            let occasion = format!("assigned:{}:{}", task.id, now.as_millis());
            let words = notification::assigned(task);
            worker(
                tx,
                worker_id,
                NotificationKind::TaskAssigned,
                occasion,
                words,
                now,
            )?;
        }
        Some(worker_id) if rejected => {
            let occasion = format!("rejected:{}:{}", task.id, task.proof_attempts);
            let words = notification::rejected(task, reason.unwrap_or_default());
            worker(
                tx,
                worker_id,
                NotificationKind::ProofRejected,
                occasion,
                words,
                now,
            )?;
        }
        _ => {}
    }
    if task.status == Status::Posted && task.task_type == TaskType::Bounty {
        tx.add_job(&JobName::new(JobKind::AnnounceBounty, task.id), now)?;
    }
    Ok(())
}

/// Tells a worker, by e-mail and in every browser that has subscribed. Simulated workers have no row,
/// and hear nothing.
pub fn worker(
    tx: &mut Tx<'_>,
    id: WorkerId,
    kind: NotificationKind,
    occasion: String,
    words: Words,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let Some(worker) = tx.worker(id)? else {
        return Ok(());
    };
    let notification = notification(
        kind,
        Recipient::Worker(id),
        occasion,
        worker.email,
        words,
        now,
    );
    if !tell(tx, &notification, now)? {
        return Ok(());
    }
    for subscription in tx.push_subscriptions(id)? {
        let subject = format!("{}/{}", notification.id, subscription.id);
        tx.add_job(&JobName::new(JobKind::Push, subject), now)?;
    }
    Ok(())
}

/// Tells the holder of an account, by e-mail.
pub fn developer(
    tx: &mut Tx<'_>,
    id: AccountId,
    kind: NotificationKind,
    occasion: String,
    words: Words,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if let Some(account) = tx.account(id)? {
        let to = Recipient::Account(id);
        tell(
            tx,
            &notification(kind, to, occasion, account.email, words, now),
            now,
        )?;
    }
    Ok(())
}

fn notification(
    kind: NotificationKind,
    to: Recipient,
    occasion: String,
    email: String,
    words: Words,
    now: Timestamp,
) -> Notification {
    Notification {
        id: NotificationId::new(now, &ambient::random_for_id()),
        occasion,
        kind,
        to,
        email,
        subject: words.subject,
        paragraphs: words.paragraphs,
        link: words.link,
        status: NotificationStatus::Pending,
        error: None,
        sent_at: None,
        created_at: now,
    }
}

/// False when the occasion has been told of already.
fn tell(
    tx: &mut Tx<'_>,
    notification: &Notification,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let new = tx.add_notification(notification)?;
    if new {
        tx.add_job(&JobName::new(JobKind::Mail, notification.id), now)?;
    }
    Ok(new)
}
