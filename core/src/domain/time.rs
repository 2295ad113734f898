//! A timestamp: milliseconds since the Unix epoch in UTC, written `2026-11-15T09:30:00.123Z`.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::domain::rules::TextRule;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The first and the last that four digits of a year can write.
const FIRST: Timestamp = Timestamp(-62_167_219_200_000);
const LAST: Timestamp = Timestamp(253_402_300_799_999);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0 + duration.as_millis() as i64)
    }

    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0 - duration.as_millis() as i64)
    }

    /// The time since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// An ISO 8601 / RFC 3339 datetime; without an offset it is taken as UTC.
    pub const RULE: TextRule<Self> = TextRule {
        min: 1,
        max: 100,
        pattern: None,
        format: Some("date-time"),
        check: |_, text| {
            Self::parse(text).ok_or_else(|| {
                "must be an ISO 8601 datetime such as 2026-11-15T09:30:00Z".to_owned()
            })
        },
    };

    fn parse(text: &str) -> Option<Self> {
        // jiff reads a bare date as midnight, and accepts annotations such as "[Europe/Paris]". The
        // API allows neither. Nor do its moments reach as far as its calendar: 9999-12-31 is what many write
        // for "never".
        let time = text.find(['T', 't', ' '])? + 1;
        let offset = text[time..].find(['+', '-', 'Z', 'z']);
        let offset = offset.map_or(text.len(), |place| time + place);
        let (civil, offset) = (&text[..offset], offset_millis(&text[offset..])?);
        if civil.contains('[') {
            return None;
        }
        let civil = to_nanoseconds(civil).parse::<DateTime>().ok()?;
        let since = civil.duration_since(EPOCH).as_millis();
        let moment = Self(i64::try_from(since).ok()? - offset);
        (FIRST..=LAST).contains(&moment).then_some(moment)
    }

    /// The calendar month in UTC as a number that increases: 202611 for November 2026.
    pub fn month(self) -> i64 {
        let date = self.civil();
        i64::from(date.year()) * 100 + i64::from(date.month())
    }

    /// The day in UTC as a number that increases: days since 1970.
    pub fn day(self) -> i64 {
        self.0.div_euclid(DAY_MS)
    }

    /// The next midnight in UTC.
    pub fn next_day(self) -> Self {
        Self((self.day() + 1) * DAY_MS)
    }

    /// The beginning of the next calendar month in UTC.
    pub fn next_month(self) -> Self {
        let mut day = self.next_day();
        while day.month() == self.month() {
            day = day.next_day();
        }
        day
    }

    /// As headers of HTTP have it: `Sun, 15 Nov 2026 09:30:00 GMT`.
    pub fn http_date(self) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX);
        let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
        printer
            .timestamp_to_rfc9110_string(&moment)
            .unwrap_or_default()
    }

    fn civil(self) -> DateTime {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => TimeZone::UTC.to_datetime(moment),
            // Every value comes from the clock or from `parse`, both within jiff's calendar.
            Err(_) => EPOCH.saturating_add(SignedDuration::from_millis(self.0)),
        }
    }
}

/// `Z`, or hours and minutes before or after UTC. Without an offset it is UTC.
fn offset_millis(text: &str) -> Option<i64> {
    if matches!(text, "" | "Z" | "z") {
        return Some(0);
    }
    let (sign, digits) = match text.split_at(1) {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.as_bytes() {
        _ if !digits.is_ascii() => return None,
        [_, _] => (digits, "00"),
        [_, _, b':', _, _] => (&digits[..2], &digits[3..]),
        [_, _, _, _] => digits.split_at(2),
        _ => return None,
    };
    let number = |text: &str, limit: i64| {
        let number = text.bytes().all(|digit| digit.is_ascii_digit());
        let number = number.then(|| text.parse::<i64>().ok()).flatten();
        number.filter(|number| *number < limit)
    };
    Some(sign * (number(hours, 24)? * 60 + number(minutes, 60)?) * 60_000)
}

/// Cuts a fraction of a second where jiff ends.
fn to_nanoseconds(civil: &str) -> &str {
    let fraction = civil.find(['.', ',']).map(|place| place + 1);
    let digits = fraction.map_or("", |place| &civil[place..]);
    match digits.len() > 9 && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        true => &civil[..civil.len() - (digits.len() - 9)],
        false => civil,
    }
}

impl std::fmt::Display for Timestamp {
    /// Written by hand: every response has several, and formatting them showed up in profiles.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let t = self.civil();
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |digits: std::ops::Range<usize>, mut number: i32| {
            for place in digits.rev() {
                text[place] += (number % 10) as u8;
                number /= 10;
            }
        };
        put(0..4, t.year().into());
        put(5..7, t.month().into());
        put(8..10, t.day().into());
        put(11..13, t.hour().into());
        put(14..16, t.minute().into());
        put(17..19, t.second().into());
        put(20..23, t.millisecond().into());
        f.write_str(std::str::from_utf8(&text).map_err(|_| std::fmt::Error)?)
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datetimes_are_read_and_written_in_one_form() {
        for (given, canonical) in [
            ("2026-11-15T09:30:00.123Z", "2026-11-15T09:30:00.123Z"),
            ("2026-11-15T09:30:00Z", "2026-11-15T09:30:00.000Z"),
            ("2026-11-15T09:30:00", "2026-11-15T09:30:00.000Z"),
            ("2026-11-15T09:30", "2026-11-15T09:30:00.000Z"),
            ("2026-11-15 09:30:00", "2026-11-15T09:30:00.000Z"),
            ("2026-11-15t09:30:00z", "2026-11-15T09:30:00.000Z"),
            ("2026-11-15T09:30:00+02:00", "2026-11-15T07:30:00.000Z"),
            ("2026-11-15T23:30:00-05:30", "2026-11-16T05:00:00.000Z"),
            ("2026-11-15T09:30:00.123999Z", "2026-11-15T09:30:00.123Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
            ("9999-12-31T23:59:59.999", "9999-12-31T23:59:59.999Z"),
            ("9999-12-31T23:59:59+01:00", "9999-12-31T22:59:59.000Z"),
            ("2026-11-15T09:30:00+0530", "2026-11-15T04:00:00.000Z"),
            ("2026-11-15T09:30:00-23", "2026-11-16T08:30:00.000Z"),
            ("2026-11-15T09:30:00,5Z", "2026-11-15T09:30:00.500Z"),
            (
                "2026-11-15T09:30:00.1234567890123Z",
                "2026-11-15T09:30:00.123Z",
            ),
        ] {
            let read = Timestamp::RULE
                .check(given)
                .unwrap_or_else(|e| panic!("{given}: {e}"));
            assert_eq!(read.to_string(), canonical, "{given}");
            assert_eq!(Timestamp::RULE.check(canonical), Ok(read));
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "tomorrow",
            "2026-11-15",
            "9999-12-31T23:59:59-01:00",
            "0000-01-01T00:00:00+01:00",
            "2026-11-15T09:30:00+24:00",
            "2026-11-15T09:30:00+02:60",
            "2026-11-15T09:30:00+02:00:30",
            "2026-11-15T09:30:00+2",
            "2026-11-15T09:30:00+é0",
            "2026-11-15T09:30:00+1é2",
            "2026-11-15T09:30:00+02:0é",
            "2026-11-15T09:30:00.12345678901x",
            "2026-11-15T09:30:00Zulu",
            "2026-11-15T09:30:00Z05:30",
            "2026-11-15T09:30:00Z0530",
            "2026-11-15T09:30:00z05",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-11-15T25:00:00Z",
            "2026-11-15T09:30:00ZZ",
            "1763200000",
            "-000044-03-15T12:00:00Z",
            "2026-11-15T09:30:00+01:00[Europe/Paris]",
            "2026-11-15T09:30:00Z\0",
        ] {
            assert!(Timestamp::RULE.check(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_month_is_the_calendar_month_in_utc() {
        let month = |text: &str| Timestamp::RULE.check(text).unwrap().month();
        assert_eq!(month("2026-11-30T23:59:59.999Z"), 202_611);
        assert_eq!(month("2026-12-01T00:00:00Z"), 202_612);
        assert_eq!(month("2026-12-01T00:30:00+01:00"), 202_611);
    }

    proptest::proptest! {
        #![proptest_config(crate::domain::testing::cases(256))]

        #[test]
        fn any_text_is_a_datetime_or_not(
            text in "([0-9]{1,5}-[0-9]{1,2}-[0-9]{1,2}[Tt ]?[0-9:.,]{0,20}([Zz]|[+-][0-9:]{1,9})?|.{0,60})",
        ) {
            if let Some(read) = Timestamp::parse(&text) {
                proptest::prop_assert_eq!(Timestamp::parse(&read.to_string()), Some(read));
            }
        }

        #[test]
        fn any_moment_reads_back(millis in -62_167_219_200_000_i64..253_402_207_200_000) {
            let at = Timestamp::from_millis(millis);
            proptest::prop_assert_eq!(Timestamp::parse(&at.to_string()), Some(at));
        }
    }
}
