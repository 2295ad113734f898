//! What a key has spent of its limits: by day, by month and in all.
//!
//! A task counts with its budget from the moment it is created. What is not charged, or is refunded,
//! comes back: to the total always, to a day or month only while it lasts.

use crate::domain::Timestamp;
use crate::domain::accounts::mandate::{Mandate, Refusal};
use crate::domain::string_enum::string_enum;

string_enum!(
    /// Days and months begin at midnight UTC.
    Interval {
        Day = "day",
        Month = "month",
        Total = "total",
    }
);

/// At most this much in each interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    pub day: Option<i64>,
    pub month: Option<i64>,
    pub total: Option<i64>,
}

impl SpendingLimits {
    /// Returns the limit that was set before.
    pub fn set(&mut self, interval: Interval, cents: i64) -> Option<i64> {
        let limit = match interval {
            Interval::Day => &mut self.day,
            Interval::Month => &mut self.month,
            Interval::Total => &mut self.total,
        };
        limit.replace(cents)
    }

    pub fn of(&self, interval: Interval) -> Option<i64> {
        match interval {
            Interval::Day => self.day,
            Interval::Month => self.month,
            Interval::Total => self.total,
        }
    }
}

/// A limit that is counted, and how much of it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub limit: i64,
    pub used: i64,
}

impl Use {
    /// A limit can be lowered below what is used.
    pub fn left(&self) -> i64 {
        (self.limit - self.used).max(0)
    }

    /// The owner is told once a limit is used so far.
    pub fn is_nearly_used_up(&self) -> bool {
        self.used * 5 >= self.limit * 4
    }
}

/// What a key has spent, as it is stored. The numbers of a day or month count only in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The latest day and month of a task, as `Timestamp::day` and `Timestamp::month` number them.
    pub day: i64,
    pub month: i64,
    pub day_tasks: i64,
    pub day_cents: i64,
    pub month_cents: i64,
    pub total_cents: i64,
    /// Tasks that are not over, and their budgets.
    pub open_tasks: i64,
    pub open_cents: i64,
}

impl Spending {
    /// With nothing spent in a day or month that has just begun. One that has begun by the clock of
    /// another server goes on, though here it is still the one before: otherwise two servers around
    /// midnight would each begin anew, again and again.
    pub fn at(mut self, now: Timestamp) -> Self {
        if self.day < now.day() {
            (self.day, self.day_tasks, self.day_cents) = (now.day(), 0, 0);
        }
        if self.month < now.month() {
            (self.month, self.month_cents) = (now.month(), 0);
        }
        self
    }

    pub fn in_interval(&self, interval: Interval) -> i64 {
        match interval {
            Interval::Day => self.day_cents,
            Interval::Month => self.month_cents,
            Interval::Total => self.total_cents,
        }
    }

    /// Counts a new task.
    pub fn reserve(self, budget_cents: i64, now: Timestamp) -> Self {
        let mut spent = self.at(now);
        spent.day_tasks += 1;
        spent.day_cents += budget_cents;
        spent.month_cents += budget_cents;
        spent.total_cents += budget_cents;
        spent.open_tasks += 1;
        spent.open_cents += budget_cents;
        spent
    }

    /// A task that was created then is over, and this much of its budget was not spent. What was counted
    /// for a day or month that another server had begun before does not come back to it.
    pub fn close(mut self, budget_cents: i64, back_cents: i64, created_at: Timestamp) -> Self {
        self.open_tasks -= 1;
        self.open_cents -= budget_cents;
        self.total_cents -= back_cents;
        if self.day == created_at.day() {
            self.day_cents -= back_cents;
        }
        if self.month == created_at.month() {
            self.month_cents -= back_cents;
        }
        self
    }
}

/// For which day, month and so on the owner was told that a limit is nearly used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warned {
    pub day: i64,
    pub month: i64,
    /// 1 if the owner was told.
    pub total: i64,
    /// The day, for the number of its tasks.
    pub tasks: i64,
}

impl Warned {
    fn of(&mut self, limit: &str, spent: Spending) -> Option<(&mut i64, i64)> {
        match limit {
            "spending_limits.day" => Some((&mut self.day, spent.day)),
            "spending_limits.month" => Some((&mut self.month, spent.month)),
            "spending_limits.total" => Some((&mut self.total, 1)),
            "max_tasks_per_day" => Some((&mut self.tasks, spent.day)),
            // What is open comes and goes.
            _ => None,
        }
    }
}

impl Mandate {
    /// The limits that are nearly used up without the owner having been told of it in this interval,
    /// and what is told then.
    pub fn to_tell(
        &self,
        spent: Spending,
        mut warned: Warned,
        now: Timestamp,
    ) -> (Vec<(&'static str, Use)>, Warned) {
        let mut uses = self.uses(spent, now);
        let spent = spent.at(now);
        uses.retain(|(limit, counted)| match warned.of(limit, spent) {
            Some((told, interval)) if *told != interval && counted.is_nearly_used_up() => {
                *told = interval;
                true
            }
            _ => false,
        });
        (uses, warned)
    }

    /// Every limit that is counted, by the field that sets it.
    pub fn uses(&self, spent: Spending, now: Timestamp) -> Vec<(&'static str, Use)> {
        let spent = spent.at(now);
        let limits = &self.spending_limits;
        let counted = [
            ("spending_limits.day", limits.day, spent.day_cents),
            ("spending_limits.month", limits.month, spent.month_cents),
            ("spending_limits.total", limits.total, spent.total_cents),
            ("max_open_tasks", self.max_open_tasks, spent.open_tasks),
            ("max_tasks_per_day", self.max_tasks_per_day, spent.day_tasks),
        ];
        let set = counted.into_iter();
        set.filter_map(|(field, limit, used)| {
            Some((
                field,
                Use {
                    limit: limit?,
                    used,
                },
            ))
        })
        .collect()
    }

    /// When a limit that is counted begins anew. Never for the total and for what is open.
    pub fn resets_at(limit: &str, now: Timestamp) -> Option<Timestamp> {
        match limit {
            "spending_limits.day" | "max_tasks_per_day" => Some(now.next_day()),
            "spending_limits.month" => Some(now.next_month()),
            _ => None,
        }
    }

    /// Every limit that a task with this budget would exceed, after what was spent.
    pub fn exceeded(&self, spent: Spending, budget_cents: i64, now: Timestamp) -> Vec<Refusal> {
        let after = spent.reserve(budget_cents, now);
        let before = self.uses(spent, now).into_iter();
        before
            .zip(self.uses(after, now))
            .filter(|(_, (_, after))| after.used > after.limit)
            .map(|((limit, used), _)| Refusal {
                limit,
                message: format!("{} of {} are left", used.left(), used.limit),
                counted: Some(used),
            })
            .collect()
    }
}
