//! Jobs: written in the transaction that wants them, claimed with a lease, deleted when done.

pub(super) mod backlog;

use crate::domain::{JobKind, JobName, Lane, Timestamp};
use crate::store::{StoreError, Tx, Value, columns};

columns! {
    macro listed;
    columns { kind, subject, run_at, attempts, waits_for, last_error, created_at }
    row ListedJob = ListedJob {
        name: JobName { kind, subject },
        run_at,
        attempts,
        waits_for,
        last_error,
        created_at,
    };
}

columns! {
    macro due;
    columns {
        kind,
        subject,
        attempts,
        last_error,
        waits_for,
        pay_charged_back,
        keys_spent,
    }
    row DueJob = DueJob {
        name: JobName { kind, subject },
        attempts,
        last_error,
        waits_for,
        pay_charged_back,
        keys_spent,
    };
}

crate::store::statements! {
    ADD = "INSERT INTO jobs (kind, subject, run_at, attempts, created_at)
        VALUES (?1, ?2, ?3, 0, ?4)
        ON CONFLICT (kind, subject) DO NOTHING";
    /// The conditions on the kind are those of the partial indexes, in the same text.
    DUE_NOTIFICATIONS = concat!("SELECT ", due!(columns), " FROM jobs
        WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 1
            AND run_at <= ?1 ORDER BY run_at LIMIT ?2");
    DUE_REST = concat!("SELECT ", due!(columns), " FROM jobs
        WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 0
            AND run_at <= ?1 ORDER BY run_at LIMIT ?2");
    ANY_DUE_NOTIFICATION = "SELECT run_at FROM jobs
        WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 1
            AND run_at <= ?1 ORDER BY run_at LIMIT 1";
    ANY_DUE_REST = "SELECT run_at FROM jobs
        WHERE CASE WHEN kind IN ('mail', 'push') THEN 1 ELSE 0 END = 0
            AND run_at <= ?1 ORDER BY run_at LIMIT 1";
    CLAIM = "UPDATE jobs SET run_at = ?3, claim = ?4, attempts = attempts + 1, waits_for = NULL
        WHERE kind = ?1 AND subject = ?2";
    /// A job that somebody has to look at before it runs.
    ADD_DEAD = "INSERT INTO jobs (kind, subject, run_at, attempts, last_error, created_at)
        VALUES (?1, ?2, NULL, 0, ?3, ?4)
        ON CONFLICT (kind, subject) DO NOTHING";
    FINISH = "DELETE FROM jobs WHERE kind = ?1 AND subject = ?2 AND claim = ?3";
    /// Claimed or not: the job is not needed any more.
    DROP = "DELETE FROM jobs WHERE kind = ?1 AND subject = ?2";
    PUT_OFF = "UPDATE jobs SET run_at = ?4, claim = NULL, last_error = ?5,
            keys_spent = keys_spent + ?6
        WHERE kind = ?1 AND subject = ?2 AND claim = ?3";
    /// Waiting does not count as an attempt.
    WAIT = "UPDATE jobs SET run_at = ?4, claim = NULL, attempts = attempts - 1, waits_for = ?5
        WHERE kind = ?1 AND subject = ?2 AND claim = ?3";
    WAKE = "UPDATE jobs SET run_at = ?2, waits_for = NULL WHERE waits_for = ?1";
    RETRY = "UPDATE jobs SET run_at = ?3, attempts = 0
        WHERE kind = ?1 AND subject = ?2 AND run_at IS NULL";
    PAY_CHARGED_BACK = "UPDATE jobs SET pay_charged_back = 1 WHERE kind = ?1 AND subject = ?2";
    EXISTS = "SELECT CAST(1 AS BIGINT) FROM jobs WHERE kind = ?1 AND subject = ?2";
    /// In the order of the primary key.
    BEGINS_WITH = "SELECT subject FROM jobs WHERE kind = ?1 AND subject >= ?2 AND subject < ?3
        AND run_at IS NOT NULL ORDER BY subject LIMIT 1";
    PAGE = concat!("SELECT ", listed!(columns), " FROM jobs
        WHERE (kind, subject) > (?1, ?2) ORDER BY kind, subject LIMIT ?3");
    DEAD_PAGE = concat!("SELECT ", listed!(columns), " FROM jobs
        WHERE run_at IS NULL AND (kind, subject) > (?1, ?2)
        ORDER BY kind, subject LIMIT ?3");
    ONE = concat!("SELECT ", listed!(columns), " FROM jobs
        WHERE kind = ?1 AND subject = ?2");
    /// A job that waits belongs to no process: a claim ends the waiting.
    DROP_IDLE = "DELETE FROM jobs WHERE kind = ?1 AND subject = ?2
        AND (run_at IS NULL OR waits_for IN (?3, ?4))";
}

/// A job that this process may work on until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedJob {
    pub name: JobName,
    /// How often it was started since it was added or retried by hand, this time included.
    pub attempts: i64,
    /// Whether it was ever started before, also before it was retried by hand.
    pub started_before: bool,
    /// What it has waited for in vain. None if it was woken.
    pub waited_for: Option<String>,
    /// Whether an admin has decided to pay although the charge was taken back.
    pub pay_charged_back: bool,
    /// How many of its idempotency keys the processor has answered with a failure.
    pub keys_spent: i64,
    claim: String,
}

/// A job that is due, with the attempts made before.
struct DueJob {
    name: JobName,
    attempts: i64,
    /// Why it failed the last time. A retry by hand starts to count attempts anew, but keeps this.
    last_error: Option<String>,
    waits_for: Option<String>,
    pay_charged_back: bool,
    keys_spent: i64,
}

/// A job as operators see it.
#[derive(Clone, Debug)]
pub struct ListedJob {
    pub name: JobName,
    /// None when it is dead.
    pub run_at: Option<Timestamp>,
    pub attempts: i64,
    pub waits_for: Option<String>,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
}

impl Tx<'_> {
    /// Adds a job, unless there is one of that name already.
    pub fn add_job(&mut self, name: &JobName, now: Timestamp) -> Result<(), StoreError> {
        self.to_wake.add_job(name.kind);
        self.add_job_at(name, now, now)
    }

    /// Adds a job that is not due before that time.
    pub fn add_job_at(
        &mut self,
        name: &JobName,
        run_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            name.kind.into(),
            (&name.subject).into(),
            run_at.into(),
            now.into(),
        ];
        self.defer(ADD, &values)
    }

    /// Whether a job of that kind waits or runs whose subject begins with these parts.
    pub fn has_job_about(&mut self, kind: JobKind, parts: &str) -> Result<bool, StoreError> {
        // The slash after the parts, and the character after the slash.
        let (first, end) = (format!("{parts}/"), format!("{parts}0"));
        let found: Option<String> =
            self.optional(BEGINS_WITH, &[kind.into(), first.into(), end.into()])?;
        Ok(found.is_some())
    }

    /// Adds a job that is dead until it is retried by hand, unless there is one of that name already.
    pub fn add_dead_job(
        &mut self,
        name: &JobName,
        error: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            name.kind.into(),
            (&name.subject).into(),
            error.into(),
            now.into(),
        ];
        self.defer(ADD_DEAD, &values)
    }

    pub fn any_job_due(&mut self, lane: Lane, now: Timestamp) -> Result<bool, StoreError> {
        let statement = match lane {
            Lane::Notifications => ANY_DUE_NOTIFICATION,
            Lane::Rest => ANY_DUE_REST,
        };
        let found = self.optional::<i64>(statement, &[now.into()])?;
        Ok(found.is_some())
    }

    /// Claims up to `limit` due jobs of a lane until the lease ends. Other processes skip them.
    pub fn claim_jobs(
        &mut self,
        lane: Lane,
        claim: &str,
        now: Timestamp,
        lease_ends: Timestamp,
        limit: i64,
    ) -> Result<Vec<ClaimedJob>, StoreError> {
        let statement = match lane {
            Lane::Notifications => DUE_NOTIFICATIONS,
            Lane::Rest => DUE_REST,
        };
        let values = [now.into(), limit.into()];
        let due = self.all_unclaimed(statement, &values)?.into_iter();
        let jobs: Vec<_> = due
            .map(|due: DueJob| ClaimedJob {
                name: due.name,
                attempts: due.attempts + 1,
                started_before: due.attempts > 0 || due.last_error.is_some(),
                waited_for: due.waits_for,
                pay_charged_back: due.pay_charged_back,
                keys_spent: due.keys_spent,
                claim: claim.to_owned(),
            })
            .collect();
        for job in &jobs {
            let [kind, subject, claim] = job.values();
            self.defer(CLAIM, &[kind, subject, lease_ends.into(), claim])?;
        }
        Ok(jobs)
    }

    /// Deletes a job in the transaction that records its result. False when the lease was lost: another
    /// process has the job, and this transaction must be rolled back.
    pub fn finish_job(&mut self, job: &ClaimedJob) -> Result<bool, StoreError> {
        self.changes_one(FINISH, &job.values())
    }

    pub fn drop_job(&mut self, name: &JobName) -> Result<(), StoreError> {
        let values = [name.kind.into(), (&name.subject).into()];
        self.execute(DROP, &values).map(drop)
    }

    /// Releases a failed job: it is retried at that time, or is dead when there is none. When its idempotency
    /// key is spent, the next attempt has another one. False when the lease was lost.
    pub fn put_off_job(
        &mut self,
        job: &ClaimedJob,
        run_at: Option<Timestamp>,
        (error, key_spent): (&str, bool),
    ) -> Result<bool, StoreError> {
        let [kind, subject, claim] = job.values();
        let spent = i64::from(key_spent);
        let values = [
            kind,
            subject,
            claim,
            run_at.into(),
            error.into(),
            spent.into(),
        ];
        Ok(self.execute(PUT_OFF, &values)? == 1)
    }

    /// Releases a job that waits for something. It is tried again at `until` in any case.
    pub fn let_job_wait(
        &mut self,
        job: &ClaimedJob,
        waits_for: Option<&str>,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let [kind, subject, claim] = job.values();
        let values = [kind, subject, claim, until.into(), waits_for.into()];
        self.execute(WAIT, &values).map(drop)
    }

    /// Makes the jobs due that wait for this.
    pub fn wake_jobs(&mut self, waits_for: &str, now: Timestamp) -> Result<(), StoreError> {
        self.to_wake.jobs = true;
        self.execute(WAKE, &[waits_for.into(), now.into()])
            .map(drop)
    }

    /// Makes a dead job due again; false when there is none of that name.
    pub fn retry_job(&mut self, name: &JobName, now: Timestamp) -> Result<bool, StoreError> {
        self.to_wake.add_job(name.kind);
        let values = [name.kind.into(), (&name.subject).into(), now.into()];
        Ok(self.execute(RETRY, &values)? == 1)
    }

    /// Keeps an admin's decision that this transfer is made although the charge was taken back. It stays
    /// with the job, however often that is retried.
    pub fn pay_charged_back(&mut self, name: &JobName) -> Result<(), StoreError> {
        let values = [name.kind.into(), (&name.subject).into()];
        self.execute(PAY_CHARGED_BACK, &values).map(drop)
    }

    pub fn job_exists(&mut self, name: &JobName) -> Result<bool, StoreError> {
        let values = [name.kind.into(), (&name.subject).into()];
        let found = self.optional::<i64>(EXISTS, &values)?;
        Ok(found.is_some())
    }

    /// Up to `limit` jobs by kind and subject, after the given one: all, or only dead ones.
    pub fn jobs_after(
        &mut self,
        only_dead: bool,
        after: Option<&JobName>,
        limit: i64,
    ) -> Result<Vec<ListedJob>, StoreError> {
        let (kind, subject) = match after {
            Some(name) => (name.kind.as_str(), name.subject.as_str()),
            None => ("", ""),
        };
        let values = [kind.into(), subject.into(), limit.into()];
        let statement = if only_dead { DEAD_PAGE } else { PAGE };
        self.all(statement, &values)
    }

    pub fn job(&mut self, name: &JobName) -> Result<Option<ListedJob>, StoreError> {
        let values = [name.kind.into(), (&name.subject).into()];
        self.optional(ONE, &values)
    }

    /// Deletes a job that is dead or waits for one of these; false when there is none of that name, or when it
    /// is neither.
    pub fn drop_idle_job(
        &mut self,
        name: &JobName,
        [one, other]: &[String; 2],
    ) -> Result<bool, StoreError> {
        let values = [
            name.kind.into(),
            (&name.subject).into(),
            one.into(),
            other.into(),
        ];
        Ok(self.execute(DROP_IDLE, &values)? == 1)
    }
}

impl ClaimedJob {
    fn values(&self) -> [Value<'_>; 3] {
        [
            self.name.kind.into(),
            (&self.name.subject).into(),
            (&self.claim).into(),
        ]
    }
}
