//! Suspends accounts, and restores them.

use serde_json::json;

use super::{Refusal, audit};
use crate::domain::{Account, AccountId, AccountStatus, By, Timestamp};
use crate::store::Tx;

/// From now on the account's keys open nothing.
pub fn suspend_account(
    tx: &mut Tx<'_>,
    account: AccountId,
    by: &By,
    now: Timestamp,
) -> Result<Account, Refusal> {
    let account = held(tx, account)?;
    if account.status != AccountStatus::Active {
        return refuse(&account, "be suspended");
    }
    let account = set(tx, account, AccountStatus::Suspended, now)?;
    record(tx, by, "account.suspended", &account, now)?;
    Ok(account)
}

pub fn restore_account(
    tx: &mut Tx<'_>,
    account: AccountId,
    by: &By,
    now: Timestamp,
) -> Result<Account, Refusal> {
    let account = held(tx, account)?;
    if account.status != AccountStatus::Suspended {
        return refuse(&account, "be restored");
    }
    let account = set(tx, account, AccountStatus::Active, now)?;
    record(tx, by, "account.restored", &account, now)?;
    Ok(account)
}

fn held(tx: &mut Tx<'_>, id: AccountId) -> Result<Account, Refusal> {
    tx.account_to_change(id)?.ok_or(Refusal::AccountNotFound)
}

fn refuse<T>(account: &Account, what: &'static str) -> Result<T, Refusal> {
    Err(Refusal::InvalidAccountState {
        status: account.status,
        what,
    })
}

fn set(
    tx: &mut Tx<'_>,
    mut account: Account,
    status: AccountStatus,
    now: Timestamp,
) -> Result<Account, Refusal> {
    tx.set_account_status(&account, status, now)?;
    account.status = status;
    account.updated_at = now;
    Ok(account)
}

fn record(
    tx: &mut Tx<'_>,
    by: &By,
    action: &str,
    account: &Account,
    now: Timestamp,
) -> Result<(), Refusal> {
    audit(
        tx,
        by,
        action,
        "account",
        &account.id.to_string(),
        json!({}),
        now,
    )
}
