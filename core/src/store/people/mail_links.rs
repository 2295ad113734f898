//! Links that were mailed to people. The token is never here, only its hash.

use crate::domain::people::mail_link::{LinkPurpose, MailLink};
use crate::domain::{MailLinkId, Person, Timestamp};
use crate::store::people::person;
use crate::store::{StoreError, Tx, columns};

columns! {
    macro link;
    table mail_links;
    fn link_values<'a>(link: &'a MailLink, token_hash: &'a str, email_hash: &'a str);
    columns {
        id: link.id,
        purpose: link.purpose,
        person_kind: link.person.kind(),
        person_id: link.person.id(),
        email: &link.email,
        created_at: link.created_at,
        expires_at: link.expires_at,
        used_at: link.used_at,
        voided_at: link.voided_at,
    }
    inserted { token_hash: token_hash, email_hash: email_hash }
    row MailLink = MailLink {
        id,
        purpose,
        person: person(person_kind, person_id)?,
        email,
        created_at,
        expires_at,
        used_at,
        voided_at,
    };
}

crate::store::statements! {
    ADD = link!(insert);
    ONE = concat!("SELECT ", link!(columns), " FROM mail_links WHERE id = ?1");
    BY_TOKEN = concat!("SELECT ", link!(columns), " FROM mail_links WHERE token_hash = ?1");
    USE = "UPDATE mail_links SET used_at = ?2 WHERE id = ?1 AND used_at IS NULL
        AND voided_at IS NULL AND expires_at > ?2";
    /// Those that were voided count too: otherwise whoever deletes an account could have more mailed.
    FOR_PERSON = "SELECT COUNT(*) FROM mail_links
        WHERE person_kind = ?1 AND person_id = ?2 AND purpose = ?3
            AND used_at IS NULL AND expires_at > ?4";
    FOR_ADDRESS = "SELECT COUNT(*) FROM mail_links
        WHERE email_hash = ?1 AND purpose = ?2 AND used_at IS NULL AND expires_at > ?3";
    VOID_FOR_PURPOSE = "UPDATE mail_links SET voided_at = ?4, email = ''
        WHERE person_kind = ?1 AND person_id = ?2 AND purpose = ?3
            AND used_at IS NULL AND voided_at IS NULL";
    /// A link that confirms an address stays: it proves the mailbox, for whoever signed up with it.
    VOID = "UPDATE mail_links SET voided_at = COALESCE(voided_at, ?3), email = ''
        WHERE person_kind = ?1 AND person_id = ?2
            AND (purpose <> 'confirm_email' OR used_at IS NOT NULL)";
    DROP_ALL = "DELETE FROM mail_links WHERE person_kind = ?1 AND person_id = ?2";
    PRUNE = "DELETE FROM mail_links WHERE id IN (
            SELECT id FROM mail_links WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 500)";
}

impl Tx<'_> {
    /// A link without the hash of its address does not count for the address.
    pub fn add_mail_link(
        &mut self,
        link: &MailLink,
        token_hash: &str,
        email_hash: Option<&str>,
    ) -> Result<(), StoreError> {
        let email_hash = email_hash.unwrap_or_default();
        self.defer(ADD, &link_values(link, token_hash, email_hash))
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

    /// How many links of a purpose a person got that are not used and would still be good.
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

    /// The same for an address.
    pub fn count_links_for_address(
        &mut self,
        email_hash: &str,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let count = self.optional(
            FOR_ADDRESS,
            &[email_hash.into(), purpose.into(), now.into()],
        )?;
        Ok(count.unwrap_or(0))
    }

    /// Voids all links of a person for one purpose.
    pub fn void_mail_links_for(
        &mut self,
        person: Person,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (kind, id) = (person.kind().into(), person.id().into());
        self.defer(VOID_FOR_PURPOSE, &[kind, id, purpose.into(), now.into()])
    }

    /// Voids all links of a person but those that confirm an address, and forgets the addresses.
    pub fn void_mail_links(&mut self, person: Person, now: Timestamp) -> Result<(), StoreError> {
        let (kind, id) = (person.kind().into(), person.id().into());
        self.defer(VOID, &[kind, id, now.into()])
    }

    /// Deletes all links of a person who was deleted so long ago that none of them would be good.
    pub fn drop_all_mail_links(&mut self, person: Person) -> Result<(), StoreError> {
        self.defer(DROP_ALL, &[person.kind().into(), person.id().into()])
    }

    /// Deletes a batch of expired links; returns how many.
    pub fn prune_mail_links(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[before.into()])
    }
}
