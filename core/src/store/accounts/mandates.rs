//! Mandates of keys, and what was spent under them.

use crate::domain::accounts::mandate::spending::{Spending, SpendingLimits, Warned};
use crate::domain::accounts::mandate::{Area, Mandate, Permissions};
use crate::domain::geo::Point;
use crate::domain::{AccountId, ApiKeyId, JobKind, JobName, Task, Timestamp};
use crate::store::{FromRow, KeyHolder, Lookup, Row, StoreError, Tx, Value, columns};

columns! {
    macro mandate;
    table mandates;
    fn mandate_values<'a>(key: ApiKeyId, account: AccountId, mandate: &'a Mandate, now: Timestamp);
    columns {
        permissions: mandate.permissions.bits(),
        max_task_cents: mandate.max_task_cents,
        day_limit_cents: mandate.spending_limits.day,
        month_limit_cents: mandate.spending_limits.month,
        total_limit_cents: mandate.spending_limits.total,
        max_open_tasks: mandate.max_open_tasks,
        max_tasks_per_day: mandate.max_tasks_per_day,
        categories: &mandate.categories,
        task_types: &mandate.task_types,
        area_latitude: mandate.area.map(|area| area.center.latitude),
        area_longitude: mandate.area.map(|area| area.center.longitude),
        area_radius_km: mandate.area.map(|area| area.radius_km),
        states: &mandate.states,
        approval_above_cents: mandate.approval_above_cents,
        review_up_to_cents: mandate.review_up_to_cents,
        expires_at: mandate.expires_at,
        paused: mandate.paused,
    }
    inserted { key_id: key, account_id: account, updated_at: now }
    row Mandate = Mandate {
        permissions: Permissions::from_bits(permissions),
        max_task_cents,
        spending_limits: SpendingLimits {
            day: day_limit_cents,
            month: month_limit_cents,
            total: total_limit_cents,
        },
        max_open_tasks,
        max_tasks_per_day,
        categories,
        task_types,
        area: area_of(area_latitude, area_longitude, area_radius_km),
        states,
        approval_above_cents,
        review_up_to_cents,
        expires_at,
        paused,
    };
}

columns! {
    macro spending;
    columns {
        day, month, day_tasks, day_cents, month_cents, total_cents, open_tasks, open_cents,
    }
    row Spending = Spending {
        day,
        month,
        day_tasks,
        day_cents,
        month_cents,
        total_cents,
        open_tasks,
        open_cents,
    };
}

/// What the counters of a day and a month stand at, on that day and in that month. Those of a later one
/// count too, as in `Spending::at`.
macro_rules! current {
    (day_tasks) => {
        "CASE WHEN day >= ?2 THEN day_tasks ELSE 0 END"
    };
    (day_cents) => {
        "CASE WHEN day >= ?2 THEN day_cents ELSE 0 END"
    };
    (month_cents) => {
        "CASE WHEN month >= ?3 THEN month_cents ELSE 0 END"
    };
    (day) => {
        "CASE WHEN day > ?2 THEN day ELSE ?2 END"
    };
    (month) => {
        "CASE WHEN month > ?3 THEN month ELSE ?3 END"
    };
}

/// What is kept of a counter of a day or a month that has not begun yet by the clock as it is now.
macro_rules! not_ahead {
    ($interval:literal, $at:literal, $column:literal, $kept:literal) => {
        concat!(
            $column,
            " = CASE WHEN ",
            $interval,
            " > ",
            $at,
            " THEN ",
            $kept,
            " ELSE ",
            $column,
            " END"
        )
    };
}

columns! {
    macro used;
    columns {
        account_id, version, refused_at, refused_limit, updated_at,
        warned_day, warned_month, warned_total, warned_tasks,
    }
    row Used = Used {
        account: account_id,
        version,
        refused: Option::zip(refused_at, refused_limit),
        updated_at,
        warned: Warned {
            day: warned_day,
            month: warned_month,
            total: warned_total,
            tasks: warned_tasks,
        },
    };
}

crate::store::statements! {
    INSERT = mandate!(insert);
    /// What was spent is kept, whatever is allowed now. The owner is told anew.
    REPLACE = concat!("UPDATE mandates SET ", mandate!(set), ", version = version + 1, lifted_at = NULL,
            warned_day = 0, warned_month = 0, warned_total = 0, warned_tasks = 0,
            updated_at = ", mandate!(updated_at), "
        WHERE key_id = ", mandate!(key_id), " AND account_id = ", mandate!(account_id));
    LIFT = "UPDATE mandates SET lifted_at = ?3, version = version + 1, updated_at = ?3
        WHERE key_id = ?1 AND account_id = ?2 AND lifted_at IS NULL";
    ONE = concat!("SELECT ", used!(columns), ", ", spending!(columns), ", ", mandate!(columns), "
        FROM mandates WHERE key_id = ?1 AND lifted_at IS NULL");
    /// The holder of a key, with the whole mandate. The columns of the key are named apart from those of
    /// the mandate. What is revoked and what is lifted is asked as in `HOLDER` of the keys.
    WITH_KEY = concat!("SELECT h.of_key, h.of_account, h.of_environment, h.tier, h.account_status,
            h.email_confirmed, h.ahead_ms, h.confined, permissions, paused, expires_at,
            review_up_to_cents, ", used!(columns), ", ", spending!(columns), ", ", mandate!(columns), "
        FROM (SELECT k.id AS of_key, k.account_id AS of_account, k.environment AS of_environment,
                a.tier AS tier, a.status AS account_status,
                CASE WHEN a.claimed_email IS NULL THEN CAST(1 AS BIGINT) ELSE 0 END
                    AS email_confirmed,
                CASE WHEN k.environment = 'test' THEN a.test_ahead_ms ELSE 0 END AS ahead_ms,
                CASE WHEN k.environment = 'test' AND a.test_keys_manage = 'test' THEN CAST(1 AS BIGINT) ELSE 0 END
                    AS confined
            FROM api_keys k JOIN accounts a ON a.id = k.account_id
            WHERE k.key_hash = ?1 AND COALESCE(k.revoked_at, -1) = -1) h
        LEFT JOIN mandates ON key_id = h.of_key AND COALESCE(lifted_at, -1) = -1");
    /// Counts tasks that fit into all limits, under the mandate that was checked.
    RESERVE = concat!("UPDATE mandates SET day_tasks = ", current!(day_tasks), " + ?6,
            day_cents = ", current!(day_cents), " + ?5,
            month_cents = ", current!(month_cents), " + ?5,
            total_cents = total_cents + ?5, open_tasks = open_tasks + ?6, open_cents = open_cents + ?5,
            day = ", current!(day), ", month = ", current!(month), "
        WHERE key_id = ?1 AND version = ?4 AND lifted_at IS NULL
            AND (max_tasks_per_day IS NULL OR ", current!(day_tasks), " + ?6 <= max_tasks_per_day)
            AND (max_open_tasks IS NULL OR open_tasks + ?6 <= max_open_tasks)
            AND (day_limit_cents IS NULL OR ", current!(day_cents), " + ?5 <= day_limit_cents)
            AND (month_limit_cents IS NULL OR ", current!(month_cents), " + ?5 <= month_limit_cents)
            AND (total_limit_cents IS NULL OR total_cents + ?5 <= total_limit_cents)");
    /// A task is over, and this much of its budget was not spent. A day never goes back, so whatever was
    /// created on the stored day was counted for it.
    CLOSE = "UPDATE mandates SET open_tasks = open_tasks - 1, open_cents = open_cents - ?4,
            total_cents = total_cents - ?5,
            day_cents = day_cents - CASE WHEN day = ?2 THEN ?5 ELSE 0 END,
            month_cents = month_cents - CASE WHEN month = ?3 THEN ?5 ELSE 0 END
        WHERE key_id = ?1";
    /// What was counted while a test clock was ahead, for days and months that have not begun.
    SET_BACK = concat!("UPDATE mandates SET ",
            not_ahead!("day", "?2", "day_tasks", "0"), ", ",
            not_ahead!("day", "?2", "day_cents", "0"), ", ",
            not_ahead!("month", "?3", "month_cents", "0"), ", ",
            not_ahead!("day", "?2", "day", "?2"), ", ",
            not_ahead!("month", "?3", "month", "?3"), "
        WHERE key_id IN (SELECT id FROM api_keys WHERE account_id = ?1 AND environment = 'test')");
    WARNED = "UPDATE mandates SET warned_day = ?2, warned_month = ?3, warned_total = ?4,
            warned_tasks = ?5
        WHERE key_id = ?1";
    REFUSED = "UPDATE mandates SET refused_at = ?2, refused_limit = ?3
        WHERE key_id = ?1 AND (refused_at IS NULL OR refused_at < ?2)";
    /// Keys of the account that can do everything, other than this one. A test key that is confined to
    /// test cannot.
    OTHER_UNLIMITED = "SELECT COUNT(*) FROM api_keys k JOIN accounts a ON a.id = k.account_id
            LEFT JOIN mandates m ON m.key_id = k.id AND m.lifted_at IS NULL
        WHERE k.account_id = ?1 AND k.revoked_at IS NULL AND k.id <> ?2 AND m.key_id IS NULL
            AND NOT (k.environment = 'test' AND a.test_keys_manage = 'test')";
}

/// A mandate as it stands, with what was spent under it.
#[derive(Clone, Debug)]
pub struct MandateInUse {
    pub account: AccountId,
    pub mandate: Mandate,
    pub spent: Spending,
    /// Counts the changes of the mandate.
    pub version: i64,
    /// When it last refused something, and the limit that stood in the way.
    pub refused: Option<(Timestamp, String)>,
    /// What the owner was told of.
    pub warned: Warned,
    pub updated_at: Timestamp,
}

struct Used {
    account: AccountId,
    warned: Warned,
    version: i64,
    refused: Option<(Timestamp, String)>,
    updated_at: Timestamp,
}

impl FromRow for MandateInUse {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let used: Used = row.next()?;
        Ok(Self {
            account: used.account,
            warned: used.warned,
            spent: row.next()?,
            mandate: row.next()?,
            version: used.version,
            refused: used.refused,
            updated_at: used.updated_at,
        })
    }
}

fn area_of(latitude: Option<f64>, longitude: Option<f64>, radius_km: Option<f64>) -> Option<Area> {
    Some(Area {
        center: Point::from_pair(latitude, longitude)?,
        radius_km: radius_km?,
    })
}

/// The holder of a key, and the mandate of a limited one.
pub struct KeyAndMandate {
    pub holder: KeyHolder,
    pub mandate: Option<MandateInUse>,
}

impl FromRow for KeyAndMandate {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            holder: row.next()?,
            mandate: row.joined()?,
        })
    }
}

impl Lookup<KeyAndMandate> {
    /// The holder of a key that is not revoked, for a request that may reserve money.
    pub fn key_and_mandate(key_hash: String) -> Self {
        Self::new(WITH_KEY, vec![key_hash.into()])
    }
}

impl Lookup<MandateInUse> {
    pub fn mandate(key: ApiKeyId) -> Self {
        Self::new(ONE, vec![key.into()])
    }
}

impl Tx<'_> {
    pub fn mandate(&mut self, key: ApiKeyId) -> Result<Option<MandateInUse>, StoreError> {
        self.optional(ONE, &[key.into()])
    }

    /// The mandate, locked until this transaction ends.
    pub fn mandate_to_change(&mut self, key: ApiKeyId) -> Result<Option<MandateInUse>, StoreError> {
        self.optional_locked(ONE, &[key.into()])
    }

    pub fn set_warned(&mut self, key: ApiKeyId, warned: Warned) -> Result<(), StoreError> {
        let values = [
            key.into(),
            warned.day.into(),
            warned.month.into(),
            warned.total.into(),
            warned.tasks.into(),
        ];
        self.defer(WARNED, &values)
    }

    /// Gives a key a mandate, or another one. This transaction has locked the account.
    pub fn put_mandate(
        &mut self,
        account: AccountId,
        key: ApiKeyId,
        mandate: &Mandate,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = mandate_values(key, account, mandate, now);
        if self.execute(REPLACE, &values)? == 0 {
            self.defer(INSERT, &values)?;
        }
        Ok(())
    }

    /// False when the key has none.
    pub fn lift_mandate(
        &mut self,
        account: AccountId,
        key: ApiKeyId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [key.into(), account.into(), now.into()];
        Ok(self.execute(LIFT, &values)? == 1)
    }

    /// Counts a new task under the mandate of the key that created it. This transaction has numbered the
    /// task, so it holds the totals that all tasks of the key share, and has checked the mandate. What a
    /// batch reserves under one mandate is reserved by one statement.
    pub(in crate::store) fn reserve(
        &mut self,
        task: &Task,
        version: i64,
    ) -> Result<(), StoreError> {
        let [key, day, month] = interval_of(task);
        let (cents, tasks) = (task.budget_cents.into(), 1i64.into());
        let values = [key, day, month, version.into(), cents, tasks];
        self.add_to_locked(RESERVE, &values, 4..6)
    }

    /// A task that was created under a mandate is over, and this much of its budget was not spent. This
    /// transaction holds the totals.
    pub fn give_back(&mut self, task: &Task, back_cents: i64) -> Result<(), StoreError> {
        let [key, day, month] = interval_of(task);
        let values = [key, day, month, task.budget_cents.into(), back_cents.into()];
        self.defer(CLOSE, &values)
    }

    /// Begins the day and the month anew that a test clock shows after it was set back. All tasks of the
    /// environment are over, so nothing of what is forgotten here comes back later.
    pub fn set_spending_back(
        &mut self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [account.into(), now.day().into(), now.month().into()];
        self.defer(SET_BACK, &values)
    }

    /// Keeps what a mandate refused last.
    pub fn note_refusal(
        &mut self,
        key: ApiKeyId,
        at: Timestamp,
        limit: &str,
    ) -> Result<(), StoreError> {
        self.defer(REFUSED, &[key.into(), at.into(), limit.into()])?;
        // A burst may have used the limit up before anybody noticed.
        self.add_job(&JobName::new(JobKind::WarnOfLimits, key), at)
    }

    /// How many keys of an account have no mandate, besides this one.
    pub fn other_unlimited_keys(
        &mut self,
        account: AccountId,
        key: ApiKeyId,
    ) -> Result<i64, StoreError> {
        let count = self.optional(OTHER_UNLIMITED, &[account.into(), key.into()])?;
        Ok(count.unwrap_or(0))
    }
}

/// The key whose mandate a task counts for, and the day and the month in which it was created.
fn interval_of(task: &Task) -> [Value<'static>; 3] {
    let created = task.created_at;
    [
        task.mandate_key.into(),
        created.day().into(),
        created.month().into(),
    ]
}
