//! A month of tasks, read page by page.

use crate::api::inside::{Ask, Refused};
use crate::domain::{FieldError, Timestamp};
use crate::pages::dashboard::desk::Desk;
use crate::pages::dashboard::models::{List, TaskItem};
use crate::pages::kit::form::Form;

/// A month in UTC: `2026-11`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Month {
    year: i16,
    month: i8,
}

impl Month {
    pub fn of(now: Timestamp) -> Self {
        Self::parse(&now.to_string()).unwrap_or(Self {
            year: 1970,
            month: 1,
        })
    }

    /// The month that a form names; this one if it names none.
    pub fn asked(form: &Form, now: Timestamp) -> Result<Self, FieldError> {
        let given = form.get("month").trim();
        if given.is_empty() {
            return Ok(Self::of(now));
        }
        let month = Self::parse(given).filter(|_| given.len() == 7);
        month.ok_or_else(|| FieldError::new("month", "must be a month, such as 2026-11".to_owned()))
    }

    fn parse(text: &str) -> Option<Self> {
        let (year, rest) = (text.get(..4)?, text.get(4..7)?);
        let month = rest.strip_prefix('-')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(year) || !digits(month) {
            return None;
        }
        let found = Self {
            year: year.parse().ok()?,
            month: month.parse().ok()?,
        };
        (2000..=9998).contains(&found.year).then_some(())?;
        (1..=12).contains(&found.month).then_some(found)
    }

    fn moved(&self, by: i8) -> Self {
        match self.month + by {
            0 => Self {
                year: self.year - 1,
                month: 12,
            },
            13 => Self {
                year: self.year + 1,
                month: 1,
            },
            month => Self {
                year: self.year,
                month,
            },
        }
    }

    pub fn before(&self) -> String {
        self.moved(-1).to_string()
    }

    /// None after this one: nothing has happened there.
    pub fn after(&self, now: &Timestamp) -> Option<String> {
        let after = self.moved(1);
        let current = Self::of(*now);
        let has_begun = (after.year, after.month) <= (current.year, current.month);
        has_begun.then(|| after.to_string())
    }

    pub fn days(&self) -> usize {
        match self.month {
            2 if self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    fn target(&self, cursor: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let last = self.days();
        query.append_pair("limit", "100");
        query.append_pair("created_from", &format!("{self}-01T00:00:00Z"));
        query.append_pair("created_to", &format!("{self}-{last:02}T23:59:59.999Z"));
        if let Some(cursor) = cursor {
            query.append_pair("cursor", cursor);
        }
        format!("/v1/tasks/search?{}", query.finish())
    }

    /// One page of its tasks, newest first, and where the next one begins.
    pub async fn tasks(&self, desk: &Desk, cursor: Option<&str>) -> Result<Page, Refused> {
        let ask = Ask::get(self.target(cursor));
        let found: List<TaskItem> = desk.ask(ask).await?;
        Ok((found.data, found.meta.next_cursor))
    }
}

pub type Page = (Vec<TaskItem>, Option<String>);

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_follow_each_other() {
        let month = Month::parse("2026-12").unwrap();
        assert_eq!(
            (month.before(), month.moved(1).to_string()),
            ("2026-11".to_owned(), "2027-01".to_owned())
        );
        let now = |text| Timestamp::RULE.check(text).unwrap();
        assert_eq!(month.after(&now("2026-12-31T12:00:00Z")), None);
        let after = month.after(&now("2027-01-01T00:00:00Z"));
        assert_eq!(after.as_deref(), Some("2027-01"));
        let month = Month::parse("2028-01-31T12:00:00Z").unwrap();
        assert_eq!(
            (month.to_string(), month.moved(1).days()),
            ("2028-01".to_owned(), 29)
        );
        assert_eq!(Month::parse("2100-02").unwrap().days(), 28);
        for wrong in [
            "", "2026", "2026-13", "2026-00", "2026-1x", "+026-11", "1999-12", "9999-01",
        ] {
            assert_eq!(Month::parse(wrong), None, "{wrong}");
        }
    }
}
