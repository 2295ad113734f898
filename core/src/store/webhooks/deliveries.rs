//! Deliveries: one for each event that an endpoint wants, with its attempts.

use std::time::Duration;

use crate::domain::{
    AccountId, Delivery, DeliveryStatus, DueDelivery, Environment, EventId, EventType, NewEvent,
    Owner, Timestamp,
};
use crate::store::{StoreError, Tx, Value, columns, owned_by};

columns! {
    macro delivery;
    columns {
        event_id, account_id, event_type = "type", task_id, status, status_code,
        attempts_count = "CAST((LENGTH(attempts) - LENGTH(REPLACE(attempts, '\"attempted_at\":', ''))) / 15 AS BIGINT)",
        due_at, created_at, updated_at,
    }
    row Delivery = Delivery {
        event: event_id,
        account: account_id,
        event_type,
        task: task_id,
        data: None,
        status,
        status_code,
        attempts: String::new(),
        attempts_count,
        due_at,
        created_at,
        updated_at,
    };
}

columns! {
    macro due;
    columns {
        event = "d.event_id",
        event_type = "d.type",
        environment = "d.environment",
        task = "d.task_id",
        data = "e.data",
        tries = "d.tries",
        attempts = "d.attempts",
    }
    row DueDelivery = DueDelivery { event, event_type, environment, task, data, tries, attempts };
}

columns! {
    macro recorded;
    table deliveries;
    fn recorded_values<'a>(recorded: &'a RecordedDelivery, now: Timestamp);
    columns {
        attempts: &recorded.attempts,
        status_code: recorded.status_code.map(i64::from),
        updated_at: now,
    }
    parameters {
        event: recorded.event,
        status: recorded.status,
        due_at: recorded.due_at,
        tries: recorded.tries,
        known: recorded.known_characters,
    }
}

crate::store::statements! {
    /// Only if an endpoint subscribes to the event. It is due at the real time, however far the clock
    /// of a test environment is ahead.
    ADD = "INSERT INTO deliveries (event_id, account_id, environment, number, type, task_id, status,
            tries, due_at, attempts, status_code, created_at, updated_at)
        SELECT CAST(?1 AS TEXT), e.account_id, CAST(?3 AS TEXT), CAST(?4 AS BIGINT),
            CAST(?5 AS TEXT), CAST(?6 AS TEXT), 'pending', 0,
            CAST(?7 AS BIGINT) - CASE WHEN CAST(?3 AS TEXT) = 'test' THEN a.test_ahead_ms ELSE 0 END,
            '[]', NULL, CAST(?7 AS BIGINT), CAST(?7 AS BIGINT)
        FROM webhook_endpoints e JOIN accounts a ON a.id = e.account_id
        WHERE e.account_id = ?2 AND e.disabled_at IS NULL AND a.webhook_url IS NOT NULL
            AND (a.webhook_events = '[]' OR a.webhook_events LIKE ?8)";
    DUE = concat!("SELECT ", due!(columns), "
        FROM deliveries d JOIN events e ON e.id = d.event_id
        WHERE d.account_id = ?1 AND d.due_at <= ?2 ORDER BY d.due_at, d.number LIMIT ?3");
    /// An attempt is always added. What follows from it counts only for the request that it was made for:
    /// if somebody has asked for the delivery again since, it stays due. One that was given up meanwhile
    /// is delivered, or stays given up. Nothing is added to attempts that this process does not know:
    /// another one has made them.
    RECORD = concat!("UPDATE deliveries SET ", recorded!(set), ",
            tries = CASE WHEN status = 'pending' AND tries = ", recorded!(tries), " THEN tries + 1
                ELSE tries END,
            status = CASE WHEN status = 'pending' AND tries <> ", recorded!(tries), " THEN status
                WHEN status = 'pending' OR ", recorded!(status), " = 'delivered'
                THEN ", recorded!(status), " ELSE status END,
            due_at = CASE WHEN status = 'pending' AND tries = ", recorded!(tries), "
                THEN ", recorded!(due_at), " ELSE due_at END
        WHERE event_id = ", recorded!(event), "
            AND CAST(LENGTH(attempts) AS BIGINT) = ", recorded!(known));
    REDELIVER = "UPDATE deliveries SET status = 'pending', tries = 0, due_at = ?2, updated_at = ?3
        WHERE event_id = ?1";
    /// Makes the deliveries of a test environment due so many milliseconds earlier.
    HASTEN = "UPDATE deliveries SET due_at = due_at - ?2
        WHERE account_id = ?1 AND environment = 'test' AND due_at IS NOT NULL";
    NEXT_IN_TEST = "SELECT MIN(due_at) FROM deliveries
        WHERE account_id = ?1 AND environment = 'test' AND due_at IS NOT NULL";
    FAIL = "UPDATE deliveries SET status = 'failed', due_at = NULL,
            updated_at = CASE WHEN environment = 'test' THEN CAST(?5 AS BIGINT) ELSE CAST(?4 AS BIGINT) END
        WHERE event_id IN (
            SELECT event_id FROM deliveries
            WHERE account_id = ?1 AND due_at IS NOT NULL AND number <= CASE
                WHEN environment = 'test' THEN CAST(?3 AS BIGINT) ELSE CAST(?2 AS BIGINT) END
            LIMIT ?6)";
    ONE = concat!("SELECT ", delivery!(columns), ", attempts,
            (SELECT e.data FROM events e WHERE e.id = deliveries.event_id)
        FROM deliveries WHERE event_id = ?3 AND account_id = ?1 AND environment = ?2");
    /// Of the first failed deliveries after a number: how many there are, and the last number.
    FAILED_PAGE = "SELECT COUNT(*), COALESCE(MAX(number), 0) FROM (
            SELECT number FROM deliveries
            WHERE account_id = ?1 AND environment = ?2 AND status = 'failed' AND number > ?3
            ORDER BY number LIMIT ?4) listed";
    /// Those that failed since a time, and before somebody asked for it.
    RECOVER = "UPDATE deliveries SET status = 'pending', tries = 0, due_at = ?6, updated_at = ?8
        WHERE status = 'failed' AND event_id IN (
            SELECT event_id FROM deliveries
            WHERE account_id = ?1 AND environment = ?2 AND status = 'failed' AND number > ?3
                AND number <= ?4 AND (created_at >= ?5 OR updated_at >= ?5) AND updated_at <= ?7)";
    LAST_FAILED = "SELECT MAX(updated_at) FROM deliveries
        WHERE account_id = ?1 AND environment = ?2 AND status = 'failed'";
    PAGE = concat!("SELECT ", delivery!(columns), " FROM deliveries
        WHERE account_id = ?1 AND environment = ?2
        ORDER BY number DESC LIMIT ?3 OFFSET ?4");
    PAGE_BY_STATUS = concat!("SELECT ", delivery!(columns), " FROM deliveries
        WHERE account_id = ?1 AND environment = ?2 AND status = ?5
        ORDER BY number DESC LIMIT ?3 OFFSET ?4");
    /// A type is looked for among the newest `MOST_LISTED`, which takes no index: that would be one
    /// more to write with every delivery.
    PAGE_BY_TYPE = concat!("SELECT ", delivery!(columns), " FROM deliveries WHERE event_id IN (
            SELECT event_id FROM (
                SELECT event_id, type, number FROM deliveries
                WHERE account_id = ?1 AND environment = ?2 ORDER BY number DESC LIMIT 10000) newest
            WHERE type = ?5 ORDER BY number DESC LIMIT ?3 OFFSET ?4)
        ORDER BY number DESC");
    PAGE_BY_TYPE_AND_STATUS = concat!("SELECT ", delivery!(columns), " FROM deliveries
        WHERE event_id IN (
            SELECT event_id FROM (
                SELECT event_id, type, number FROM deliveries
                WHERE account_id = ?1 AND environment = ?2 AND status = ?6
                ORDER BY number DESC LIMIT 10000) newest
            WHERE type = ?5 ORDER BY number DESC LIMIT ?3 OFFSET ?4)
        ORDER BY number DESC");
    /// In order, so that PostgreSQL uses the index even where one account has most of the rows.
    COUNT = "SELECT COUNT(*) FROM (SELECT number FROM deliveries
        WHERE account_id = ?1 AND environment = ?2 ORDER BY number DESC LIMIT ?3) listed";
    COUNT_BY_STATUS = "SELECT COUNT(*) FROM (SELECT number FROM deliveries
        WHERE account_id = ?1 AND environment = ?2 AND status = ?4
        ORDER BY number DESC LIMIT ?3) listed";
    COUNT_BY_TYPE = "SELECT COUNT(*) FROM (SELECT type FROM deliveries
        WHERE account_id = ?1 AND environment = ?2 ORDER BY number DESC LIMIT ?3) newest
        WHERE type = ?4";
    COUNT_BY_TYPE_AND_STATUS = "SELECT COUNT(*) FROM (SELECT type FROM deliveries
        WHERE account_id = ?1 AND environment = ?2 AND status = ?5
        ORDER BY number DESC LIMIT ?3) newest WHERE type = ?4";
    PRUNE = "DELETE FROM deliveries WHERE event_id IN (
            SELECT event_id FROM deliveries WHERE event_id < ?1 ORDER BY event_id LIMIT 500)";
}

/// A list reaches back this far; the statements say the same number. Counting more would cost more, the
/// longer there are deliveries.
pub const MOST_LISTED: i64 = 10_000;

/// Which deliveries to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryFilter {
    pub status: Option<DeliveryStatus>,
    pub event_type: Option<EventType>,
}

/// Deliveries that failed since a time, and not after somebody asked for them, both by the clock of their
/// environment.
#[derive(Clone, Copy, Debug)]
pub struct FailedSpan {
    pub since: Timestamp,
    pub asked_at: Timestamp,
}

/// The newest events of an account at a moment. Numbers tell before from after whatever the clock of the
/// test environment does; times do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastEvents {
    pub live: i64,
    pub test: i64,
}

/// The outcome of an attempt at a delivery.
#[derive(Clone, Debug)]
pub struct RecordedDelivery {
    pub event: EventId,
    pub status: DeliveryStatus,
    pub due_at: Option<Timestamp>,
    pub attempts: String,
    pub status_code: Option<u16>,
    /// How often it was tried before.
    pub tries: i64,
    /// The length of the attempts before this one, as text.
    pub known_characters: i64,
}

impl Tx<'_> {
    pub(in crate::store) fn add_delivery(
        &mut self,
        id: EventId,
        owner: Owner,
        number: i64,
        event: &NewEvent,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            id.into(),
            owner.account.into(),
            owner.environment.into(),
            number.into(),
            event.event_type.into(),
            event.task.into(),
            at.into(),
            format!("%\"{}\"%", event.event_type).into(),
        ];
        self.defer(ADD, &values)
    }

    /// Up to `limit` due deliveries of an endpoint, in the order in which to make them.
    pub fn due_deliveries(
        &mut self,
        account: AccountId,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let values = [account.into(), now.into(), limit.into()];
        self.all(DUE, &values)
    }

    /// Records the outcome of an attempt. `at` is the time by the clock of its environment.
    pub fn record_delivery(
        &mut self,
        recorded: &RecordedDelivery,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(RECORD, &recorded_values(recorded, at))
    }

    /// Makes a delivery due again, whatever its status.
    pub fn redeliver(
        &mut self,
        owner: Owner,
        event: EventId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let at = self.time_of(owner, now)?;
        self.defer(REDELIVER, &[event.into(), now.into(), at.into()])?;
        self.wake_endpoint_now(owner.account, now)?;
        self.to_wake.events.push(owner);
        Ok(())
    }

    /// When the next delivery of a test environment is due.
    pub fn next_test_delivery(
        &mut self,
        account: AccountId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let next = self.optional(NEXT_IN_TEST, &[account.into()])?;
        Ok(next.flatten())
    }

    /// Makes the deliveries of a test environment due earlier.
    pub fn hasten_test_deliveries(
        &mut self,
        account: AccountId,
        by: Duration,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.defer(HASTEN, &[account.into(), millis.into()])?;
        self.wake_endpoint_now(account, now)?;
        // Whoever serves the endpoint at the moment looks again.
        self.to_wake.events.push(Owner {
            account,
            environment: Environment::Test,
        });
        Ok(())
    }

    /// Fails up to `limit` deliveries of events up to these for good; returns how many.
    pub fn give_up_deliveries(
        &mut self,
        account: AccountId,
        last: LastEvents,
        limit: i64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let in_test = now.plus(self.test_clock(account)?);
        let values = [
            account.into(),
            last.live.into(),
            last.test.into(),
            now.into(),
            in_test.into(),
            limit.into(),
        ];
        self.execute(FAIL, &values)
    }

    pub fn last_events(&mut self, account: AccountId) -> Result<LastEvents, StoreError> {
        let mut last = |environment| {
            self.last_event_number(Owner {
                account,
                environment,
            })
        };
        Ok(LastEvents {
            live: last(Environment::Live)?,
            test: last(Environment::Test)?,
        })
    }

    pub fn delivery(
        &mut self,
        owner: Owner,
        event: EventId,
    ) -> Result<Option<Delivery>, StoreError> {
        let mut values = owned_by(owner);
        values.push(event.into());
        let found: Option<(Delivery, (String, Option<String>))> = self.optional(ONE, &values)?;
        Ok(found.map(|(delivery, (attempts, data))| Delivery {
            attempts,
            data,
            ..delivery
        }))
    }

    /// A time by the clock of the environment which no failure so far is after. A test clock that was set
    /// back leaves failures in its future.
    pub fn after_all_failures(
        &mut self,
        owner: Owner,
        now: Timestamp,
    ) -> Result<Timestamp, StoreError> {
        if owner.environment == Environment::Live {
            return Ok(now);
        }
        let last: Option<Option<Timestamp>> = self.optional(LAST_FAILED, &owned_by(owner))?;
        let at = self.time_of(owner, now)?;
        Ok(last.flatten().map_or(at, |last| last.max(at)))
    }

    /// Makes failed deliveries due again: of up to `limit` after that number, those that failed within
    /// the span. Returns how many, and after which number to go on if there may be more.
    pub fn recover_deliveries(
        &mut self,
        owner: Owner,
        span: FailedSpan,
        after: i64,
        limit: i64,
        now: Timestamp,
    ) -> Result<(u64, Option<i64>), StoreError> {
        let mut values = owned_by(owner);
        values.push(after.into());
        let mut page = values.clone();
        page.push(limit.into());
        let (count, last): (i64, i64) = self.optional(FAILED_PAGE, &page)?.unwrap_or((0, 0));
        if count == 0 {
            return Ok((0, None));
        }
        values.extend([
            last.into(),
            span.since.into(),
            now.into(),
            span.asked_at.into(),
            self.time_of(owner, now)?.into(),
        ]);
        let recovered = self.execute(RECOVER, &values)?;
        self.wake_endpoint_now(owner.account, now)?;
        self.to_wake.events.push(owner);
        Ok((recovered, (count == limit).then_some(last)))
    }

    /// A page of an owner's newest deliveries, and how many there are, both up to `MOST_LISTED`.
    pub fn deliveries(
        &mut self,
        owner: Owner,
        filter: DeliveryFilter,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Delivery>, i64), StoreError> {
        let (count, page) = match (filter.event_type, filter.status) {
            (None, None) => (COUNT, PAGE),
            (None, Some(_)) => (COUNT_BY_STATUS, PAGE_BY_STATUS),
            (Some(_), None) => (COUNT_BY_TYPE, PAGE_BY_TYPE),
            (Some(_), Some(_)) => (COUNT_BY_TYPE_AND_STATUS, PAGE_BY_TYPE_AND_STATUS),
        };
        let (mut counted, mut listed) = (owned_by(owner), owned_by(owner));
        counted.push(MOST_LISTED.into());
        listed.extend([limit.min(MOST_LISTED - offset).into(), offset.into()]);
        for values in [&mut counted, &mut listed] {
            values.extend(filter.event_type.map(Value::from));
            values.extend(filter.status.map(Value::from));
        }
        let count = self.optional(count, &counted)?.unwrap_or(0);
        if offset >= count {
            return Ok((Vec::new(), count));
        }
        Ok((self.all(page, &listed)?, count))
    }

    /// Deletes a batch of deliveries of events from before that time; returns how many.
    pub fn prune_deliveries(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let first_kept = EventId::new(before, &[0; 10]);
        self.execute(PRUNE, &[first_kept.into()])
    }
}
