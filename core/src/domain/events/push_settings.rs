//! Which push messages a worker wants, and when.

use std::time::Duration;

use crate::domain::rules::{IntegerRule, TextRule};
use crate::domain::string_enum::string_enum;
use crate::domain::{NotificationKind, Timestamp};

const MINUTE_MILLIS: i64 = 60_000;
const DAY_MINUTES: i64 = 24 * 60;

string_enum!(
    /// Kinds of messages that a worker can turn off. What concerns the account itself is not among them.
    MessageGroup {
        Bounties = "bounties",
        Tasks = "tasks",
        Reviews = "reviews",
        Payouts = "payouts",
    }
);

impl NotificationKind {
    fn group(self) -> Option<MessageGroup> {
        Some(match self {
            Self::Bounty => MessageGroup::Bounties,
            Self::TaskAssigned | Self::TaskCancelled | Self::TaskExpired => MessageGroup::Tasks,
            Self::ProofRejected | Self::DisputeDecided => MessageGroup::Reviews,
            Self::Payout | Self::PayoutWrittenOff => MessageGroup::Payouts,
            _ => return None,
        })
    }
}

/// A time of day, in minutes since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay(i64);

impl TimeOfDay {
    pub const RULE: TextRule<Self> = TextRule {
        min: 5,
        max: 5,
        pattern: Some("^([01][0-9]|2[0-3]):[0-5][0-9]$"),
        format: None,
        check: |_, text| {
            Self::parse(text).ok_or_else(|| "must be a time of day such as 22:00".to_owned())
        },
    };

    fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let number = |part: &str, below: i64| {
            let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            let number: i64 = part.parse().ok()?;
            (digits && number < below).then_some(number)
        };
        Some(Self(number(hours, 24)? * 60 + number(minutes, 60)?))
    }
}

impl std::fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

/// From the westernmost to the easternmost place.
pub const UTC_OFFSET_MINUTES: IntegerRule = IntegerRule {
    min: -12 * 60,
    max: 14 * 60,
};

/// When a worker is not to be woken. They may go past midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    pub from: TimeOfDay,
    pub to: TimeOfDay,
    pub utc_offset_minutes: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushSettings {
    pub muted: Vec<MessageGroup>,
    pub quiet: Option<QuietHours>,
}

impl PushSettings {
    pub fn allow(&self, kind: NotificationKind) -> bool {
        kind.group()
            .is_none_or(|group| !self.muted.contains(&group))
    }

    /// How long it is still quiet. None when messages may come now.
    pub fn quiet_for(&self, now: Timestamp) -> Option<Duration> {
        let quiet = self.quiet?;
        let local = now.as_millis() + quiet.utc_offset_minutes * MINUTE_MILLIS;
        let of_day = local.rem_euclid(DAY_MINUTES * MINUTE_MILLIS);
        let until = |time: TimeOfDay| {
            let left = time.0 * MINUTE_MILLIS - of_day;
            left.rem_euclid(DAY_MINUTES * MINUTE_MILLIS)
        };
        // The end comes before the next beginning: it is quiet now.
        let (begins, ends) = (until(quiet.from), until(quiet.to));
        let is_quiet = begins == 0 || ends > 0 && ends < begins;
        let left = u64::try_from(ends).ok().filter(|_| is_quiet)?;
        (quiet.from != quiet.to).then(|| Duration::from_millis(left))
    }

    /// As the database keeps it: `bounties,tasks;22:00-07:00@-300`.
    pub fn to_text(&self) -> String {
        let muted: Vec<_> = self.muted.iter().map(|group| group.as_str()).collect();
        let quiet = self.quiet.map(|quiet| {
            let QuietHours {
                from,
                to,
                utc_offset_minutes,
            } = quiet;
            format!("{from}-{to}@{utc_offset_minutes}")
        });
        format!("{};{}", muted.join(","), quiet.unwrap_or_default())
    }

    /// What cannot be read is as if nothing were set.
    pub fn parse(text: &str) -> Self {
        let (muted, quiet) = text.split_once(';').unwrap_or_default();
        Self {
            muted: muted.split(',').filter_map(MessageGroup::parse).collect(),
            quiet: Self::parse_quiet(quiet),
        }
    }

    fn parse_quiet(text: &str) -> Option<QuietHours> {
        let (times, offset) = text.split_once('@')?;
        let (from, to) = times.split_once('-')?;
        Some(QuietHours {
            from: TimeOfDay::parse(from)?,
            to: TimeOfDay::parse(to)?,
            utc_offset_minutes: offset.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(from: &str, to: &str, utc_offset_minutes: i64) -> PushSettings {
        PushSettings {
            muted: vec![MessageGroup::Bounties, MessageGroup::Payouts],
            quiet: Some(QuietHours {
                from: TimeOfDay::parse(from).unwrap(),
                to: TimeOfDay::parse(to).unwrap(),
                utc_offset_minutes,
            }),
        }
    }

    #[test]
    fn what_is_kept_is_what_was_set() {
        for kept in [PushSettings::default(), settings("22:00", "07:30", -300)] {
            assert_eq!(PushSettings::parse(&kept.to_text()), kept);
        }
        assert_eq!(PushSettings::parse(""), PushSettings::default());
        for bad in ["24:00", "7:00", "07:60", "+7:00", "07-00", ""] {
            assert!(TimeOfDay::RULE.check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn groups_are_muted_and_what_concerns_the_account_is_not() {
        let settings = settings("22:00", "07:00", 0);
        assert!(!settings.allow(NotificationKind::Bounty));
        assert!(settings.allow(NotificationKind::ProofRejected));
        assert!(settings.allow(NotificationKind::PasswordChanged));
    }

    #[test]
    fn quiet_hours_go_past_midnight_and_are_those_of_the_worker() {
        let minutes = |settings: &PushSettings, at: &str| {
            let at = Timestamp::RULE.check(at).unwrap();
            settings.quiet_for(at).map(|left| left.as_secs() / 60)
        };
        let night = settings("22:00", "07:00", -300);
        assert_eq!(minutes(&night, "2026-11-16T02:59:00Z"), None);
        assert_eq!(minutes(&night, "2026-11-16T03:00:00Z"), Some(540));
        assert_eq!(minutes(&night, "2026-11-16T11:59:00Z"), Some(1));
        assert_eq!(minutes(&night, "2026-11-16T12:00:00Z"), None);
        let noon = settings("12:00", "13:00", 0);
        assert_eq!(minutes(&noon, "2026-11-16T12:30:00Z"), Some(30));
        assert_eq!(minutes(&noon, "2026-11-16T13:00:00Z"), None);
        assert_eq!(
            minutes(&settings("09:00", "09:00", 0), "2026-11-16T09:00:00Z"),
            None
        );
    }
}
