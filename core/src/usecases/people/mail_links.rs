//! Links that are mailed to people and work once.

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::events::notification;
use crate::domain::people::mail_link::{
    self, LINK_SECRET, MAX_FOR_ADDRESS, MAX_FOR_PERSON, occasion,
};
use crate::domain::{LinkPurpose, MailLink, MailLinkId, Person, Secret, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;

/// A link, and the token that opens it.
#[derive(Clone, Debug)]
pub struct MadeLink {
    pub link: MailLink,
    pub token: Secret,
}

impl MadeLink {
    /// The path of the page on which it is used. It is secret.
    pub fn path(&self) -> String {
        format!("{}/{}", self.link.purpose.page(), self.token.expose())
    }
}

/// Makes a link. None if the person or the address had enough of them lately.
pub fn make_link(
    tx: &mut Tx<'_>,
    purpose: LinkPurpose,
    person: Person,
    email: &str,
    now: Timestamp,
) -> Result<Option<MadeLink>, UseCaseError> {
    let secret = tx.service_secret(LINK_SECRET, &hex(&ambient::random::<32>()))?;
    let address = mail_link::address_hash(&secret, email);
    if tx.count_links_for_address(&address, purpose, now)? >= MAX_FOR_ADDRESS
        || tx.count_links_for_person(person, purpose, now)? >= MAX_FOR_PERSON
    {
        return Ok(None);
    }
    let link = new_link(purpose, person, email, now);
    let token = mail_link::token(&secret, link.id);
    tx.add_mail_link(&link, &token.hash(), Some(&address))?;
    Ok(Some(MadeLink { link, token }))
}

/// Makes a link for an operator to hand over. It needs no limit, and takes nothing from that of the address.
pub(in crate::usecases) fn hand_out_link(
    tx: &mut Tx<'_>,
    purpose: LinkPurpose,
    person: Person,
    email: &str,
    now: Timestamp,
) -> Result<MadeLink, UseCaseError> {
    tx.void_mail_links_for(person, purpose, now)?;
    let secret = tx.service_secret(LINK_SECRET, &hex(&ambient::random::<32>()))?;
    let link = new_link(purpose, person, email, now);
    let token = mail_link::token(&secret, link.id);
    tx.add_mail_link(&link, &token.hash(), None)?;
    Ok(MadeLink { link, token })
}

fn new_link(purpose: LinkPurpose, person: Person, email: &str, now: Timestamp) -> MailLink {
    MailLink {
        id: MailLinkId::new(now, &ambient::random()),
        purpose,
        person,
        email: email.to_owned(),
        created_at: now,
        expires_at: now.plus(purpose.life()),
        used_at: None,
        voided_at: None,
    }
}

/// Makes a link and has it mailed to `email`. Nothing happens if there were enough of them: whoever
/// asks cannot tell, and cannot fill somebody's mailbox.
pub fn send_link(
    tx: &mut Tx<'_>,
    purpose: LinkPurpose,
    person: Person,
    email: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if let Some(made) = make_link(tx, purpose, person, email, now)? {
        mail_link(tx, &made.link, now)?;
    }
    Ok(())
}

/// Has a link mailed. The notification names the link and does not hold its token.
pub(in crate::usecases) fn mail_link(
    tx: &mut Tx<'_>,
    link: &MailLink,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (kind, text) = notification::mail_link(link.purpose);
    let to = (link.person, link.email.as_str());
    notify::address(tx, to, kind, occasion(link.id), text, now)
}

/// The link and its token, when it is about to be mailed. None if it is no longer good.
pub fn token_to_mail(
    tx: &mut Tx<'_>,
    id: MailLinkId,
    now: Timestamp,
) -> Result<Option<MadeLink>, UseCaseError> {
    let link = tx.mail_link(id)?.filter(|link| link.is_good(now));
    let secret = tx.find_service_secret(LINK_SECRET)?;
    let (Some(link), Some(secret)) = (link, secret) else {
        return Ok(None);
    };
    let token = mail_link::token(&secret, id);
    Ok(Some(MadeLink { link, token }))
}

/// The link with this token. It stays unused.
pub fn good_link(
    tx: &mut Tx<'_>,
    token: &Secret,
    purposes: &[LinkPurpose],
    now: Timestamp,
) -> Result<MailLink, UseCaseError> {
    let link = tx.mail_link_by_token(&token.hash())?;
    link.filter(|link| purposes.contains(&link.purpose) && link.is_good(now))
        .ok_or(UseCaseError::LinkExpired)
}

/// Uses a link up. Of two who redeem it at the same time, one is told that it was used.
pub fn redeem_link(
    tx: &mut Tx<'_>,
    token: &Secret,
    purposes: &[LinkPurpose],
    now: Timestamp,
) -> Result<MailLink, UseCaseError> {
    let link = good_link(tx, token, purposes, now)?;
    tx.use_mail_link(link.id, now)?;
    Ok(link)
}
