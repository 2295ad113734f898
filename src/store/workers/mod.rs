//! Workers, their tokens and their push subscriptions.

pub(super) mod payout_accounts;

use serde_json::Value as Json;

use crate::domain::geo::Point;
use crate::domain::tasks::Skill;
use crate::domain::{PushSubscriptionId, TaskId, Timestamp, Worker, WorkerId, WorkerStatus};
use crate::store::{Row, StoreError, Tx, words};

/// The columns of a whole worker, in the order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, email, name, phone, skills, home_latitude, home_longitude, radius_km, status, \
         verified_at, completed_tasks, approved_attempts, reviewed_attempts, created_at, updated_at"
    };
}

crate::store::statements! {
    INSERT = concat!("INSERT INTO workers (", columns!(), ", password_hash)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        ON CONFLICT (email) DO NOTHING");
    BY_ID = concat!("SELECT ", columns!(), " FROM workers WHERE id = ?1");
    BY_EMAIL = concat!("SELECT ", columns!(), ", password_hash FROM workers WHERE email = ?1");
    PAGE = concat!("SELECT ", columns!(), " FROM workers WHERE id > ?1 ORDER BY id LIMIT ?2");
    BEFORE = concat!("SELECT ", columns!(), " FROM workers
        WHERE id < ?1 AND (?2 = '' OR status = ?2) ORDER BY id DESC LIMIT ?3");
    EDIT = "UPDATE workers SET name = ?2, phone = ?3, skills = ?4, home_latitude = ?5,
            home_longitude = ?6, radius_km = ?7, updated_at = ?8
        WHERE id = ?1";
    SET_STATUS = "UPDATE workers SET status = ?2, verified_at = ?3, updated_at = ?4
        WHERE id = ?1 AND status = ?5";
    COUNT_REVIEW = "UPDATE workers SET completed_tasks = completed_tasks + ?2,
            approved_attempts = approved_attempts + ?3,
            reviewed_attempts = reviewed_attempts + ?4
        WHERE id = ?1";
    OPEN_TASKS = "SELECT COUNT(*) FROM tasks WHERE worker_id = ?1 AND status IN ('assigned',
        'in_progress', 'proof_submitted', 'proof_rejected', 'disputed')";
    IN_HAND = "SELECT id FROM tasks
        WHERE worker_id = ?1 AND status IN ('assigned', 'in_progress', 'proof_rejected')
            AND environment = 'live' ORDER BY id";
    ADD_TOKEN = "INSERT INTO worker_tokens (token_hash, worker_id, created_at, expires_at)
        VALUES (?1, ?2, ?3, ?4)";
    HOLDER = concat!("SELECT ", columns!(), " FROM workers WHERE id =
        (SELECT worker_id FROM worker_tokens WHERE token_hash = ?1 AND expires_at > ?2)");
    REVOKE_TOKEN = "DELETE FROM worker_tokens WHERE token_hash = ?1";
    PRUNE_TOKENS = "DELETE FROM worker_tokens WHERE token_hash IN (
            SELECT token_hash FROM worker_tokens WHERE expires_at <= ?1
            ORDER BY expires_at LIMIT ?2)";
    SUBSCRIBE = "INSERT INTO push_subscriptions (id, worker_id, endpoint, p256dh, auth, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (worker_id, endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth
        RETURNING id";
    SUBSCRIPTIONS = "SELECT id, worker_id, endpoint, p256dh, auth FROM push_subscriptions
        WHERE worker_id = ?1 ORDER BY id DESC LIMIT ?2";
    SUBSCRIPTION = "SELECT id, worker_id, endpoint, p256dh, auth FROM push_subscriptions
        WHERE id = ?1";
    DROP_SUBSCRIPTION = "DELETE FROM push_subscriptions WHERE id = ?1";
    /// Within a band of latitudes; the rest is for the caller to judge.
    IN_BAND = concat!("SELECT ", columns!(), " FROM workers
        WHERE home_latitude >= ?1 AND home_latitude <= ?2 AND status = 'verified'
            AND (home_latitude > ?1 OR id > ?3)
        ORDER BY home_latitude, id LIMIT ?4");
    UNSUBSCRIBE = "DELETE FROM push_subscriptions WHERE worker_id = ?1 AND endpoint = ?2";
}

/// How many browsers of one worker are told.
const MAX_SUBSCRIPTIONS: i64 = 20;

/// Where a worker's browser takes notices.
#[derive(Clone, Debug)]
pub struct PushSubscription {
    pub id: PushSubscriptionId,
    pub worker: WorkerId,
    pub endpoint: String,
    pub p256dh: String,
    pub auth: String,
}

/// Which workers are asked for.
#[derive(Clone, Debug, Default)]
pub struct WorkerFilter {
    pub status: Option<WorkerStatus>,
    pub email: Option<String>,
}

impl Tx<'_> {
    /// False when the e-mail address is taken.
    pub fn insert_worker(
        &mut self,
        worker: &Worker,
        password_hash: &str,
    ) -> Result<bool, StoreError> {
        let home = worker.home;
        let inserted = self.execute(
            INSERT,
            &[
                worker.id.to_string().into(),
                (&worker.email).into(),
                (&worker.name).into(),
                worker.phone.as_ref().into(),
                skills_json(&worker.skills).into(),
                home.map(|home| home.latitude).into(),
                home.map(|home| home.longitude).into(),
                worker.radius_km.into(),
                worker.status.as_str().into(),
                worker.verified_at.into(),
                worker.completed_tasks.into(),
                worker.approved_attempts.into(),
                worker.reviewed_attempts.into(),
                worker.created_at.into(),
                worker.updated_at.into(),
                password_hash.into(),
            ],
        )?;
        Ok(inserted == 1)
    }

    pub fn worker(&mut self, id: WorkerId) -> Result<Option<Worker>, StoreError> {
        self.optional(BY_ID, &[id.to_string().into()], read)
    }

    /// The worker, held against other writers until this transaction ends.
    pub fn worker_to_change(&mut self, id: WorkerId) -> Result<Option<Worker>, StoreError> {
        self.optional_locked(BY_ID, &[id.to_string().into()], read)
    }

    /// A worker with the hash of the password.
    pub fn worker_by_email(&mut self, email: &str) -> Result<Option<(Worker, String)>, StoreError> {
        self.optional(BY_EMAIL, &[email.into()], |row| {
            Ok((read(row)?, row.get(15)?))
        })
    }

    /// Up to `limit` workers in the order they signed up, after the given one.
    pub fn workers_after(
        &mut self,
        after: Option<WorkerId>,
        limit: i64,
    ) -> Result<Vec<Worker>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(PAGE, &[after.into(), limit.into()], read)
    }

    /// Up to `limit` workers, newest first, before the given one.
    pub fn workers_before(
        &mut self,
        filter: &WorkerFilter,
        before: Option<WorkerId>,
        limit: i64,
    ) -> Result<Vec<Worker>, StoreError> {
        if let Some(email) = &filter.email {
            let found = self.worker_by_email(email)?.into_iter();
            let fits = |worker: &Worker| {
                filter.status.is_none_or(|status| status == worker.status)
                    && before.is_none_or(|before| worker.id < before)
            };
            return Ok(found.map(|(worker, _)| worker).filter(fits).collect());
        }
        let status = filter.status.map_or("", WorkerStatus::as_str);
        let before = crate::store::before(before);
        self.all(BEFORE, &[before.into(), status.into(), limit.into()], read)
    }

    pub fn edit_worker(&mut self, worker: &Worker) -> Result<(), StoreError> {
        let home = worker.home;
        self.execute_one(
            EDIT,
            &[
                worker.id.to_string().into(),
                (&worker.name).into(),
                worker.phone.as_ref().into(),
                skills_json(&worker.skills).into(),
                home.map(|home| home.latitude).into(),
                home.map(|home| home.longitude).into(),
                worker.radius_km.into(),
                worker.updated_at.into(),
            ],
        )
    }

    /// Stores the status of a worker that was in another one.
    pub fn set_worker_status(
        &mut self,
        worker: &Worker,
        from: WorkerStatus,
    ) -> Result<(), StoreError> {
        self.execute_one(
            SET_STATUS,
            &[
                worker.id.to_string().into(),
                worker.status.as_str().into(),
                worker.verified_at.into(),
                worker.updated_at.into(),
                from.as_str().into(),
            ],
        )
    }

    /// Counts a review of a worker's attempt. Simulated workers have no row, and need none.
    pub fn count_review(&mut self, worker: WorkerId, approved: bool) -> Result<(), StoreError> {
        let one = i64::from(approved);
        let values = [
            worker.to_string().into(),
            one.into(),
            one.into(),
            1i64.into(),
        ];
        self.defer(COUNT_REVIEW, &values)
    }

    pub fn count_open_tasks(&mut self, worker: WorkerId) -> Result<i64, StoreError> {
        let count = self.optional(OPEN_TASKS, &[worker.to_string().into()], |row| row.get(0))?;
        Ok(count.unwrap_or(0))
    }

    /// The live tasks that a worker has to go on with, in the order in which they are held.
    pub fn tasks_in_hand(&mut self, worker: WorkerId) -> Result<Vec<TaskId>, StoreError> {
        self.all(IN_HAND, &[worker.to_string().into()], |row| {
            row.parse(0, TaskId::parse)
        })
    }

    pub fn add_worker_token(
        &mut self,
        token_hash: &str,
        worker: WorkerId,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let worker = worker.to_string().into();
        let values = [token_hash.into(), worker, now.into(), expires_at.into()];
        self.defer(ADD_TOKEN, &values)
    }

    /// Who holds a token that is good.
    pub fn token_holder(
        &mut self,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Worker>, StoreError> {
        self.optional(HOLDER, &[token_hash.into(), now.into()], read)
    }

    pub fn revoke_worker_token(&mut self, token_hash: &str) -> Result<(), StoreError> {
        self.defer(REVOKE_TOKEN, &[token_hash.into()])
    }

    /// Forgets up to `limit` tokens whose time is over; tells how many.
    pub fn prune_worker_tokens(&mut self, now: Timestamp, limit: i64) -> Result<u64, StoreError> {
        self.execute(PRUNE_TOKENS, &[now.into(), limit.into()])
    }

    /// Stores a subscription, or its new keys; tells under which id.
    pub fn subscribe(
        &mut self,
        subscription: &PushSubscription,
        now: Timestamp,
    ) -> Result<PushSubscriptionId, StoreError> {
        let values = [
            subscription.id.to_string().into(),
            subscription.worker.to_string().into(),
            (&subscription.endpoint).into(),
            (&subscription.p256dh).into(),
            (&subscription.auth).into(),
            now.into(),
        ];
        let id = self.optional(SUBSCRIBE, &values, |row| {
            row.parse(0, PushSubscriptionId::parse)
        })?;
        Ok(id.unwrap_or(subscription.id))
    }

    /// The newest subscriptions of a worker; nobody reads in more browsers than that.
    pub fn push_subscriptions(
        &mut self,
        worker: WorkerId,
    ) -> Result<Vec<PushSubscription>, StoreError> {
        let values = [worker.to_string().into(), MAX_SUBSCRIPTIONS.into()];
        self.all(SUBSCRIPTIONS, &values, read_subscription)
    }

    pub fn push_subscription(
        &mut self,
        id: PushSubscriptionId,
    ) -> Result<Option<PushSubscription>, StoreError> {
        self.optional(SUBSCRIPTION, &[id.to_string().into()], read_subscription)
    }

    pub fn drop_push_subscription(&mut self, id: PushSubscriptionId) -> Result<(), StoreError> {
        self.defer(DROP_SUBSCRIPTION, &[id.to_string().into()])
    }

    /// Up to `limit` verified workers who live between two latitudes, from south to north, after the
    /// one at the southern end with that id.
    pub fn workers_between(
        &mut self,
        south: f64,
        north: f64,
        after: &str,
        limit: i64,
    ) -> Result<Vec<Worker>, StoreError> {
        let values = [south.into(), north.into(), after.into(), limit.into()];
        self.all(IN_BAND, &values, read)
    }

    pub fn unsubscribe(&mut self, worker: WorkerId, endpoint: &str) -> Result<bool, StoreError> {
        let values = [worker.to_string().into(), endpoint.into()];
        Ok(self.execute(UNSUBSCRIBE, &values)? == 1)
    }
}

fn read_subscription(row: &Row<'_>) -> Result<PushSubscription, StoreError> {
    Ok(PushSubscription {
        id: row.parse(0, PushSubscriptionId::parse)?,
        worker: row.parse(1, WorkerId::parse)?,
        endpoint: row.get(2)?,
        p256dh: row.get(3)?,
        auth: row.get(4)?,
    })
}

fn skills_json(skills: &[Skill]) -> String {
    let skills: Vec<_> = skills.iter().map(|skill| skill.as_str()).collect();
    Json::from(skills).to_string()
}

fn read(row: &Row<'_>) -> Result<Worker, StoreError> {
    let home: (Option<f64>, Option<f64>) = (row.get(5)?, row.get(6)?);
    Ok(Worker {
        id: row.parse(0, WorkerId::parse)?,
        email: row.get(1)?,
        name: row.get(2)?,
        phone: row.get(3)?,
        skills: row.parse(4, |text| words(text, Skill::parse))?,
        home: match home {
            (Some(latitude), Some(longitude)) => Some(Point {
                latitude,
                longitude,
            }),
            _ => None,
        },
        radius_km: row.get(7)?,
        status: row.parse(8, WorkerStatus::parse)?,
        verified_at: row.get(9)?,
        completed_tasks: row.get(10)?,
        approved_attempts: row.get(11)?,
        reviewed_attempts: row.get(12)?,
        created_at: row.get(13)?,
        updated_at: row.get(14)?,
    })
}
