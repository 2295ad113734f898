//! Opens an account for whoever claims an address.

use crate::domain::events::notification;
use crate::domain::{
    AccountId, AccountStatus, Actor, Environment, LinkPurpose, NotificationKind, Person,
    PersonKind, Timestamp,
};
use crate::store::{KeyHolder, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::accounts::create_account::{OpenedAccount, audit_opening, store_account};
use crate::usecases::events::notify;
use crate::usecases::people::{request_link, send_link};

/// Notices to the owner of an address about somebody else's sign-ups: one for each day.
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// What is known of the address changes nothing here: the account only claims it.
pub fn sign_up(
    tx: &mut Tx<'_>,
    opened: &OpenedAccount,
    password_hash: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let id = opened.account.id;
    if !store_account(tx, opened)? {
        return Err(StoreError::Failed("an account has an id that is in use".into()).into());
    }
    tx.set_account_password(id, password_hash)?;
    request_confirmation(tx, id, now)?;
    audit_opening(tx, opened, &Actor::account(id))
}

/// Has a link sent with which the address of an account is confirmed.
pub fn request_confirmation(
    tx: &mut Tx<'_>,
    account: AccountId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (purpose, kind) = (LinkPurpose::ConfirmEmail, PersonKind::Account);
    request_link(tx, purpose, kind, &account.to_string(), now)
}

/// Sends the link that somebody asked for, if there is reason to.
pub(in crate::usecases) fn send_account_link(
    tx: &mut Tx<'_>,
    purpose: LinkPurpose,
    whom: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    match purpose {
        LinkPurpose::ConfirmEmail => send_confirmation(tx, whom, now),
        LinkPurpose::ResetPassword => send_reset(tx, whom, now),
        // Nobody asks for these without being known.
        LinkPurpose::ChangeEmail | LinkPurpose::SetPassword | LinkPurpose::SignIn => Ok(()),
    }
}

/// If the address is confirmed for another account, its owner is told instead.
fn send_confirmation(tx: &mut Tx<'_>, id: &str, now: Timestamp) -> Result<(), UseCaseError> {
    let Some(account) = AccountId::parse(id).map(|id| tx.account(id)).transpose()? else {
        return Ok(());
    };
    let Some(account) = account.filter(|account| !account.email_confirmed) else {
        return Ok(());
    };
    match tx.account_by_email(&account.email)? {
        Some(owner) => {
            let day = now.as_millis() / DAY_MILLIS;
            let occasion = format!("email_known:{}:{day}", owner.id);
            let text = notification::email_known();
            notify::developer(
                tx,
                owner.id,
                NotificationKind::EmailKnown,
                occasion,
                text,
                now,
            )
        }
        None => {
            let person = Person::Account(account.id);
            send_link(tx, LinkPurpose::ConfirmEmail, person, &account.email, now)
        }
    }
}

/// Only to a confirmed address: nobody else reads the mail there.
fn send_reset(tx: &mut Tx<'_>, email: &str, now: Timestamp) -> Result<(), UseCaseError> {
    match tx.account_by_email(email)? {
        Some(account) if account.status != AccountStatus::Deleted => {
            let person = Person::Account(account.id);
            send_link(tx, LinkPurpose::ResetPassword, person, email, now)
        }
        _ => Ok(()),
    }
}

/// Live tasks need a confirmed address.
pub fn expect_confirmed(holder: &KeyHolder) -> Result<(), UseCaseError> {
    if holder.owner.environment == Environment::Live && !holder.email_confirmed {
        return Err(UseCaseError::EmailNotConfirmed);
    }
    Ok(())
}
