//! Passwords in request bodies.

use crate::api::request::fields::Fields;
use crate::domain::people::password::{PASSWORD, REVEALS_ADDRESS, reveals_address};
use crate::domain::rules::TextRule;

/// Wide enough for every password that was ever taken.
const ANY_PASSWORD: TextRule = TextRule::plain(1, 1_000);

impl Fields<'_> {
    /// A password that is to be compared with the stored one.
    pub fn present_password(&mut self, name: &'static str) -> Option<String> {
        self.text(name, &ANY_PASSWORD)
    }

    /// A new password for the holder of an address, if that is known here.
    pub fn password(&mut self, name: &'static str, email: Option<&str>) -> Option<String> {
        let password = self.text(name, &PASSWORD)?;
        if email.is_some_and(|email| reveals_address(&password, email)) {
            self.refuse(name, REVEALS_ADDRESS);
            return None;
        }
        Some(password)
    }
}
