//! Suspends and restores accounts. The keys of a suspended account are refused and its posted tasks
//! are hidden. Workers can finish what they have started.

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::{
    Account, AccountId, AccountStatus, Actor, Decided, Environment, JobKind, JobName, Owner,
    Timestamp,
};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit::{decided, record_decision};

/// Posted tasks shown or hidden in one transaction.
const PAGE: i64 = 200;

/// A decision about an account.
struct Decision {
    /// As in the audit log.
    action: &'static str,
    from: AccountStatus,
    to: AccountStatus,
    /// What an account cannot do for which it is not possible.
    what: &'static str,
}

const SUSPEND: Decision = Decision {
    action: "account.suspended",
    from: AccountStatus::Active,
    to: AccountStatus::Suspended,
    what: "be suspended",
};
const RESTORE: Decision = Decision {
    action: "account.restored",
    from: AccountStatus::Suspended,
    to: AccountStatus::Active,
    what: "be restored",
};

pub fn suspend_account(
    tx: &mut Tx<'_>,
    account: AccountId,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    decide(tx, account, &SUSPEND, by, now)
}

pub fn restore_account(
    tx: &mut Tx<'_>,
    account: AccountId,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    decide(tx, account, &RESTORE, by, now)
}

/// The same with a note for the audit log. The same decision sent again changes nothing.
pub fn suspend_account_with(
    tx: &mut Tx<'_>,
    account: AccountId,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    decide_with(tx, (account, &SUSPEND), note, by, now)
}

/// The same with a note for the audit log. The same decision sent again changes nothing.
pub fn restore_account_with(
    tx: &mut Tx<'_>,
    account: AccountId,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    decide_with(tx, (account, &RESTORE), note, by, now)
}

/// One that changes nothing is refused.
fn decide(
    tx: &mut Tx<'_>,
    account: AccountId,
    decision: &Decision,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    let account = held(tx, account)?;
    if account.status != decision.from {
        return refuse(&account, decision.what);
    }
    let made = decided(decision.action, None);
    make(tx, account, (decision, &made), by, now)
}

fn decide_with(
    tx: &mut Tx<'_>,
    (account, decision): (AccountId, &Decision),
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    let (account, made) = (held(tx, account)?, decided(decision.action, note));
    if account.status != decision.from {
        return again(tx, account, &made, decision.what);
    }
    make(tx, account, (decision, &made), by, now)
}

fn make(
    tx: &mut Tx<'_>,
    account: Account,
    (decision, made): (&Decision, &Decided),
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    let account = set(tx, account, decision.to, now)?;
    record_decision(tx, ("account", &account.id.to_string()), made, by, now)?;
    Ok(account)
}

/// A decision that changes nothing: fine if it was the last one about the account.
fn again(
    tx: &mut Tx<'_>,
    account: Account,
    made: &Decided,
    what: &'static str,
) -> Result<Account, UseCaseError> {
    match tx.last_decision(&account.id.to_string())? {
        Some(last) if last == *made && account.status != AccountStatus::Deleted => Ok(account),
        _ => refuse(&account, what),
    }
}

/// Locks the account and its totals. Every move of its tasks locks the totals too, so a concurrent
/// move waits and then sees the new status of the account.
pub(in crate::usecases) fn held(
    tx: &mut Tx<'_>,
    account: AccountId,
) -> Result<Account, UseCaseError> {
    for environment in Environment::ALL {
        tx.hold_totals(Owner {
            account,
            environment: *environment,
        })?;
    }
    tx.account_to_change(account)?
        .ok_or(UseCaseError::AccountNotFound)
}

pub(in crate::usecases) fn refuse<T>(
    account: &Account,
    what: &'static str,
) -> Result<T, UseCaseError> {
    Err(UseCaseError::InvalidAccountState {
        status: account.status,
        what,
    })
}

fn set(
    tx: &mut Tx<'_>,
    mut account: Account,
    status: AccountStatus,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    tx.set_account_status(&account, status, now)?;
    account.status = status;
    account.updated_at = now;
    // Each change gets its own job, which starts after the change: a job of an earlier change may
    // be halfway through the tasks. An account can have very many tasks, so this transaction does
    // not touch them.
    let mark = hex(&ambient::random::<8>());
    let name = JobName::new(JobKind::ShowTasks, subject(account.id, &mark, 0));
    tx.add_job(&name, now)?;
    Ok(account)
}

fn subject(account: AccountId, mark: &str, after: i64) -> String {
    format!("{account}/{mark}/{after}")
}

/// Shows or hides the next posted tasks of an account, as its current status requires, and queues a
/// job for the rest.
pub fn show_posted_tasks(tx: &mut Tx<'_>, job: &str, now: Timestamp) -> Result<(), UseCaseError> {
    let (account, mark, after) =
        parse(job).ok_or_else(|| StoreError::Failed("malformed job subject".into()))?;
    let owner = Owner {
        account,
        environment: Environment::Live,
    };
    tx.hold_totals(owner)?;
    let shown = tx.account_is_active(account)?;
    let page = tx.posted_tasks_of(owner, after, PAGE)?;
    for (_, task) in &page {
        if shown {
            tx.post_task(task)?;
        } else {
            tx.withdraw_task(task.id)?;
        }
    }
    if let Some((last, _)) = page.last().filter(|_| page.len() as i64 == PAGE) {
        let rest = JobName::new(JobKind::ShowTasks, subject(account, mark, *last));
        tx.add_job(&rest, now)?;
    }
    Ok(())
}

fn parse(job: &str) -> Option<(AccountId, &str, i64)> {
    let (account, rest) = job.split_once('/')?;
    let (mark, after) = rest.split_once('/')?;
    Some((AccountId::parse(account)?, mark, after.parse().ok()?))
}
