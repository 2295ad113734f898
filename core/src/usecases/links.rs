//! What a link does, whoever it belongs to.

use crate::domain::{LinkPurpose, MailLink, Person, PersonKind, Secret, Timestamp};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::accounts::{confirm_account, send_account_link, set_account_password};
use crate::usecases::people::{good_link, redeem_link};
use crate::usecases::workers::{confirm_worker, send_worker_link, set_linked_worker_password};

/// So many of those who claim an address are looked at when it is confirmed.
const CLAIMS: i64 = 5;
const CONFIRM: [LinkPurpose; 2] = [LinkPurpose::ConfirmEmail, LinkPurpose::ChangeEmail];
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

/// A good link that confirms an address, and whose password goes with it.
#[derive(Clone, Debug)]
pub struct Confirmation {
    pub email: String,
    pub kind: PersonKind,
    /// Whoever the link was made for comes first.
    pub candidates: Vec<PasswordOf>,
}

/// Somebody, and the hash of their password.
#[derive(Clone, Debug)]
pub struct PasswordOf {
    pub person: Person,
    pub hash: String,
}

/// Looks at a link without using it. The link proves who reads the mail of the address, and the password
/// tells which of those who signed up with the address that is.
pub fn confirmation(
    tx: &mut Tx<'_>,
    token: &Secret,
    now: Timestamp,
) -> Result<Confirmation, UseCaseError> {
    let link = good_link(tx, token, &CONFIRM, now)?;
    let mut people = vec![link.person];
    if link.purpose == LinkPurpose::ConfirmEmail {
        let others = claims(tx, link.person.kind(), &link.email)?;
        people.extend(others.into_iter().filter(|other| *other != link.person));
    }
    let mut candidates = Vec::new();
    for person in people {
        let hash = password_of(tx, person)?;
        candidates.extend(hash.map(|hash| PasswordOf { person, hash }));
    }
    Ok(Confirmation {
        email: link.email,
        kind: link.person.kind(),
        candidates,
    })
}

/// The newest who claim an address.
fn claims(tx: &mut Tx<'_>, kind: PersonKind, email: &str) -> Result<Vec<Person>, UseCaseError> {
    Ok(match kind {
        PersonKind::Account => {
            let claims = tx.claims_of(email, None, CLAIMS)?;
            claims.iter().map(|one| Person::Account(one.id)).collect()
        }
        PersonKind::Worker => {
            let claims = tx.workers_claiming(email, None, CLAIMS)?;
            claims.iter().map(|one| Person::Worker(one.id)).collect()
        }
        PersonKind::Admin => Vec::new(),
    })
}

fn password_of(tx: &mut Tx<'_>, person: Person) -> Result<Option<String>, StoreError> {
    match person {
        Person::Account(id) => tx.account_password(id),
        Person::Worker(id) => tx.worker_password(id),
        Person::Admin(_) => Ok(None),
    }
}

/// Uses a link that confirms an address, for somebody whose password was right. Returns the address.
pub fn confirm_email(
    tx: &mut Tx<'_>,
    token: &Secret,
    matched: &PasswordOf,
    now: Timestamp,
) -> Result<String, UseCaseError> {
    let link = redeem_link(tx, token, &CONFIRM, now)?;
    let other = matched.person != link.person;
    let foreign = other && link.purpose != LinkPurpose::ConfirmEmail;
    if foreign || matched.person.kind() != link.person.kind() {
        return Err(UseCaseError::LinkExpired);
    }
    match matched.person {
        Person::Account(id) => confirm_account(tx, id, &link, now)?,
        Person::Worker(id) => confirm_worker(tx, id, &link, now)?,
        Person::Admin(_) => return Err(UseCaseError::LinkExpired),
    }
    // It may have been changed since it was compared. Whoever it belongs to is locked by now.
    if password_of(tx, matched.person)?.as_ref() != Some(&matched.hash) {
        return Err(UseCaseError::WrongPassword);
    }
    Ok(link.email)
}

/// A good link with which a password can be chosen.
#[derive(Clone, Debug)]
pub struct PasswordLink {
    /// The new password must not contain it.
    pub email: String,
    pub kind: PersonKind,
}

impl From<MailLink> for PasswordLink {
    fn from(link: MailLink) -> Self {
        Self {
            kind: link.person.kind(),
            email: link.email,
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
