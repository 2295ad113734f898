//! Links that are mailed to a person and work once. Whoever opens one reads the mail of that address.

use std::time::Duration;

use ring::hmac;

use crate::domain::accounts::api_key::hex;
use crate::domain::people::Person;
use crate::domain::string_enum::string_enum;
use crate::domain::{MailLinkId, Secret, Timestamp};

/// The name of the service's secret that tokens are made with.
pub const LINK_SECRET: &str = "mail_links";
/// How many links of one purpose an address gets in the time for which one is good, used ones aside. Whoever
/// asks for more gets no mail.
pub const MAX_FOR_ADDRESS: i64 = 3;
/// The same for one person, to whatever addresses.
pub const MAX_FOR_PERSON: i64 = 10;

string_enum!(LinkPurpose {
    ConfirmEmail = "confirm_email",
    /// Mailed to the new address.
    ChangeEmail = "change_email",
    ResetPassword = "reset_password",
    /// An invitation for whoever has no password yet.
    SetPassword = "set_password",
    /// Printed for the developer of the same machine, and never mailed.
    SignIn = "sign_in",
});

impl LinkPurpose {
    /// How long a link is good.
    pub const fn life(self) -> Duration {
        const HOUR: u64 = 60 * 60;
        Duration::from_secs(match self {
            Self::ConfirmEmail => 72 * HOUR,
            Self::ChangeEmail => 24 * HOUR,
            Self::SignIn => HOUR,
            Self::ResetPassword => HOUR / 2,
            Self::SetPassword => 7 * 24 * HOUR,
        })
    }

    /// The page on which it is used. The token follows after a slash.
    pub const fn page(self) -> &'static str {
        match self {
            Self::ConfirmEmail | Self::ChangeEmail => "/confirm",
            Self::ResetPassword => "/reset",
            Self::SetPassword => "/invite",
            Self::SignIn => "/local",
        }
    }

    /// What the link is called in a mail.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ConfirmEmail | Self::ChangeEmail => "Confirm your e-mail address",
            Self::ResetPassword => "Choose a new password",
            Self::SetPassword => "Choose a password",
            Self::SignIn => "Sign in",
        }
    }
}

#[derive(Clone, Debug)]
pub struct MailLink {
    pub id: MailLinkId,
    pub purpose: LinkPurpose,
    pub person: Person,
    /// The address that the link is mailed to: the new one when it is to be changed.
    pub email: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
    /// It opens nothing any more, and still counts.
    pub voided_at: Option<Timestamp>,
}

impl MailLink {
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.used_at.is_none() && self.voided_at.is_none() && now < self.expires_at
    }
}

/// The token of a link. It is made anew whenever it is needed, so the database holds only its hash.
pub fn token(secret: &str, link: MailLinkId) -> Secret {
    Secret::presented(&signed(secret, &format!("legwork mail link v1\n{link}")))
}

/// What links to an address are counted by. It outlives the address in the database, and tells nobody which
/// one it was.
pub fn address_hash(secret: &str, email: &str) -> String {
    signed(secret, &format!("legwork mail address v1\n{email}"))
}

fn signed(secret: &str, text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hex(hmac::sign(&key, text.as_bytes()).as_ref())
}

/// The occasion of the notification that carries a link.
pub fn occasion(link: MailLinkId) -> String {
    format!("mail_link:{link}")
}

/// The link of a notification, if it carries one.
pub fn of_occasion(occasion: &str) -> Option<MailLinkId> {
    MailLinkId::parse(occasion.strip_prefix("mail_link:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_its_link_and_its_secret() {
        let now = Timestamp::from_millis(1_763_200_000_000);
        let [one, two] = [1, 2].map(|random| MailLinkId::new(now, &[random; 10]));
        let text = token("secret", one).expose().to_owned();
        assert_eq!(text.len(), 64);
        assert_eq!(text, token("secret", one).expose());
        assert_ne!(text, token("secret", two).expose());
        assert_ne!(text, token("other", one).expose());
    }

    #[test]
    fn a_notification_names_its_link() {
        let id = MailLinkId::new(Timestamp::from_millis(1_763_200_000_000), &[1; 10]);
        assert_eq!(of_occasion(&occasion(id)), Some(id));
        assert_eq!(of_occasion("assigned:1"), None);
    }
}
