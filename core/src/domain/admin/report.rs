//! The monthly report: money and tasks by day, and the escrow at the end of each day.

use std::fmt::Write;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::string_enum::string_enum;
use crate::domain::{Environment, Postings, Status, Step, Timestamp};

pub const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// A calendar month in UTC, written `2026-11`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Month {
    first: Date,
}

impl Month {
    /// The service has no older data.
    const FIRST_YEAR: i16 = 2000;

    pub fn rule(text: &str) -> Result<Self, String> {
        Self::parse(text)
            .ok_or_else(|| "must be a month from 2000-01 to 9999-12, such as 2026-11".to_owned())
    }

    fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let digits = |part: &str, count| {
            part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(year, 4) || !digits(month, 2) {
            return None;
        }
        let first = Date::new(year.parse().ok()?, month.parse().ok()?, 1).ok()?;
        (first.year() >= Self::FIRST_YEAR).then_some(Self { first })
    }

    /// The first moment of the month.
    pub fn start(self) -> Timestamp {
        let midnight = self.first.to_datetime(jiff::civil::Time::midnight());
        // UTC has no gaps, and the allowed years are within jiff's range.
        let moment = TimeZone::UTC.to_timestamp(midnight).unwrap_or_default();
        Timestamp::from_millis(moment.as_millisecond())
    }

    /// The first moment after the month.
    pub fn end(self) -> Timestamp {
        Timestamp::from_millis(self.start().as_millis() + self.days() * DAY_MILLIS)
    }

    fn days(self) -> i64 {
        self.first.days_in_month().into()
    }

    /// The dates of the month, in order.
    fn dates(self) -> impl Iterator<Item = String> {
        (1..=self.days()).map(move |day| format!("{self}-{day:02}"))
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.first.year(), self.first.month())
    }
}

impl Serialize for Month {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

string_enum!(
    ReportFormat {
        Json = "json",
        Csv = "csv",
    }
);

/// The sum of the ledger entries of one kind on one day.
#[derive(Clone, Copy, Debug)]
pub struct DayEntries {
    /// 0 for the first day of the month.
    pub day: usize,
    pub step: Step,
    pub sum: Postings,
}

/// The number of tasks created on one day.
#[derive(Clone, Copy, Debug)]
pub struct DayTasks {
    pub day: usize,
    pub created: i64,
}

/// What happened in a day or a month, and the escrow at its end. A booked amount is owed from then
/// on. A paid amount has left the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Figures {
    /// Paid by developers, less what their banks took back.
    pub paid_in_cents: i64,
    /// Owed to developers, from settlements and from late payments.
    pub refunds_booked_cents: i64,
    /// Refunded to developers by the processor, less what did not reach them.
    pub refunds_paid_cents: i64,
    /// Earned by workers.
    pub payouts_booked_cents: i64,
    /// Transferred to workers by the processor, less what was reversed.
    pub payouts_paid_cents: i64,
    /// Earned by the platform, less what it lost in disputes.
    pub fees_cents: i64,
    /// Held for tasks at the end of the period.
    pub escrow_at_end_cents: i64,
    pub tasks_created: i64,
}

impl Figures {
    fn add_entries(&mut self, step: Step, sum: Postings) {
        match step {
            Step::Payment => {
                self.paid_in_cents -= sum.processor_cents;
                self.refunds_booked_cents += sum.refunds_cents;
            }
            Step::Settlement => {
                self.refunds_booked_cents += sum.refunds_cents;
                self.payouts_booked_cents += sum.worker_cents;
                self.fees_cents += sum.fees_cents;
            }
            Step::Refund | Step::RefundFailed | Step::RefundRetry | Step::RefundRetryFailed => {
                self.refunds_paid_cents += sum.processor_cents
            }
            Step::Transfer
            | Step::TransferReversed
            | Step::TransferRetry
            | Step::TransferRetryReversed => self.payouts_paid_cents += sum.processor_cents,
            // The worker's booking is reversed, and the platform keeps the money.
            Step::WriteOff => {
                self.payouts_booked_cents += sum.worker_cents;
                self.fees_cents += sum.fees_cents;
            }
            // The developer has not paid after all, and the platform bears it.
            Step::DisputeLost | Step::DisputeLostAgain => {
                self.paid_in_cents -= sum.processor_cents;
                self.fees_cents += sum.fees_cents;
            }
            Step::RefundOffset | Step::RefundSettled => {
                self.refunds_booked_cents += sum.refunds_cents;
                self.fees_cents += sum.fees_cents;
            }
        }
    }

    /// Adds the amounts of a period. `escrow_at_end_cents` is a balance, so it is not added.
    fn add(&mut self, other: &Self) {
        self.paid_in_cents += other.paid_in_cents;
        self.refunds_booked_cents += other.refunds_booked_cents;
        self.refunds_paid_cents += other.refunds_paid_cents;
        self.payouts_booked_cents += other.payouts_booked_cents;
        self.payouts_paid_cents += other.payouts_paid_cents;
        self.fees_cents += other.fees_cents;
        self.tasks_created += other.tasks_created;
    }

    /// What entered escrow minus what left it.
    fn escrow_change_cents(&self) -> i64 {
        self.paid_in_cents - self.refunds_booked_cents - self.payouts_booked_cents - self.fees_cents
    }

    /// Every figure with its name, in output order.
    fn named(&self) -> [(&'static str, i64); 8] {
        [
            ("paid_in_cents", self.paid_in_cents),
            ("refunds_booked_cents", self.refunds_booked_cents),
            ("refunds_paid_cents", self.refunds_paid_cents),
            ("payouts_booked_cents", self.payouts_booked_cents),
            ("payouts_paid_cents", self.payouts_paid_cents),
            ("fees_cents", self.fees_cents),
            ("escrow_at_end_cents", self.escrow_at_end_cents),
            ("tasks_created", self.tasks_created),
        ]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DayFigures {
    /// In UTC, for example `2026-11-15`.
    #[schema(format = Date)]
    pub date: String,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MonthReport {
    #[schema(value_type = String)]
    pub month: Month,
    pub environment: Environment,
    /// Held for tasks when the month started.
    pub escrow_at_start_cents: i64,
    /// Every day of the month. Future days repeat the current escrow.
    pub days: Vec<DayFigures>,
    pub total: Figures,
    /// The current number of tasks in each status, whenever they were created.
    #[serde(serialize_with = "as_map")]
    #[schema(value_type = std::collections::BTreeMap<String, i64>)]
    pub tasks_now: Vec<(Status, i64)>,
}

impl MonthReport {
    /// Groups entries and tasks by day. The escrow of each day is computed backwards from the end
    /// of the month.
    pub fn new(
        month: Month,
        environment: Environment,
        entries: &[DayEntries],
        tasks: &[DayTasks],
        escrow_at_end_cents: i64,
        tasks_now: Vec<(Status, i64)>,
    ) -> Self {
        let days = month.dates().enumerate().map(|(day, date)| {
            let mut figures = Figures::default();
            for found in entries.iter().filter(|found| found.day == day) {
                figures.add_entries(found.step, found.sum);
            }
            for found in tasks.iter().filter(|found| found.day == day) {
                figures.tasks_created += found.created;
            }
            DayFigures { date, figures }
        });
        let mut days: Vec<_> = days.collect();
        let mut total = Figures::default();
        for day in &days {
            total.add(&day.figures);
        }
        let escrow_at_start_cents = escrow_at_end_cents - total.escrow_change_cents();
        let mut escrow_cents = escrow_at_start_cents;
        for DayFigures { figures, .. } in &mut days {
            escrow_cents += figures.escrow_change_cents();
            figures.escrow_at_end_cents = escrow_cents;
        }
        total.escrow_at_end_cents = escrow_at_end_cents;
        Self {
            month,
            environment,
            escrow_at_start_cents,
            days,
            total,
            tasks_now,
        }
    }

    /// One line per day, and one for the total. Nothing needs quotes: the columns are dates,
    /// integers and the word `total`.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from("date");
        for (name, _) in self.total.named() {
            csv.push(',');
            csv.push_str(name);
        }
        csv.push('\n');
        for day in &self.days {
            add_line(&mut csv, &day.date, &day.figures);
        }
        add_line(&mut csv, "total", &self.total);
        csv
    }
}

fn add_line(csv: &mut String, date: &str, figures: &Figures) {
    csv.push_str(date);
    for (_, figure) in figures.named() {
        // Writing into a string cannot fail.
        let _ = write!(csv, ",{figure}");
    }
    csv.push('\n');
}

fn as_map<S: serde::Serializer>(
    counts: &[(Status, i64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}

#[cfg(test)]
mod tests;
