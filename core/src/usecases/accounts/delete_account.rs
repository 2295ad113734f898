//! Deletes an account that has nothing open. A job erases the remaining data later.

use serde_json::json;

use crate::domain::accounts::{ERASED_AFTER, freed_email};
use crate::domain::{
    Account, AccountId, AccountStatus, Actor, Environment, JobKind, JobName, Owner, Person,
    Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::accounts::suspend_account::{held, refuse};
use crate::usecases::admin::audit;
use crate::usecases::webhooks::drop_webhook;

/// Revokes its keys and frees its e-mail address at once.
pub fn delete_account(
    tx: &mut Tx<'_>,
    account: AccountId,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    let mut account = held(tx, account)?;
    if account.status == AccountStatus::Deleted {
        return refuse(&account, "be deleted");
    }
    let owners = [Environment::Live, Environment::Test].map(|environment| Owner {
        account: account.id,
        environment,
    });
    nothing_open(tx, owners)?;
    for owner in owners {
        tx.close_totals(owner)?;
    }
    tx.delete_account(&account, now)?;
    drop_means(tx, account.id, now)?;
    let erase = JobName::new(JobKind::EraseAccount, account.id);
    tx.add_job_at(&erase, now.plus(ERASED_AFTER), now)?;
    account.email = freed_email(account.id);
    account.status = AccountStatus::Deleted;
    account.updated_at = now;
    (account.webhook_url, account.webhook_events) = (None, Vec::new());
    let id = account.id.to_string();
    audit(tx, by, "account.deleted", "account", &id, json!({}), now)?;
    Ok(account)
}

/// All that the account could act with: keys, sessions, factors, payment methods, the webhook. A request that was
/// under way may add to it after the deletion, so the erasure does this once more.
pub(super) fn drop_means(
    tx: &mut Tx<'_>,
    account: AccountId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    for environment in Environment::ALL {
        tx.delete_payment_method(Owner {
            account,
            environment: *environment,
        })?;
    }
    tx.revoke_api_keys(account, now)?;
    drop_webhook(tx, account, now)?;
    let person = Person::Account(account);
    tx.revoke_sessions(person, None)?;
    tx.void_mail_links(person, now)?;
    tx.drop_exports_of(person, now)?;
    tx.drop_factors(person)?;
    Ok(())
}

/// The totals are locked, so what they say stays true until the account is deleted.
fn nothing_open(tx: &mut Tx<'_>, owners: [Owner; 2]) -> Result<(), UseCaseError> {
    let mut open = 0;
    for owner in owners {
        open += tx.task_counts(owner)?.open();
    }
    if open > 0 {
        return Err(UseCaseError::TasksOpen { open });
    }
    // Refunds of test tasks are never paid out, so they do not count.
    for owner in owners {
        if owner.environment == Environment::Live && tx.money_is_owed(owner)? {
            return Err(UseCaseError::MoneyOwed);
        }
    }
    Ok(())
}
