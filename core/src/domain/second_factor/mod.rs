//! The second factor: codes of an authenticator app (TOTP), passkeys, and recovery codes.

mod base32;
pub mod passkeys;
pub mod qr;
pub mod recovery;
pub mod totp;

use std::time::Duration;

use crate::domain::rules::TextRule;
use crate::domain::string_enum::string_enum;
use crate::domain::{Person, PersonKind, Secret, Timestamp};
use totp::TotpSecret;

/// How many wrong codes a factor takes in a window. After that, only recovery codes count until the
/// window ends: those are too long to guess, so the owner is not locked out.
const MAX_WRONG_CODES: i64 = 10;
const WRONG_CODE_WINDOW: Duration = Duration::from_secs(15 * 60);

/// How long a session of an admin is good.
pub const ADMIN_SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);

string_enum!(
    /// Who needs a second factor.
    RequiredFactor {
        Nobody = "none",
        Admins = "admins",
        All = "all",
    }
);

impl RequiredFactor {
    /// Whether this kind of person needs a factor. API keys of an account belong to programs, which never
    /// do.
    pub const fn of(self, holder: Person) -> bool {
        match (self, holder) {
            (Self::Nobody, _) => false,
            (Self::Admins, Person::Admin(_)) | (Self::All, _) => true,
            (Self::Admins, _) => false,
        }
    }
}

/// The name under which a factor is stored: `worker:019a85a1d2c37b44a1b2c3d4e5f60718`.
pub fn name_of(holder: Person) -> String {
    format!("{}:{}", holder.kind(), holder.id())
}

/// Whose name it is.
pub fn holder_of(name: &str) -> Option<Person> {
    let (kind, id) = name.split_once(':')?;
    Person::parse(PersonKind::parse(kind)?, id)
}

/// A code as somebody typed it.
#[derive(Clone, Debug)]
pub enum GivenCode {
    /// Six digits.
    App(Secret),
    /// Anything else.
    Recovery(Secret),
}

impl GivenCode {
    pub const RULE: TextRule<Self> = TextRule {
        min: 1,
        max: 40,
        pattern: None,
        format: None,
        check: |rule, text| rule.text(text).map(|text| Self::read(&text)),
    };

    /// Spaces, dashes and capitals do not matter.
    fn read(text: &str) -> Self {
        let kept = |c: &char| !c.is_whitespace() && *c != '-';
        let text: String = text.chars().filter(kept).collect();
        let text = text.to_ascii_lowercase();
        if text.len() == totp::DIGITS && text.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::App(Secret::presented(&text))
        } else {
            Self::Recovery(Secret::presented(&text))
        }
    }
}

/// The factor of somebody. It counts once a right code has turned it on.
#[derive(Clone, Debug)]
pub struct SecondFactor {
    pub secret: TotpSecret,
    pub enabled_at: Option<Timestamp>,
    /// The step of the last code that was used. No code of it or of an earlier one counts again.
    pub last_step: i64,
    pub wrong: WrongCodes,
}

/// Wrong codes since the window began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrongCodes {
    pub count: i64,
    pub since: Option<Timestamp>,
}

impl WrongCodes {
    /// The count after one more.
    pub fn and_one(self, now: Timestamp) -> Self {
        match self.window_end(now) {
            Some(_) => Self {
                count: self.count + 1,
                ..self
            },
            None => Self {
                count: 1,
                since: Some(now),
            },
        }
    }

    /// Until when no code of the app is looked at.
    pub fn blocked_until(self, now: Timestamp) -> Option<Timestamp> {
        self.window_end(now)
            .filter(|_| self.count >= MAX_WRONG_CODES)
    }

    fn window_end(self, now: Timestamp) -> Option<Timestamp> {
        let end = self.since?.plus(WRONG_CODE_WINDOW);
        Some(end).filter(|end| now < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AccountId, AdminKeyId, WorkerId};

    #[test]
    fn a_code_is_read_whatever_its_spaces_and_dashes() {
        let read = |text| match GivenCode::read(text) {
            GivenCode::App(code) => format!("app {}", code.expose()),
            GivenCode::Recovery(code) => format!("recovery {}", code.expose()),
        };
        assert_eq!(read("123 456"), "app 123456");
        assert_eq!(read("12345"), "recovery 12345");
        assert_eq!(read("12345６"), "recovery 12345６");
        assert_eq!(read(" ABCD-efgh ijkl-2345"), "recovery abcdefghijkl2345");
        assert!(GivenCode::RULE.check(" ").is_err());
        assert!(GivenCode::RULE.check(&"1".repeat(41)).is_err());
    }

    #[test]
    fn wrong_codes_count_for_a_window() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let mut wrong = WrongCodes::default();
        for second in 0..10 {
            assert_eq!(wrong.blocked_until(at(second)), None);
            wrong = wrong.and_one(at(second));
        }
        assert_eq!(wrong.blocked_until(at(10)), Some(at(900)));
        assert_eq!(wrong.blocked_until(at(899)), Some(at(900)));
        assert_eq!(wrong.blocked_until(at(900)), None);
        let anew = WrongCodes {
            count: 1,
            since: Some(at(900)),
        };
        assert_eq!(wrong.and_one(at(900)), anew);
    }

    #[test]
    fn the_setting_says_who_needs_a_factor() {
        let (now, random) = (Timestamp::from_millis(1), [1; 10]);
        let people = [
            Person::Account(AccountId::new(now, &random)),
            Person::Worker(WorkerId::new(now, &random)),
            Person::Admin(AdminKeyId::new(now, &random)),
        ];
        let need = |required: RequiredFactor| people.map(|holder| required.of(holder));
        assert_eq!(need(RequiredFactor::Nobody), [false, false, false]);
        assert_eq!(need(RequiredFactor::Admins), [false, false, true]);
        assert_eq!(need(RequiredFactor::All), [true, true, true]);
    }
}
