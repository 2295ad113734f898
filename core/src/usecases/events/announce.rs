//! Announcements to many recipients: bounties to nearby workers, verified workers to developers who
//! have a matching task.

use crate::domain::events::notification;
use crate::domain::geo::Point;
use crate::domain::workers::MAX_RADIUS_KM;
use crate::domain::{
    AccountId, CheckedSkills, Environment, JobKind, JobName, NotificationKind, Owner, PayoutStatus,
    Status, Task, TaskId, Timestamp, Worker, WorkerId,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;
use crate::usecases::tasks::worker_tasks::AcceptTerms;
use crate::views::event;

/// Workers examined in one transaction.
pub const BOUNTY_PAGE: i64 = 200;
/// Accounts notified in one transaction.
const ACCOUNTS_PAGE: i64 = 100;
const KM_PER_DEGREE: f64 = 111.2;

/// Notifies the next workers near a bounty, from south to north. Returns where to continue, or
/// `None` when it is done. Repeating it notifies no one twice.
pub fn announce_bounty(
    tx: &mut Tx<'_>,
    id: TaskId,
    terms: &AcceptTerms,
    after: Option<(f64, WorkerId)>,
    now: Timestamp,
) -> Result<Option<(f64, WorkerId)>, UseCaseError> {
    let Some(task) = tx
        .any_task(id)?
        .filter(|task| task.status == Status::Posted)
    else {
        return Ok(None);
    };
    if !tx.account_is_active(task.owner.account)? {
        return Ok(None);
    }
    // As in a search: who is told must not tell where exactly it is.
    let place = task.place().roughly();
    let reach = MAX_RADIUS_KM / KM_PER_DEGREE;
    let (south, last) = match after {
        Some((latitude, worker)) => (latitude, worker.to_string()),
        None => (place.latitude - reach, String::new()),
    };
    let workers = tx.workers_between(south, place.latitude + reach, &last, BOUNTY_PAGE)?;
    for worker in &workers {
        if is_near(worker, place) && may_accept(tx, worker, &task, terms)? {
            let occasion = format!("bounty:{id}:{}", worker.id);
            let (kind, words) = (NotificationKind::Bounty, notification::bounty(&task));
            notify::worker(tx, worker.id, kind, occasion, words, now)?;
        }
    }
    let more = workers.len() as i64 == BOUNTY_PAGE;
    let last = workers.last().filter(|_| more);
    Ok(last.and_then(|worker| Some((worker.home?.latitude, worker.id))))
}

fn is_near(worker: &Worker, place: Point) -> bool {
    worker
        .home
        .is_some_and(|home| home.distance_meters(place) <= worker.radius_km * 1_000.0)
}

fn may_accept(
    tx: &mut Tx<'_>,
    worker: &Worker,
    task: &Task,
    terms: &AcceptTerms,
) -> Result<bool, UseCaseError> {
    let payout = tx.payout_account(worker.id, terms.processor)?;
    let payout = payout.map_or(PayoutStatus::None, |account| account.status);
    let open = tx.count_tasks_in_hand(worker.id)?;
    let may = worker.may_accept(task, payout, open, &terms.checked_skills);
    Ok(may.is_ok())
}

/// The subject of the job that announces a worker to developers, starting after an account.
pub(in crate::usecases) fn announcement(worker: WorkerId, after: Option<AccountId>) -> String {
    match after {
        None => worker.to_string(),
        Some(account) => format!("{worker}/{account}"),
    }
}

/// Announces a worker to the accounts that have a posted task which matches the worker's skills.
/// Handles a page at a time and queues a job for the rest.
pub fn announce_worker(
    tx: &mut Tx<'_>,
    subject: &str,
    checked: &CheckedSkills,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (worker, after) = subject.split_once('/').unwrap_or((subject, ""));
    let worker = WorkerId::parse(worker).ok_or(UseCaseError::WorkerNotFound)?;
    let worker = tx.worker(worker)?.ok_or(UseCaseError::WorkerNotFound)?;
    let event = event::of_verified(&worker, &worker.counting_skills(checked))?;
    let accounts = tx.accounts_with_posted_tasks(after, ACCOUNTS_PAGE)?;
    for account in &accounts {
        let owner = Owner {
            account: *account,
            environment: Environment::Live,
        };
        let wanted = tx.skills_of_posted_tasks(*account)?;
        if wanted
            .iter()
            .any(|skills| worker.has_skills(skills, checked))
        {
            tx.add_event(owner, &event, now)?;
        }
    }
    if let Some(last) = accounts
        .last()
        .filter(|_| accounts.len() as i64 == ACCOUNTS_PAGE)
    {
        let rest = announcement(worker.id, Some(*last));
        tx.add_job(&JobName::new(JobKind::AnnounceWorker, rest), now)?;
    }
    Ok(())
}
