//! Worker verification: workers upload documents, admins decide.

use serde_json::json;

use crate::ambient;
use crate::domain::events::notification::{self, NotificationText};
use crate::domain::events::to_workers;
use crate::domain::workers::is_in_hand;
use crate::domain::{
    Action, Actor, CheckedSkills, Decided, HeldBecause, JobKind, JobName, NotificationKind, Person,
    QueueItem, QueueItemId, QueueKind, QueueStatus, Timestamp, VerificationFile, Worker, WorkerId,
    WorkerStatus,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::{audit, review_queue};
use crate::usecases::events::announce::announcement;
use crate::usecases::events::notify;
use crate::usecases::tasks::transition::{self, Cause};
use crate::usecases::workers::edit_worker::review_skills;
use crate::usecases::workers::payout_account::waits_for_payout_account;

/// Also asked before the documents are read.
pub fn may_send_documents(worker: &Worker) -> Result<(), UseCaseError> {
    match worker.status {
        WorkerStatus::Unverified | WorkerStatus::InReview => Ok(()),
        _ => refuse(worker, "be verified"),
    }
}

/// A worker uploads documents. New documents replace those from before, which are returned: their files
/// are to be deleted. Jobs delete what the caller does not.
pub fn send_verification(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    files: &[VerificationFile],
    checked: &CheckedSkills,
    now: Timestamp,
) -> Result<(Worker, Vec<VerificationFile>), UseCaseError> {
    let worker = held(tx, worker)?;
    may_send_documents(&worker)?;
    expect_unclaimed(tx, &worker, now)?;
    let replaced = tx.put_verification_files(worker.id, files, now)?;
    let id = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        worker: Some(worker.id),
        ..QueueItem::new(id, QueueKind::WorkerVerification, worker.id, now)
    })?;
    review_skills(tx, &worker, checked, now)?;
    let worker = set(tx, worker, WorkerStatus::InReview, now)?;
    Ok((worker, replaced))
}

/// Documents stay as they are while an admin looks at them: a decision is about what the admin has seen.
fn expect_unclaimed(tx: &mut Tx<'_>, worker: &Worker, now: Timestamp) -> Result<(), UseCaseError> {
    let subject = worker.id.to_string();
    let item = tx.queue_item_of(QueueKind::WorkerVerification, &subject)?;
    let open = item.filter(|item| item.status == QueueStatus::Open);
    match open.and_then(|item| item.holder(now)) {
        Some(_) => refuse(worker, "replace documents that an admin is looking at"),
        None => Ok(()),
    }
}

/// A decision of an admin about a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerDecision {
    Verify,
    /// The documents were not sufficient. The worker may upload others.
    Refuse,
    Suspend,
    /// Restores the previous status: verified or unverified.
    Restore,
}

impl WorkerDecision {
    /// As in the audit log, and what a worker for whom it is not possible cannot do.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Verify => ("worker.verified", "be verified"),
            Self::Refuse => ("worker.refused", "be refused"),
            Self::Suspend => ("worker.suspended", "be suspended"),
            Self::Restore => ("worker.restored", "be restored"),
        }
    }

    fn is_possible(self, status: WorkerStatus) -> bool {
        use WorkerStatus::{InReview, Suspended, Unverified, Verified};
        match self {
            // Whoever is suspended has to be restored first, which also makes the payouts that were held.
            Self::Verify => matches!(status, Unverified | InReview),
            Self::Refuse => status == InReview,
            Self::Suspend => matches!(status, Unverified | InReview | Verified),
            Self::Restore => status == Suspended,
        }
    }
}

/// Decides about a worker, with a note. The same decision sent again changes nothing.
pub fn decide_about_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    (decision, note): (WorkerDecision, Option<&str>),
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = held(tx, worker)?;
    let (action, what) = decision.words();
    let made = audit::decided(action, note);
    if !decision.is_possible(worker.status) {
        let last = tx.last_decision(&worker.id.to_string())?;
        return match last {
            Some(last) if last == made => Ok(worker),
            _ => refuse(&worker, what),
        };
    }
    make(tx, worker, (decision, &made), by, now)
}

fn make(
    tx: &mut Tx<'_>,
    worker: Worker,
    (decision, made): (WorkerDecision, &Decided),
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    match decision {
        WorkerDecision::Verify => verify(tx, worker, made, by, now),
        WorkerDecision::Refuse => refuse_documents(tx, worker, made, by, now),
        WorkerDecision::Suspend => suspend(tx, worker, made, by, now),
        WorkerDecision::Restore => restore(tx, worker, made, by, now),
    }
}

/// The decisions without a note, for the command line: one that changes nothing is refused.
macro_rules! without_note {
    ($($name:ident = $decision:ident;)+) => { $(
        pub fn $name(
            tx: &mut Tx<'_>,
            worker: WorkerId,
            by: &Actor,
            now: Timestamp,
        ) -> Result<Worker, UseCaseError> {
            let (worker, decision) = (held(tx, worker)?, WorkerDecision::$decision);
            let (action, what) = decision.words();
            if !decision.is_possible(worker.status) {
                return refuse(&worker, what);
            }
            let made = audit::decided(action, None);
            make(tx, worker, (decision, &made), by, now)
        }
    )+ };
}

without_note! {
    verify_worker = Verify;
    refuse_worker = Refuse;
    suspend_worker = Suspend;
    restore_worker = Restore;
}

fn verify(
    tx: &mut Tx<'_>,
    worker: Worker,
    made: &Decided,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let mut worker = decided(tx, worker, WorkerStatus::Verified, by, now)?;
    if let Some(name) = worker.pending_name.take() {
        return renamed(tx, Worker { name, ..worker }, made, by, now);
    }
    let name = JobName::new(JobKind::AnnounceWorker, announcement(worker.id, None));
    tx.add_job(&name, now)?;
    notify_worker(
        tx,
        &worker,
        NotificationKind::WorkerVerified,
        notification::verified(),
        now,
    )?;
    audited(tx, by, made, worker, json!({}), now)
}

/// A worker who was verified before gets the new name. Developers were told of the worker then.
fn renamed(
    tx: &mut Tx<'_>,
    worker: Worker,
    made: &Decided,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    tx.set_worker_name(&worker)?;
    let text = to_workers::renamed(&worker.name);
    notify_worker(tx, &worker, NotificationKind::WorkerVerified, text, now)?;
    let details = json!({"renamed": true});
    audited(tx, by, made, worker, details, now)
}

/// The name that the worker wanted is dropped.
fn without_pending_name(tx: &mut Tx<'_>, worker: Worker) -> Result<Worker, UseCaseError> {
    if worker.pending_name.is_none() {
        return Ok(worker);
    }
    tx.set_worker_name(&worker)?;
    Ok(Worker {
        pending_name: None,
        ..worker
    })
}

/// The worker reads the note.
fn refuse_documents(
    tx: &mut Tx<'_>,
    worker: Worker,
    made: &Decided,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let note = made.note.as_deref();
    let (status, text) = match &worker.pending_name {
        // The name that was verified before stays.
        Some(name) => (WorkerStatus::Verified, to_workers::name_refused(name, note)),
        None => (WorkerStatus::Unverified, notification::refused(note)),
    };
    let worker = decided(tx, worker, status, by, now)?;
    let worker = without_pending_name(tx, worker)?;
    notify_worker(tx, &worker, NotificationKind::WorkerRefused, text, now)?;
    audited(tx, by, made, worker, json!({}), now)
}

fn suspend(
    tx: &mut Tx<'_>,
    worker: Worker,
    made: &Decided,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    // Closes the item even if an admin has claimed it.
    let (kind, subject) = (QueueKind::WorkerVerification, worker.id.to_string());
    tx.close_queue_items_of(kind, &subject, by.id.as_deref(), now)?;
    tx.documents_decided(worker.id, now)?;
    let worker = without_pending_name(tx, worker)?;
    let worker = set(tx, worker, WorkerStatus::Suspended, now)?;
    tx.revoke_worker_tokens(worker.id, None)?;
    tx.revoke_sessions(Person::Worker(worker.id), None)?;
    let released = give_tasks_back(tx, worker.id, by, now)?;
    let text = to_workers::suspended(released.len());
    notify_worker(tx, &worker, NotificationKind::WorkerSuspended, text, now)?;
    let details = json!({ "released_tasks": released });
    audited(tx, by, made, worker, details, now)
}

/// Releases the tasks that the worker has not finished. Submitted proofs stay in review. What is
/// earned is held until the worker is restored.
fn give_tasks_back(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<String>, UseCaseError> {
    let mut tasks = Vec::new();
    // Lock order: all tasks before the first totals.
    for id in tx.tasks_in_hand(worker)? {
        let task = tx.any_task_to_change(id)?;
        tasks.extend(task.filter(|task| task.worker == Some(worker) && is_in_hand(task.status)));
    }
    // Jobs come after the tasks and before the totals, too. What waits for the payout account now waits for
    // the worker to be restored.
    tx.wake_jobs(&waits_for_payout_account(worker), now)?;
    tasks.sort_by_key(|task| (task.owner.account.to_string(), task.id.to_string()));
    let cause = Cause {
        reason: Some("the worker was suspended"),
        ..by.clone().into()
    };
    for task in &tasks {
        transition::make(tx, task, Action::Release, &cause, now)?;
    }
    Ok(tasks.iter().map(|task| task.id.to_string()).collect())
}

/// Payouts that were held are made.
fn restore(
    tx: &mut Tx<'_>,
    worker: Worker,
    made: &Decided,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let status = match worker.verified_at {
        Some(_) => WorkerStatus::Verified,
        None => WorkerStatus::Unverified,
    };
    let worker = set(tx, worker, status, now)?;
    tx.wake_jobs(&HeldBecause::WorkerSuspended.waits_for(worker.id), now)?;
    let text = to_workers::restored(status == WorkerStatus::Verified);
    notify_worker(tx, &worker, NotificationKind::WorkerRestored, text, now)?;
    audited(tx, by, made, worker, json!({}), now)
}

/// Comes last in the transaction.
fn audited(
    tx: &mut Tx<'_>,
    by: &Actor,
    made: &Decided,
    worker: Worker,
    details: serde_json::Value,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let subject = ("worker", &*worker.id.to_string(), details);
    audit::record_decision_with(tx, subject, made, by, now)?;
    Ok(worker)
}

/// Each decision is an occasion of its own.
fn notify_worker(
    tx: &mut Tx<'_>,
    worker: &Worker,
    kind: NotificationKind,
    text: NotificationText,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let occasion = format!("{kind}:{}:{}", worker.id, now.as_millis());
    notify::worker(tx, worker.id, kind, occasion, text, now)
}

fn held(tx: &mut Tx<'_>, worker: WorkerId) -> Result<Worker, UseCaseError> {
    tx.worker_to_change(worker)?
        .ok_or(UseCaseError::WorkerNotFound)
}

fn refuse<T>(worker: &Worker, what: &'static str) -> Result<T, UseCaseError> {
    Err(UseCaseError::InvalidWorkerState {
        status: worker.status,
        what,
    })
}

fn decided(
    tx: &mut Tx<'_>,
    worker: Worker,
    status: WorkerStatus,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let (kind, subject) = (QueueKind::WorkerVerification, worker.id.to_string());
    if let Some(item) = review_queue::decidable_item(tx, kind, &subject, by, now)? {
        review_queue::close(tx, &item, None, by, now)?;
    }
    tx.documents_decided(worker.id, now)?;
    set(tx, worker, status, now)
}

fn set(
    tx: &mut Tx<'_>,
    mut worker: Worker,
    status: WorkerStatus,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let from = worker.status;
    worker.status = status;
    worker.updated_at = now;
    if status == WorkerStatus::Verified {
        worker.verified_at = worker.verified_at.or(Some(now));
    }
    if from != status {
        tx.set_worker_status(&worker, from)?;
    }
    Ok(worker)
}
