//! What one process may let through of a caller's quota, when several share it.
//!
//! A slice is what comes back of the quota in a second. While there is plenty left, a process lets
//! requests through on credit: up to one slice, which it records later. When little is left, it lets
//! through only what it was granted before. So all processes together let through the quota and at
//! most one slice for each process, and no request has a round trip to the database of its own.
//!
//! Plain state: the caller tells the time, and asks the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::domain::accounts::rate_limit::{RATE_WINDOW, Settled, Settlement};

/// What was let through on credit is recorded after this time, if not earlier.
const RECORD_AFTER: Duration = Duration::from_secs(5);
/// What was granted and nobody needed for this time is given back.
const GIVE_BACK_AFTER: Duration = Duration::from_secs(2);
/// A process that got less than it wanted asks again after a second, more or less: at random, so that
/// no process always comes just after another and finds nothing.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// There is credit while this many slices are left.
const PLENTY: i64 = 4;

pub struct Share {
    quota: u32,
    /// Granted and not used.
    held: u32,
    /// Let through on credit and not recorded, and since when.
    owed: u32,
    owed_since: Instant,
    /// Let through since the last settlement.
    used: u32,
    /// Requests that wait for a settlement.
    waiting: u32,
    /// What the last settlement left for everybody. None: nobody has asked yet.
    known: Option<(Instant, i64)>,
    /// What is being asked for.
    asked: Option<Settlement>,
    /// The database had nothing. Until then it is not asked again.
    empty_until: Option<Instant>,
    used_at: Instant,
    settled: Arc<Notify>,
}

/// What becomes of a request.
pub enum Verdict {
    Passes,
    Refused {
        wait: Duration,
    },
    /// Until a settlement.
    Waits(OwnedNotified),
}

impl Share {
    pub fn new(quota: u32, now: Instant) -> Self {
        Self {
            quota,
            held: 0,
            owed: 0,
            owed_since: now,
            used: 0,
            waiting: 0,
            known: None,
            asked: None,
            empty_until: None,
            used_at: now,
            settled: Arc::default(),
        }
    }

    /// The tier of an account may change.
    pub fn set_quota(&mut self, quota: u32) {
        self.quota = quota;
    }

    /// Counts so many requests, all or none of which pass. `alone` is when the database does not
    /// answer: then all pass, and are recorded when it answers again.
    pub fn count(&mut self, requests: u32, now: Instant, alone: bool) -> Verdict {
        self.used_at = now;
        if self.held >= requests {
            self.held -= requests;
            self.used = self.used.saturating_add(requests);
            return Verdict::Passes;
        }
        let on_credit = self.unrecorded().saturating_add(requests);
        if alone || (on_credit <= self.slice() && self.has_credit(now)) {
            self.pass_on_credit(requests, now);
            return Verdict::Passes;
        }
        match self.empty_until {
            Some(until) if until > now => Verdict::Refused { wait: until - now },
            _ => Verdict::Waits(self.settled.clone().notified_owned()),
        }
    }

    /// For those that have waited for long enough.
    pub fn pass_on_credit(&mut self, requests: u32, now: Instant) {
        if self.owed == 0 {
            self.owed_since = now;
        }
        self.used = self.used.saturating_add(requests);
        self.owed = self.owed.saturating_add(requests).min(self.quota);
    }

    pub fn begin_waiting(&mut self, requests: u32) {
        self.waiting = self.waiting.saturating_add(requests);
    }

    pub fn end_waiting(&mut self, requests: u32) {
        self.waiting = self.waiting.saturating_sub(requests);
    }

    /// When the database should be asked, if nothing happens before. None: there is nothing to ask.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        if self.asked.is_some() {
            return None;
        }
        let not_before = self.empty_until.unwrap_or(now);
        if self.waiting > self.held || self.runs_short(now) {
            return Some(not_before);
        }
        let record = (self.owed > 0).then(|| self.owed_since + RECORD_AFTER);
        let give_back = (self.held > 0).then(|| self.used_at + GIVE_BACK_AFTER);
        record.into_iter().chain(give_back).min()
    }

    /// Whether to ask before the last is used up.
    fn runs_short(&self, now: Instant) -> bool {
        if self.has_credit(now) {
            return self.owed * 2 >= self.slice();
        }
        self.used > 0 && self.held > 0 && self.held * 4 <= self.slice()
    }

    /// What to ask the database. None when there is nothing to ask.
    pub fn ask(&mut self, now: Instant) -> Option<Settlement> {
        let unused_for = now.saturating_duration_since(self.used_at);
        let is_idle = self.waiting == 0 && unused_for >= GIVE_BACK_AFTER;
        if is_idle {
            let even = self.held.min(self.owed);
            self.held -= even;
            self.owed -= even;
        }
        let given_back = if is_idle { self.held } else { 0 };
        let wanted = if is_idle { 0 } else { self.needed() };
        let asked = Settlement {
            quota: self.quota,
            spent: i64::from(self.owed) - i64::from(given_back),
            wanted,
        };
        if asked.spent == 0 && asked.wanted == 0 {
            self.used = 0;
            return None;
        }
        self.held -= given_back;
        self.owed = 0;
        self.used = 0;
        self.asked = Some(asked);
        Some(asked)
    }

    /// What to hold for the next second.
    fn needed(&self) -> u32 {
        let needed = match self.waiting {
            // A caller who sends little lives on credit.
            0 if self.used * 4 < self.slice() => 0,
            0 => self.used.min(self.slice()),
            waiting => waiting.max(self.slice()),
        };
        needed.saturating_sub(self.held)
    }

    /// The database has answered. `jitter` is between 0 and 1.
    pub fn settled(&mut self, settled: Settled, now: Instant, jitter: f64) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        self.held = self.held.saturating_add(settled.granted);
        self.known = Some((now, settled.left));
        self.empty_until = (settled.granted < asked.wanted).then(|| {
            let debt = self.refill_time(-settled.left);
            now + ASK_AGAIN_AFTER.mul_f64(0.75 + jitter / 2.0).max(debt)
        });
        self.settled.notify_waiters();
    }

    /// The database did not answer. Nobody knows whether it recorded what was spent: better twice than
    /// never.
    pub fn failed(&mut self) {
        if let Some(asked) = self.asked.take() {
            let spent = u32::try_from(asked.spent).unwrap_or(0);
            self.owed = self.owed.saturating_add(spent).min(self.quota);
        }
        self.settled.notify_waiters();
    }

    /// What the caller has left, as far as this process knows.
    pub fn remaining(&self, now: Instant) -> u32 {
        let left = self.left(now).unwrap_or(i64::from(self.quota));
        let left = left + i64::from(self.held) - i64::from(self.unrecorded());
        left.clamp(0, i64::from(self.quota)) as u32
    }

    /// Whether nothing is lost when it is forgotten.
    pub fn is_idle(&self, now: Instant) -> bool {
        let is_settled =
            self.held == 0 && self.owed == 0 && self.waiting == 0 && self.asked.is_none();
        is_settled && now.saturating_duration_since(self.used_at) > RATE_WINDOW
    }

    /// What the database may not know of.
    fn unrecorded(&self) -> u32 {
        let asked = self.asked.map_or(0, |asked| asked.spent);
        self.owed.saturating_add(u32::try_from(asked).unwrap_or(0))
    }

    fn has_credit(&self, now: Instant) -> bool {
        self.left(now)
            .is_none_or(|left| left >= PLENTY * i64::from(self.slice()))
    }

    /// What the last settlement left, and what has come back since.
    fn left(&self, now: Instant) -> Option<i64> {
        let (at, left) = self.known?;
        let since = now.saturating_duration_since(at).as_micros() as i64;
        let refilled = since.saturating_mul(i64::from(self.quota)) / RATE_WINDOW.as_micros() as i64;
        Some((left + refilled).min(i64::from(self.quota)))
    }

    fn refill_time(&self, requests: i64) -> Duration {
        let requests = u32::try_from(requests).unwrap_or(0);
        (RATE_WINDOW / self.quota.max(1)) * requests
    }

    fn slice(&self) -> u32 {
        (self.quota / RATE_WINDOW.as_secs() as u32).max(1)
    }
}

#[cfg(test)]
mod tests;
