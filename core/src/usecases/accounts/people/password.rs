//! Chooses and changes the password of an account.

use serde_json::json;

use super::address::{hold_addresses, living, take_address};
use crate::domain::events::notification;
use crate::domain::{
    Account, AccountId, AccountStatus, Actor, LinkPurpose, MailLink, NotificationKind, Person,
    PersonKind, SessionId, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::events::notify;
use crate::usecases::people::mail_links::{hand_out_link, mail_link};
use crate::usecases::people::{MadeLink, request_link};

/// Has a link sent to whoever has confirmed this address, if anybody has.
pub fn request_reset(tx: &mut Tx<'_>, email: &str, now: Timestamp) -> Result<(), UseCaseError> {
    let (purpose, kind) = (LinkPurpose::ResetPassword, PersonKind::Account);
    request_link(tx, purpose, kind, email, now)
}

/// Somebody has followed a link with which a password is chosen: sets it and ends all sessions.
pub(in crate::usecases) fn set_account_password(
    tx: &mut Tx<'_>,
    id: AccountId,
    link: &MailLink,
    hash: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    hold_addresses(tx)?;
    let account = living(tx, id)?;
    if account.email != link.email {
        return Err(UseCaseError::LinkExpired);
    }
    // The operator invites whoever has this address.
    if link.purpose == LinkPurpose::SetPassword && !account.email_confirmed {
        take_address(tx, &account, &link.email, now)?;
    }
    store_password(tx, &account, hash, None, now)
}

/// Somebody who is signed in, and has given the old password, chooses a new one. Their other sessions
/// end.
pub fn change_password(
    tx: &mut Tx<'_>,
    id: AccountId,
    hash: &str,
    session: SessionId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let account = living(tx, id)?;
    store_password(tx, &account, hash, Some(session), now)
}

fn store_password(
    tx: &mut Tx<'_>,
    account: &Account,
    hash: &str,
    kept: Option<SessionId>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let person = Person::Account(account.id);
    let before = tx.account_password(account.id)?;
    tx.set_account_password(account.id, hash)?;
    tx.revoke_sessions(person, kept)?;
    for purpose in [LinkPurpose::ResetPassword, LinkPurpose::SetPassword] {
        tx.void_mail_links_for(person, purpose, now)?;
    }
    if before.is_some() {
        let occasion = format!("password_changed:{}:{}", account.id, now.as_millis());
        let (kind, text) = (
            NotificationKind::PasswordChanged,
            notification::password_changed(),
        );
        notify::developer(tx, account.id, kind, occasion, text, now)?;
    }
    let (by, id) = (Actor::account(account.id), account.id.to_string());
    audit(
        tx,
        &by,
        "account.password_set",
        "account",
        &id,
        json!({}),
        now,
    )
}

/// Makes a link with which the person of an account chooses a password, and has it mailed if there is
/// a mail server. Earlier invitations are void.
pub fn invite(
    tx: &mut Tx<'_>,
    account: &Account,
    by: &Actor,
    now: Timestamp,
) -> Result<MadeLink, UseCaseError> {
    if account.status == AccountStatus::Deleted {
        return Err(UseCaseError::AccountNotFound);
    }
    let (person, purpose) = (Person::Account(account.id), LinkPurpose::SetPassword);
    let made = hand_out_link(tx, purpose, person, &account.email, now)?;
    mail_link(tx, &made.link, now)?;
    let id = account.id.to_string();
    audit(tx, by, "account.invited", "account", &id, json!({}), now)?;
    Ok(made)
}
