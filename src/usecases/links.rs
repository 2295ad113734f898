//! What a link does, whoever it belongs to.

use crate::domain::{LinkPurpose, MailLink, Person, PersonKind, Secret, Timestamp};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::accounts::{confirm_account, send_account_link, set_account_password};
use crate::usecases::people::{good_link, redeem_link};
use crate::usecases::workers::{confirm_worker, send_worker_link, set_linked_worker_password};

const SET_PASSWORD: [LinkPurpose; 2] = [LinkPurpose::ResetPassword, LinkPurpose::SetPassword];

/// Sends a link that somebody asked for: see `request_link`.
pub fn send_requested_link(
    tx: &mut Tx<'_>,
    subject: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let mut parts = subject.splitn(3, '/');
    let purpose = parts.next().and_then(LinkPurpose::parse);
    let kind = parts.next().and_then(PersonKind::parse);
    let (Some(purpose), Some(kind), Some(whom)) = (purpose, kind, parts.next()) else {
        return Err(StoreError::Failed("malformed job subject".into()).into());
    };
    match kind {
        PersonKind::Account => send_account_link(tx, purpose, whom, now),
        PersonKind::Worker => send_worker_link(tx, purpose, whom, now),
        PersonKind::Admin => Ok(()),
    }
}

/// Uses a link that confirms an address. Returns the address.
pub fn confirm_email(
    tx: &mut Tx<'_>,
    token: &Secret,
    now: Timestamp,
) -> Result<String, UseCaseError> {
    let purposes = [LinkPurpose::ConfirmEmail, LinkPurpose::ChangeEmail];
    let link = redeem_link(tx, token, &purposes, now)?;
    match link.person {
        Person::Account(id) => confirm_account(tx, id, &link, now)?,
        Person::Worker(id) => confirm_worker(tx, id, &link, now)?,
        Person::Admin(_) => return Err(UseCaseError::LinkExpired),
    }
    Ok(link.email)
}

/// A good link with which a password can be chosen.
#[derive(Clone, Debug)]
pub struct PasswordLink {
    /// The new password must not contain it.
    pub email: String,
    pub purpose: LinkPurpose,
}

impl From<MailLink> for PasswordLink {
    fn from(link: MailLink) -> Self {
        Self {
            email: link.email,
            purpose: link.purpose,
        }
    }
}

/// Looks at a link without using it. Hashing a password is dear, so this comes first.
pub fn password_link(
    tx: &mut Tx<'_>,
    token: &Secret,
    now: Timestamp,
) -> Result<PasswordLink, UseCaseError> {
    good_link(tx, token, &SET_PASSWORD, now).map(PasswordLink::from)
}

/// Uses a link, sets the password and ends all sessions.
pub fn set_password(
    tx: &mut Tx<'_>,
    token: &Secret,
    hash: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let link = redeem_link(tx, token, &SET_PASSWORD, now)?;
    match link.person {
        Person::Account(id) => set_account_password(tx, id, &link, hash, now),
        Person::Worker(id) => set_linked_worker_password(tx, id, &link, hash, now),
        Person::Admin(_) => Err(UseCaseError::LinkExpired),
    }
}
