//! Confirms and changes the address of an account.

use serde_json::json;

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::events::notification;
use crate::domain::{
    Account, AccountId, AccountStatus, Actor, LinkPurpose, MailLink, NotificationKind, Person,
    Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::events::notify;
use crate::usecases::people::send_link;

/// Somebody has followed a link that confirms an address.
pub(in crate::usecases) fn confirm_account(
    tx: &mut Tx<'_>,
    id: AccountId,
    link: &MailLink,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    hold_addresses(tx)?;
    let account = living(tx, id)?;
    let same = account.email == link.email;
    if link.purpose == LinkPurpose::ConfirmEmail && !same {
        return Err(UseCaseError::LinkExpired);
    }
    if same && account.email_confirmed {
        return Ok(());
    }
    take_address(tx, &account, &link.email, now)?;
    let action = match link.purpose {
        LinkPurpose::ChangeEmail => {
            tell_former_address(tx, &account, &link.email, now)?;
            "account.email_changed"
        }
        _ => "account.email_confirmed",
    };
    let by = Actor::account(id);
    audit(tx, &by, action, "account", &id.to_string(), json!({}), now)
}

/// Somebody who is signed in wants another address. With mail, it is theirs once they follow the link
/// that is sent there; without mail, at once.
pub fn change_email(
    tx: &mut Tx<'_>,
    id: AccountId,
    email: &str,
    sends_mail: bool,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if sends_mail {
        let person = Person::Account(id);
        return send_link(tx, LinkPurpose::ChangeEmail, person, email, now);
    }
    hold_addresses(tx)?;
    let account = living(tx, id)?;
    take_address(tx, &account, email, now)?;
    // No mail is sent now. It is there for an operator, and for a mail server that is set later.
    tell_former_address(tx, &account, email, now)?;
    let (by, id) = (Actor::account(id), id.to_string());
    audit(
        tx,
        &by,
        "account.email_changed",
        "account",
        &id,
        json!({}),
        now,
    )
}

/// From here on no other transaction takes an address.
pub(super) fn hold_addresses(tx: &mut Tx<'_>) -> Result<(), UseCaseError> {
    Ok(tx.hold_addresses(&hex(&ambient::random::<32>()))?)
}

/// The account, locked. A link to one that was deleted is worth nothing.
pub(super) fn living(tx: &mut Tx<'_>, id: AccountId) -> Result<Account, UseCaseError> {
    let account = tx.account_to_change(id)?;
    account
        .filter(|account| account.status != AccountStatus::Deleted)
        .ok_or(UseCaseError::LinkExpired)
}

/// The account gets the address, unless another one has confirmed it. Links that were mailed before
/// are void: whoever reads the mail of the former address must not set the password.
pub(super) fn take_address(
    tx: &mut Tx<'_>,
    account: &Account,
    email: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let owner = tx.account_by_email(email)?;
    if owner.is_some_and(|owner| owner.id != account.id) {
        return Err(UseCaseError::EmailTaken);
    }
    tx.take_email(account, email, now)?;
    Ok(tx.void_mail_links(Person::Account(account.id), now)?)
}

fn tell_former_address(
    tx: &mut Tx<'_>,
    account: &Account,
    new: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if !account.email_confirmed {
        return Ok(());
    }
    let to = (Person::Account(account.id), account.email.as_str());
    let occasion = format!("email_changed:{}:{}", account.id, now.as_millis());
    let text = notification::email_changed(new);
    notify::address(tx, to, NotificationKind::EmailChanged, occasion, text, now)
}
