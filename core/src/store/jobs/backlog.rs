//! What waits to be done, in figures for operators. Every statement reads an index that holds only
//! what waits, and stops after `MOST` rows: neither history nor a flood makes a scrape expensive.

use crate::domain::{Lane, Timestamp};
use crate::store::{StoreError, Tx};

/// Beyond this, the figures say "so many or more".
const MOST: i64 = 100_000;

crate::store::statements! {
    DUE_NOTIFICATIONS = "SELECT COUNT(*), MIN(run_at) FROM (
            SELECT run_at FROM jobs WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 1
            AND run_at <= ?1
            ORDER BY run_at LIMIT ?2) due";
    DUE_REST = "SELECT COUNT(*), MIN(run_at) FROM (
            SELECT run_at FROM jobs WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 0
            AND run_at <= ?1
            ORDER BY run_at LIMIT ?2) due";
    DEAD_JOBS = "SELECT COUNT(*) FROM (
            SELECT kind FROM jobs WHERE run_at IS NULL LIMIT ?1) dead";
    MAILS = "SELECT COUNT(*) FROM (
            SELECT kind FROM jobs WHERE kind = 'mail' AND run_at IS NOT NULL LIMIT ?1) mails";
    DELIVERIES = "SELECT COUNT(*), MIN(created_at) FROM (
            SELECT created_at FROM deliveries WHERE due_at IS NOT NULL LIMIT ?1) pending";
    OLDEST_DUE_ENDPOINT = "SELECT due_at FROM webhook_endpoints
        WHERE due_at <= ?1 AND claim IS NULL ORDER BY due_at LIMIT 1";
}

#[derive(Clone, Debug)]
pub struct Backlog {
    /// A lane without due jobs is missing.
    pub due_jobs: Vec<DueJobs>,
    pub dead_jobs: i64,
    pub waiting_mails: i64,
    pub pending_deliveries: i64,
    pub oldest_delivery: Option<Timestamp>,
    pub oldest_due_endpoint: Option<Timestamp>,
}

/// The jobs of a lane that are due and not claimed.
#[derive(Clone, Debug)]
pub struct DueJobs {
    pub lane: Lane,
    pub count: i64,
    /// When the oldest became due.
    pub oldest: Timestamp,
}

impl Tx<'_> {
    /// Read it in a snapshot.
    pub fn backlog(&mut self, now: Timestamp) -> Result<Backlog, StoreError> {
        let mut due_jobs = Vec::new();
        for (lane, statement) in [
            (Lane::Notifications, DUE_NOTIFICATIONS),
            (Lane::Rest, DUE_REST),
        ] {
            let due: Option<(i64, Option<Timestamp>)> =
                self.optional(statement, &[now.into(), MOST.into()])?;
            if let Some((count, Some(oldest))) = due {
                due_jobs.push(DueJobs {
                    lane,
                    count,
                    oldest,
                });
            }
        }
        let most = [MOST.into()];
        let deliveries: Option<(i64, Option<Timestamp>)> = self.optional(DELIVERIES, &most)?;
        let (pending_deliveries, oldest_delivery) = deliveries.unwrap_or((0, None));
        Ok(Backlog {
            due_jobs,
            dead_jobs: self.optional(DEAD_JOBS, &most)?.unwrap_or(0),
            waiting_mails: self.optional(MAILS, &most)?.unwrap_or(0),
            pending_deliveries,
            oldest_delivery,
            oldest_due_endpoint: self.optional(OLDEST_DUE_ENDPOINT, &[now.into()])?,
        })
    }
}
