//! Sessions of people on the pages. They open nothing of the API.

use std::time::Duration;

use crate::domain::people::Person;
use crate::domain::second_factor::ADMIN_SESSION_LIFE;
use crate::domain::{SessionId, Timestamp};

/// A session ends when it was not used for this long,
pub const IDLE_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// and in any case after this long.
pub const WHOLE_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// What is dangerous needs the password again when it was given longer ago.
pub const RECENT: Duration = Duration::from_secs(10 * 60);
/// The time of the last use is written this often at most.
pub const SEEN_EVERY: Duration = Duration::from_secs(60);
/// How many sessions a person has. One more ends the oldest.
pub const MAX_FOR_PERSON: i64 = 50;
const MAX_USER_AGENT: usize = 300;
const MAX_ADDRESS: usize = 64;

#[derive(Clone, Debug)]
pub struct Session {
    pub id: SessionId,
    pub person: Person,
    pub created_at: Timestamp,
    /// When the password was last given.
    pub signed_in_at: Timestamp,
    pub last_seen_at: Timestamp,
    /// Moves with every use, up to `ends_at`.
    pub expires_at: Timestamp,
    pub ends_at: Timestamp,
    pub origin: Origin,
    /// Whether a code was given.
    pub second_factor: bool,
}

/// Where a session came from, for the person to recognise it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    address: String,
    user_agent: String,
}

impl Origin {
    /// Cuts what is too long: a browser may send anything.
    pub fn new(address: &str, user_agent: &str) -> Self {
        let cut = |text: &str, most: usize| {
            let kept = text.chars().filter(|c| !c.is_control()).take(most);
            kept.collect()
        };
        Self {
            address: cut(address, MAX_ADDRESS),
            user_agent: cut(user_agent, MAX_USER_AGENT),
        }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }
}

impl Session {
    /// That of an admin ends as soon as one for the API does.
    pub fn begin(id: SessionId, person: Person, origin: Origin, now: Timestamp) -> Self {
        let ends_at = now.plus(match person {
            Person::Admin(_) => ADMIN_SESSION_LIFE,
            Person::Account(_) | Person::Worker(_) => WHOLE_LIFE,
        });
        Self {
            id,
            person,
            created_at: now,
            signed_in_at: now,
            last_seen_at: now,
            expires_at: now.plus(IDLE_LIFE).min(ends_at),
            ends_at,
            origin,
            second_factor: false,
        }
    }

    /// The session after it was used, if that is worth writing.
    pub fn seen(&self, now: Timestamp) -> Option<Self> {
        (now >= self.last_seen_at.plus(SEEN_EVERY)).then(|| Self {
            last_seen_at: now,
            expires_at: now.plus(IDLE_LIFE).min(self.ends_at),
            ..self.clone()
        })
    }

    /// Whether the password was given in the last minutes.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        now < self.signed_in_at.plus(RECENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AccountId;

    const BEGIN: Timestamp = Timestamp::from_millis(1_763_200_000_000);

    fn session() -> Session {
        let person = Person::Account(AccountId::new(BEGIN, &[1; 10]));
        let id = SessionId::new(BEGIN, &[2; 10]);
        Session::begin(id, person, Origin::default(), BEGIN)
    }

    #[test]
    fn use_prolongs_a_session_up_to_its_end() {
        let begun = session();
        assert!(begun.seen(BEGIN.plus(Duration::from_secs(59))).is_none());
        let day = Duration::from_secs(24 * 60 * 60);
        let used = begun.seen(BEGIN.plus(day)).unwrap();
        assert_eq!(used.expires_at, BEGIN.plus(day).plus(IDLE_LIFE));
        let late = used.seen(BEGIN.plus(day.saturating_mul(29))).unwrap();
        assert_eq!(late.expires_at, begun.ends_at);
    }

    #[test]
    fn a_session_of_an_admin_ends_after_twelve_hours() {
        let person = Person::Admin(crate::domain::AdminKeyId::new(BEGIN, &[1; 10]));
        let id = SessionId::new(BEGIN, &[2; 10]);
        let begun = Session::begin(id, person, Origin::default(), BEGIN);
        let end = BEGIN.plus(Duration::from_secs(12 * 60 * 60));
        assert_eq!((begun.expires_at, begun.ends_at), (end, end));
        let used = begun.seen(BEGIN.plus(Duration::from_secs(3_600))).unwrap();
        assert_eq!(used.expires_at, end);
    }

    #[test]
    fn a_password_is_recent_for_ten_minutes() {
        let begun = session();
        assert!(begun.is_recent(BEGIN.plus(Duration::from_secs(599))));
        assert!(!begun.is_recent(BEGIN.plus(RECENT)));
    }

    #[test]
    fn what_a_browser_says_of_itself_is_cut() {
        let origin = Origin::new("192.0.2.1", &"é\n".repeat(1_000));
        assert_eq!(origin.user_agent(), "é".repeat(MAX_USER_AGENT));
    }
}
