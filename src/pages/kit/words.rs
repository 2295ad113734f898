//! Money, time and statuses in words.

use std::borrow::Borrow;

use crate::domain::money::amount;
pub use crate::domain::money::amount::grouped;
use crate::domain::{EventType, Timestamp};

/// `$1,234.56`
pub fn dollars(cents: impl Borrow<i64>) -> String {
    amount::dollars(*cents.borrow())
}

/// A moment for people: how long ago, and exactly.
#[derive(Clone, Debug, Default)]
pub struct When {
    pub iso: String,
    pub exact: String,
    pub relative: String,
    /// What the clock says by which it was made, where that is not the clock of the page.
    pub now: Option<String>,
}

impl When {
    pub fn new(at: Timestamp, now: Timestamp) -> Self {
        let iso = at.to_string();
        let mut exact = String::with_capacity(20);
        for part in [iso.get(..10), Some(" "), iso.get(11..16), Some(" UTC")] {
            exact.push_str(part.unwrap_or_default());
        }
        Self {
            exact,
            relative: relative(at, now),
            iso,
            now: None,
        }
    }

    /// Of a moment as the API writes it.
    pub fn parse(text: &str, now: Timestamp) -> Self {
        match Timestamp::RULE.check(text) {
            Ok(at) => Self::new(at, now),
            Err(_) => Self::default(),
        }
    }
}

fn relative(at: Timestamp, now: Timestamp) -> String {
    let millis = at.as_millis() - now.as_millis();
    let seconds = millis.unsigned_abs() / 1_000;
    let (count, unit, plural) = largest_unit(rounded(seconds));
    match (seconds, millis > 0) {
        (0..=4, _) => "now".to_owned(),
        (_, true) => format!("in {count} {unit}{plural}"),
        (_, false) => format!("{count} {unit}{plural} ago"),
    }
}

/// Down to its largest unit, since nobody is to think that there is more time than there is. But shortly after seven days
/// began, they are seven days and not six.
pub fn rounded(seconds: u64) -> u64 {
    let (size, _) = unit_of(seconds);
    (seconds + size / 50) / size * size
}

/// The largest unit that fits: `5 minutes`, `3 days`.
pub fn duration(seconds: u64) -> String {
    let (count, unit, plural) = largest_unit(seconds);
    format!("{count} {unit}{plural}")
}

fn unit_of(seconds: u64) -> (u64, &'static str) {
    const UNITS: [(u64, &str); 4] = [
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let unit = UNITS.iter().find(|(size, _)| seconds >= *size);
    unit.copied().unwrap_or((1, "second"))
}

fn largest_unit(seconds: u64) -> (u64, &'static str, &'static str) {
    let (size, name) = unit_of(seconds);
    let count = seconds / size;
    (count, name, if count == 1 { "" } else { "s" })
}

/// An id as it stands in a path. What is no id stays none.
pub fn segment(id: &str) -> String {
    form_urlencoded::byte_serialize(id.as_bytes()).collect()
}

/// A text inside of HTML that no template writes.
pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' | '>' | '&' | '"' | '\'' => {
                html.push_str(&format!("&#{};", u32::from(letter)));
            }
            _ => html.push(letter),
        }
    }
    html
}

/// Every kind of event, for the script that listens to them.
pub fn event_types() -> String {
    let types: Vec<_> = EventType::ALL.iter().map(|one| one.as_str()).collect();
    types.join(" ")
}

/// `in_progress` as `In progress`.
pub fn spaced(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    let letters = word.chars();
    text.extend(letters.map(|letter| if letter == '_' { ' ' } else { letter }));
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// What a status means for whoever looks: the colour of its badge. The word is always there too.
pub fn tone(status: &str) -> &'static str {
    match status {
        "completed" | "approved" | "active" | "delivered" | "succeeded" | "paid" | "verified"
        | "ready" => "good",
        "proof_submitted" | "pending" | "waiting" | "disputed" | "in_review" | "failing"
        | "paused" | "processing" | "preparing" | "requires_payment" => "wait",
        "rejected" | "refused" | "proof_rejected" | "failed" | "cancelled" | "expired"
        | "suspended" | "revoked" | "exhausted" | "dead" => "bad",
        _ => "plain",
    }
}

/// `12.3 MB`
pub fn bytes(count: impl Borrow<i64>) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (count.borrow().unsigned_abs() as f64, 0);
    while size >= 1_000.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1_000.0, unit + 1);
    }
    match unit {
        0 => format!("{size} B"),
        _ => format!("{size:.1} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_by_their_largest_unit() {
        let now = Timestamp::RULE.check("2026-11-16T12:00:00Z").unwrap();
        let told = |text: &str| When::parse(text, now).relative;
        assert_eq!(told("2026-11-16T12:00:02Z"), "now");
        assert_eq!(told("2026-11-16T11:59:00Z"), "1 minute ago");
        assert_eq!(told("2026-11-19T12:00:00Z"), "in 3 days");
        assert_eq!(told("2026-11-23T11:59:58Z"), "in 7 days");
        assert_eq!(told("2026-11-16T12:59:59Z"), "in 1 hour");
        // Never more time than there is.
        assert_eq!(told("2026-11-18T00:00:00Z"), "in 1 day");
        let when = When::parse("2026-11-16T09:30:15.250Z", now);
        assert_eq!(
            (when.exact.as_str(), when.relative.as_str()),
            ("2026-11-16 09:30 UTC", "2 hours ago")
        );
    }

    #[test]
    fn sizes_and_words_are_readable() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(spaced("proof_submitted"), "Proof submitted");
        assert_eq!(spaced(""), "");
    }
}
