//! Links that were mailed to people. The token is never here, only its hash.

use crate::domain::people::mail_link::{LinkPurpose, MailLink};
use crate::domain::{MailLinkId, Person, Timestamp};
use crate::store::people::person;
use crate::store::{StoreError, Tx, columns};

columns! {
    macro link;
    table mail_links;
    fn link_values<'a>(link: &'a MailLink, token_hash: &'a str);
    columns {
        id: link.id,
        purpose: link.purpose,
        person_kind: link.person.kind(),
        person_id: link.person.id(),
        email: &link.email,
        created_at: link.created_at,
        expires_at: link.expires_at,
        used_at: link.used_at,
    }
    inserted { token_hash: token_hash }
    row MailLink = MailLink {
        id,
        purpose,
        person: person(person_kind, person_id)?,
        email,
        created_at,
        expires_at,
        used_at,
    };
}

crate::store::statements! {
    ADD = link!(insert);
    ONE = concat!("SELECT ", link!(columns), " FROM mail_links WHERE id = ?1");
    BY_TOKEN = concat!("SELECT ", link!(columns), " FROM mail_links WHERE token_hash = ?1");
    USE = "UPDATE mail_links SET used_at = ?2 WHERE id = ?1 AND used_at IS NULL AND expires_at > ?2";
    FOR_PERSON = "SELECT COUNT(*) FROM mail_links
        WHERE person_kind = ?1 AND person_id = ?2 AND purpose = ?3
            AND used_at IS NULL AND expires_at > ?4";
    FOR_ADDRESS = "SELECT COUNT(*) FROM mail_links
        WHERE email = ?1 AND purpose = ?2 AND used_at IS NULL AND expires_at > ?3";
    DROP_FOR_PURPOSE = "DELETE FROM mail_links
        WHERE person_kind = ?1 AND person_id = ?2 AND purpose = ?3";
    DROP_ALL = "DELETE FROM mail_links WHERE person_kind = ?1 AND person_id = ?2";
    PRUNE = "DELETE FROM mail_links WHERE id IN (
            SELECT id FROM mail_links WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 500)";
}

impl Tx<'_> {
    pub fn add_mail_link(&mut self, link: &MailLink, token_hash: &str) -> Result<(), StoreError> {
        self.defer(ADD, &link_values(link, token_hash))
    }

    pub fn mail_link(&mut self, id: MailLinkId) -> Result<Option<MailLink>, StoreError> {
        self.optional(ONE, &[id.into()])
    }

    /// The link with this token, whether or not it is still good.
    pub fn mail_link_by_token(&mut self, token_hash: &str) -> Result<Option<MailLink>, StoreError> {
        self.optional(BY_TOKEN, &[token_hash.into()])
    }

    /// A collision if the link was used meanwhile.
    pub fn use_mail_link(&mut self, id: MailLinkId, now: Timestamp) -> Result<(), StoreError> {
        self.execute_one(USE, &[id.into(), now.into()])
    }

    /// How many good links of a purpose a person has.
    pub fn count_links_for_person(
        &mut self,
        person: Person,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let (kind, id) = (person.kind().into(), person.id().into());
        let count = self.optional(FOR_PERSON, &[kind, id, purpose.into(), now.into()])?;
        Ok(count.unwrap_or(0))
    }

    /// How many good links of a purpose were mailed to an address.
    pub fn count_links_for_address(
        &mut self,
        email: &str,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let count = self.optional(FOR_ADDRESS, &[email.into(), purpose.into(), now.into()])?;
        Ok(count.unwrap_or(0))
    }

    /// Deletes all links of a person for one purpose.
    pub fn drop_mail_links(
        &mut self,
        person: Person,
        purpose: LinkPurpose,
    ) -> Result<(), StoreError> {
        let (kind, id) = (person.kind().into(), person.id().into());
        self.defer(DROP_FOR_PURPOSE, &[kind, id, purpose.into()])
    }

    /// Deletes all links of a person.
    pub fn drop_all_mail_links(&mut self, person: Person) -> Result<(), StoreError> {
        self.defer(DROP_ALL, &[person.kind().into(), person.id().into()])
    }

    /// Deletes a batch of expired links; returns how many.
    pub fn prune_mail_links(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[before.into()])
    }
}
