//! Exports: archives of everything that is held about a person.

use std::time::Duration;

use crate::domain::people::Person;
use crate::domain::string_enum::string_enum;
use crate::domain::{ExportId, Timestamp};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long an export can be downloaded.
pub const KEPT: Duration = DAY.saturating_mul(7);
/// How many exports a person can ask for in the time below.
pub const MAX_A_DAY: i64 = 3;
pub const WINDOW: Duration = DAY;

string_enum!(ExportStatus {
    /// A job is making it.
    Preparing = "preparing",
    Ready = "ready",
    /// It could not be made. Ask for another one.
    Failed = "failed",
});

#[derive(Clone, Debug)]
pub struct Export {
    pub id: ExportId,
    pub person: Person,
    pub status: ExportStatus,
    /// How far the job has come. Only the job can read it.
    pub place: String,
    pub created_at: Timestamp,
    pub ready_at: Option<Timestamp>,
    /// When its files are deleted.
    pub expires_at: Timestamp,
}

impl Export {
    pub fn new(id: ExportId, person: Person, now: Timestamp) -> Self {
        Self {
            id,
            person,
            status: ExportStatus::Preparing,
            place: String::new(),
            created_at: now,
            ready_at: None,
            expires_at: now.plus(KEPT),
        }
    }
}

/// A ZIP file of an export. Large exports have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPart {
    pub number: i64,
    /// The key of the stored file.
    pub key: String,
    pub size_bytes: i64,
    /// In hex.
    pub sha256: String,
}

/// When another export may be asked for, if the given ones, newest first, are all of the last day.
pub fn next_at(newest_first: &[Export], now: Timestamp) -> Option<Timestamp> {
    let recent = newest_first
        .iter()
        .filter(|e| now.since(e.created_at) < WINDOW);
    let last = recent.take(MAX_A_DAY as usize).nth(MAX_A_DAY as usize - 1);
    last.map(|export| export.created_at.plus(WINDOW))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::WorkerId;

    #[test]
    fn so_many_a_day_may_be_asked_for() {
        let now = Timestamp::from_millis(1_763_200_000_000);
        let person = Person::Worker(WorkerId::new(now, &[1; 10]));
        let ago = |hours: u64| {
            let at = now.minus(Duration::from_secs(hours * 60 * 60));
            Export::new(ExportId::new(at, &[2; 10]), person, at)
        };
        assert_eq!(next_at(&[], now), None);
        assert_eq!(next_at(&[ago(1), ago(2)], now), None);
        assert_eq!(next_at(&[ago(1), ago(2), ago(24)], now), None);
        let next = now.plus(Duration::from_secs(60 * 60));
        assert_eq!(next_at(&[ago(1), ago(2), ago(23)], now), Some(next));
        let next = now.plus(Duration::from_secs(21 * 60 * 60));
        assert_eq!(next_at(&[ago(1), ago(2), ago(3), ago(4)], now), Some(next));
    }
}
