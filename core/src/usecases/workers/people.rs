//! How workers confirm and change their address, and choose passwords. Whoever calls these has checked
//! the password, where one is asked for.

use serde_json::json;

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::events::notification;
use crate::domain::{
    Actor, LinkPurpose, MailLink, NotificationKind, Person, PersonKind, Secret, Timestamp, Worker,
    WorkerId,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::events::notify;
use crate::usecases::people::mail_links::hand_out_link;
use crate::usecases::people::{MadeLink, request_link, send_link};

/// Notices to the owner of an address about somebody else's sign-ups: one for each day.
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// Verification needs a confirmed address. Without a mail server every address counts as confirmed.
pub fn expect_confirmed_worker(worker: &Worker, sends_mail: bool) -> Result<(), UseCaseError> {
    match worker.email_confirmed || !sends_mail {
        true => Ok(()),
        false => Err(UseCaseError::EmailNotConfirmed),
    }
}

/// Has a worker sent the link that confirms the address. A job looks whether it is known, so that no
/// answer tells.
pub fn request_worker_confirmation(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (purpose, kind) = (LinkPurpose::ConfirmEmail, PersonKind::Worker);
    request_link(tx, purpose, kind, &worker.to_string(), now)
}

/// Has a link sent to the worker who has confirmed this address, if there is one.
pub fn request_worker_reset(
    tx: &mut Tx<'_>,
    email: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (purpose, kind) = (LinkPurpose::ResetPassword, PersonKind::Worker);
    request_link(tx, purpose, kind, email, now)
}

/// Sends the link that somebody asked for, if there is reason to.
pub(in crate::usecases) fn send_worker_link(
    tx: &mut Tx<'_>,
    purpose: LinkPurpose,
    whom: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    match purpose {
        LinkPurpose::ConfirmEmail => {
            let worker = WorkerId::parse(whom).map(|id| tx.worker(id)).transpose()?;
            let unconfirmed = |worker: &Worker| !worker.email_confirmed && !worker.is_deleted();
            match worker.flatten().filter(unconfirmed) {
                Some(worker) => send_confirmation(tx, &worker, now),
                None => Ok(()),
            }
        }
        LinkPurpose::ResetPassword => send_reset(tx, whom, now),
        // Nobody asks for these without being known.
        LinkPurpose::ChangeEmail | LinkPurpose::SetPassword | LinkPurpose::SignIn => Ok(()),
    }
}

/// If the address is confirmed for another worker, that one is told instead.
fn send_confirmation(tx: &mut Tx<'_>, worker: &Worker, now: Timestamp) -> Result<(), UseCaseError> {
    match tx.worker_by_email(&worker.email)? {
        Some((owner, _)) => {
            let day = now.as_millis() / DAY_MILLIS;
            let occasion = format!("email_known:{}:{day}", owner.id);
            let (kind, text) = (NotificationKind::EmailKnown, notification::email_known());
            notify::worker(tx, owner.id, kind, occasion, text, now)
        }
        None => {
            let person = Person::Worker(worker.id);
            send_link(tx, LinkPurpose::ConfirmEmail, person, &worker.email, now)
        }
    }
}

/// Somebody has followed a link that confirms an address.
pub(in crate::usecases) fn confirm_worker(
    tx: &mut Tx<'_>,
    id: WorkerId,
    link: &MailLink,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    hold_addresses(tx)?;
    let worker = tx.worker_to_change(id)?;
    let worker = worker.filter(|worker| !worker.is_deleted());
    let worker = worker.ok_or(UseCaseError::LinkExpired)?;
    let same = worker.email == link.email;
    if link.purpose == LinkPurpose::ConfirmEmail && !same {
        return Err(UseCaseError::LinkExpired);
    }
    if same && worker.email_confirmed {
        return Ok(());
    }
    take_address(tx, &worker, &link.email, now)?;
    match link.purpose {
        LinkPurpose::ChangeEmail => {
            tell_former_address(tx, &worker, &link.email, now)?;
            recorded(tx, id, "worker.email_changed", now)
        }
        _ => recorded(tx, id, "worker.email_confirmed", now),
    }
}

/// A worker wants another address. With mail, it is theirs once they follow the link that is sent there;
/// without mail, at once. `checked` is as for `worker_with_password`.
pub fn change_worker_email(
    tx: &mut Tx<'_>,
    (id, checked): (WorkerId, &str),
    email: &str,
    sends_mail: bool,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    if sends_mail {
        let worker = worker_with_password(tx, id, checked)?;
        let person = Person::Worker(id);
        send_link(tx, LinkPurpose::ChangeEmail, person, email, now)?;
        return Ok(worker);
    }
    hold_addresses(tx)?;
    let worker = worker_with_password(tx, id, checked)?;
    if worker.email == email && worker.email_confirmed {
        return Ok(worker);
    }
    take_address(tx, &worker, email, now)?;
    tell_former_address(tx, &worker, email, now)?;
    recorded(tx, id, "worker.email_changed", now)?;
    Ok(Worker {
        email: email.to_owned(),
        email_confirmed: true,
        updated_at: now,
        ..worker
    })
}

/// Quiet hours are by the clock of the worker's phone, which moves with daylight saving and with the worker.
pub fn follow_clock(
    tx: &mut Tx<'_>,
    id: WorkerId,
    utc_offset_minutes: i64,
) -> Result<(), UseCaseError> {
    // Settings that are saved at the same time are not overwritten.
    tx.worker_to_change(id)?;
    let mut settings = tx.push_settings(id)?;
    match settings.quiet.as_mut() {
        Some(quiet) if quiet.utc_offset_minutes != utc_offset_minutes => {
            quiet.utc_offset_minutes = utc_offset_minutes;
            Ok(tx.set_push_settings(id, &settings)?)
        }
        _ => Ok(()),
    }
}

/// From here on no other transaction takes an address.
fn hold_addresses(tx: &mut Tx<'_>) -> Result<(), UseCaseError> {
    Ok(tx.hold_addresses(&hex(&ambient::random::<32>()))?)
}

/// The worker gets the address, unless another one has confirmed it. Links that were mailed before are
/// void: whoever reads the mail of the former address must not set the password.
fn take_address(
    tx: &mut Tx<'_>,
    worker: &Worker,
    email: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let owner = tx.worker_by_email(email)?;
    if owner.is_some_and(|(owner, _)| owner.id != worker.id) {
        return Err(UseCaseError::WorkerEmailTaken);
    }
    tx.take_worker_email(worker.id, email, now)?;
    Ok(tx.void_mail_links(Person::Worker(worker.id), now)?)
}

fn tell_former_address(
    tx: &mut Tx<'_>,
    worker: &Worker,
    new: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if !worker.email_confirmed {
        return Ok(());
    }
    let to = (Person::Worker(worker.id), worker.email.as_str());
    let occasion = format!("email_changed:{}:{}", worker.id, now.as_millis());
    let text = notification::email_changed(new);
    notify::address(tx, to, NotificationKind::EmailChanged, occasion, text, now)
}

fn send_reset(tx: &mut Tx<'_>, email: &str, now: Timestamp) -> Result<(), UseCaseError> {
    match tx.worker_by_email(email)? {
        Some((worker, _)) => {
            let person = Person::Worker(worker.id);
            send_link(tx, LinkPurpose::ResetPassword, person, email, now)
        }
        None => Ok(()),
    }
}

/// An operator helps a worker who forgot the password and gets no mail.
pub fn make_worker_reset_link(
    tx: &mut Tx<'_>,
    id: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<MadeLink, UseCaseError> {
    let worker = tx.worker_to_change(id)?;
    let worker = worker.filter(|worker| !worker.is_deleted());
    let worker = worker.ok_or(UseCaseError::WorkerNotFound)?;
    let (person, purpose) = (Person::Worker(id), LinkPurpose::ResetPassword);
    let made = hand_out_link(tx, purpose, person, &worker.email, now)?;
    let (action, id) = ("worker.reset_link_made", id.to_string());
    audit(tx, by, action, "worker", &id, json!({}), now)?;
    Ok(made)
}

/// Somebody has followed a link with which a password is chosen.
pub(in crate::usecases) fn set_linked_worker_password(
    tx: &mut Tx<'_>,
    id: WorkerId,
    link: &MailLink,
    hash: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let worker = tx.worker_to_change(id)?;
    let worker = worker.filter(|worker| worker.email == link.email && !worker.is_deleted());
    let worker = worker.ok_or(UseCaseError::LinkExpired)?;
    store_password(tx, &worker, hash, None, now)
}

/// The worker who has given the password, locked. `checked` is the hash that it was compared with: another one may
/// have been chosen since, to keep out whoever knows the old one.
pub fn worker_with_password(
    tx: &mut Tx<'_>,
    id: WorkerId,
    checked: &str,
) -> Result<Worker, UseCaseError> {
    let worker = tx.worker_to_change(id)?;
    let worker = worker.filter(|worker| !worker.is_deleted());
    let worker = worker.ok_or(UseCaseError::Unauthorized)?;
    match tx.worker_password(id)?.as_deref() == Some(checked) {
        true => Ok(worker),
        false => Err(UseCaseError::WrongPassword),
    }
}

/// A worker who has given the old password chooses a new one. `checked` is as for `worker_with_password`, `token`
/// the one that is kept.
pub fn change_worker_password(
    tx: &mut Tx<'_>,
    id: WorkerId,
    (checked, hash): (&str, &str),
    token: &Secret,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let worker = worker_with_password(tx, id, checked)?;
    store_password(tx, &worker, hash, Some(token), now)
}

fn store_password(
    tx: &mut Tx<'_>,
    worker: &Worker,
    hash: &str,
    kept: Option<&Secret>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.set_worker_password(worker.id, hash)?;
    tx.revoke_worker_tokens(worker.id, kept.map(Secret::hash).as_deref())?;
    tx.revoke_sessions(Person::Worker(worker.id), None)?;
    tx.void_mail_links_for(Person::Worker(worker.id), LinkPurpose::ResetPassword, now)?;
    let occasion = format!("password_changed:{}:{}", worker.id, now.as_millis());
    let text = notification::password_changed();
    let kind = NotificationKind::PasswordChanged;
    notify::worker(tx, worker.id, kind, occasion, text, now)?;
    recorded(tx, worker.id, "worker.password_set", now)
}

/// Comes last in the transaction.
fn recorded(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    action: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (by, id) = (Actor::worker(worker), worker.to_string());
    audit(tx, &by, action, "worker", &id, json!({}), now)
}
