//! New passwords in request bodies.

use crate::api::request::fields::Fields;
use crate::domain::people::password::{PASSWORD, REVEALS_ADDRESS, reveals_address};

impl Fields<'_> {
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
