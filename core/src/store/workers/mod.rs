//! Workers.

pub(super) mod documents;
pub(super) mod erasure;
pub(super) mod payout_accounts;
pub(super) mod people;
pub(super) mod subscriptions;
pub(super) mod tokens;
pub(super) mod uploads;

use crate::domain::geo::Point;
use crate::domain::workers::unconfirmed_email;
use crate::domain::{Outcome, TaskId, Timestamp, Worker, WorkerId, WorkerStatus};
use crate::store::{Lookup, StoreError, Tx, columns};

pub use subscriptions::PushSubscription;
pub use tokens::{NewWorkerToken, WorkerSession};

columns! {
    macro worker;
    table workers;
    fn worker_values<'a>(worker: &'a Worker, password_hash: &'a str);
    columns {
        id: worker.id,
        email: held_email(worker),
        claimed_email: claimed_email(worker),
        name: &worker.name,
        phone: &worker.phone,
        skills: &worker.skills,
        home_latitude: worker.home.map(|home| home.latitude),
        home_longitude: worker.home.map(|home| home.longitude),
        radius_km: worker.radius_km,
        status: worker.status,
        verified_at: worker.verified_at,
        completed_tasks: worker.completed_tasks,
        refused_tasks: worker.refused_tasks,
        confirmed_skills: &worker.confirmed_skills,
        pending_name: &worker.pending_name,
        created_at: worker.created_at,
        updated_at: worker.updated_at,
    }
    inserted { password_hash: password_hash, approved_attempts: 0i64, reviewed_attempts: 0i64 }
    row Worker = Worker {
        id,
        email_confirmed: Option::is_none(&claimed_email),
        email: Option::unwrap_or(claimed_email, email),
        name,
        phone,
        skills,
        home: Point::from_pair(home_latitude, home_longitude),
        radius_km,
        status,
        verified_at,
        completed_tasks,
        refused_tasks,
        confirmed_skills,
        pending_name,
        created_at,
        updated_at,
    };
}

columns! {
    macro edited;
    table workers;
    fn edited_values<'a>(worker: &'a Worker);
    columns {
        name: &worker.name,
        phone: &worker.phone,
        skills: &worker.skills,
        home_latitude: worker.home.map(|home| home.latitude),
        home_longitude: worker.home.map(|home| home.longitude),
        radius_km: worker.radius_km,
        pending_name: &worker.pending_name,
        updated_at: worker.updated_at,
    }
    parameters { id: worker.id }
}

columns! {
    macro session;
    columns { session_id, signed_in_at, last_used_at, user_agent, second_factor }
    row WorkerSession = WorkerSession {
        id: session_id,
        signed_in_at,
        last_used_at,
        user_agent,
        second_factor,
    };
}

/// Of a task that a worker has accepted: it is not over. In the words of the partial index, or SQLite would not use that.
macro_rules! open_task {
    () => {
        "(status = 'assigned' OR status = 'in_progress' OR status = 'proof_submitted'
            OR status = 'proof_rejected' OR status = 'disputed')"
    };
}
pub(in crate::store) use open_task;

crate::store::statements! {
    INSERT = concat!(worker!(insert), " ON CONFLICT (email) DO NOTHING");
    BY_ID = concat!("SELECT ", worker!(columns), " FROM workers WHERE id = ?1");
    BY_EMAIL = concat!("SELECT ", worker!(columns), ", password_hash FROM workers WHERE email = ?1");
    BY_CLAIM = concat!("SELECT ", worker!(columns), " FROM workers
        WHERE claimed_email = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
    PAGE = concat!("SELECT ", worker!(columns), " FROM workers WHERE id > ?1 ORDER BY id LIMIT ?2");
    BEFORE = concat!("SELECT ", worker!(columns), " FROM workers
        WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    /// As with accounts in a status.
    IN_STATUS_BEFORE = concat!("SELECT ", worker!(columns), " FROM workers
        WHERE status >= ?3 AND (status, id) < (?3, ?1) ORDER BY status DESC, id DESC LIMIT ?2");
    EDIT = concat!("UPDATE workers SET ", edited!(set), " WHERE id = ", edited!(id));
    SET_STATUS = "UPDATE workers SET status = ?2, verified_at = ?3, updated_at = ?4
        WHERE id = ?1 AND status = ?5";
    SET_NAME = "UPDATE workers SET name = ?2, pending_name = NULL WHERE id = ?1";
    CONFIRM_SKILLS = "UPDATE workers SET confirmed_skills = ?2, updated_at = ?3 WHERE id = ?1";
    COUNT_OUTCOME = "UPDATE workers SET completed_tasks = completed_tasks + ?2,
            refused_tasks = refused_tasks + ?3
        WHERE id = ?1";
    COUNT_IN_HAND = concat!("SELECT COUNT(*) FROM tasks WHERE worker_id = ?1 AND ", open_task!(), "
            AND status IN ('assigned', 'in_progress', 'proof_rejected')");
    IN_HAND = concat!("SELECT id FROM tasks WHERE worker_id = ?1 AND ", open_task!(), "
            AND status IN ('assigned', 'in_progress', 'proof_rejected')
            AND environment = 'live' ORDER BY id");
    /// The worker and the session of a token.
    HOLDER = concat!("SELECT ", worker!(columns), ", ", session!(columns), " FROM workers JOIN (
            SELECT worker_id, substr(token_hash, 1, 32) AS session_id,
                created_at AS signed_in_at, last_used_at, user_agent, second_factor
            FROM worker_tokens WHERE token_hash = ?1 AND expires_at > ?2) token
        ON token.worker_id = workers.id");
    /// Within a band of latitudes. The caller checks the distance.
    IN_BAND = concat!("SELECT ", worker!(columns), " FROM workers
        WHERE home_latitude >= ?1 AND home_latitude <= ?2 AND status = 'verified'
            AND (home_latitude > ?1 OR id > ?3)
        ORDER BY home_latitude, id LIMIT ?4");
}

/// Which workers to list.
#[derive(Clone, Debug, Default)]
pub struct WorkerFilter {
    pub status: Option<WorkerStatus>,
    pub email: Option<String>,
}

impl Lookup<(Worker, WorkerSession)> {
    /// The worker of a token that is valid now.
    pub fn token_holder(token_hash: String, now: Timestamp) -> Self {
        Self::new(HOLDER, vec![token_hash.into(), now.into()])
    }
}

impl Tx<'_> {
    /// False when the e-mail address is taken.
    pub fn insert_worker(
        &mut self,
        worker: &Worker,
        password_hash: &str,
    ) -> Result<bool, StoreError> {
        let inserted = self.execute(INSERT, &worker_values(worker, password_hash))?;
        Ok(inserted == 1)
    }

    pub fn worker(&mut self, id: WorkerId) -> Result<Option<Worker>, StoreError> {
        self.optional(BY_ID, &[id.into()])
    }

    /// The worker, locked until this transaction ends.
    pub fn worker_to_change(&mut self, id: WorkerId) -> Result<Option<Worker>, StoreError> {
        self.optional_locked_of(("workers", "id"), BY_ID, &[id.into()])
    }

    /// Workers who name this address and have not confirmed it, newest first, before the given one.
    pub fn workers_claiming(
        &mut self,
        email: &str,
        before: Option<WorkerId>,
        limit: i64,
    ) -> Result<Vec<Worker>, StoreError> {
        let before = crate::store::before(before);
        self.all(BY_CLAIM, &[email.into(), before.into(), limit.into()])
    }

    /// The worker who has confirmed this address, with the hash of the password.
    pub fn worker_by_email(&mut self, email: &str) -> Result<Option<(Worker, String)>, StoreError> {
        self.optional(BY_EMAIL, &[email.into()])
    }

    /// Up to `limit` workers in the order they signed up, after the given one.
    pub fn workers_after(
        &mut self,
        after: Option<WorkerId>,
        limit: i64,
    ) -> Result<Vec<Worker>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(PAGE, &[after.into(), limit.into()])
    }

    /// Up to `limit` workers, newest first, before the given one.
    pub fn workers_before(
        &mut self,
        filter: &WorkerFilter,
        before: Option<WorkerId>,
        limit: i64,
    ) -> Result<Vec<Worker>, StoreError> {
        if let Some(email) = &filter.email {
            let claims = self.workers_claiming(email, before, limit)?;
            let found = self.worker_by_email(email)?.map(|(worker, _)| worker);
            let fits = |worker: &Worker| {
                filter.status.is_none_or(|status| status == worker.status)
                    && before.is_none_or(|before| worker.id < before)
            };
            let mut found: Vec<_> = found.into_iter().chain(claims).filter(fits).collect();
            found.sort_by_key(|worker| std::cmp::Reverse(worker.id));
            found.truncate(usize::try_from(limit).unwrap_or_default());
            return Ok(found);
        }
        let before = crate::store::before(before).into();
        match filter.status {
            Some(status) => self.all(IN_STATUS_BEFORE, &[before, limit.into(), status.into()]),
            None => self.all(BEFORE, &[before, limit.into()]),
        }
    }

    pub fn edit_worker(&mut self, worker: &Worker) -> Result<(), StoreError> {
        self.execute_one(EDIT, &edited_values(worker))?;
        self.worker_changed(worker.id, worker.updated_at)
    }

    /// Stores the new status of a worker, who must still be in the old one.
    pub fn set_worker_status(
        &mut self,
        worker: &Worker,
        from: WorkerStatus,
    ) -> Result<(), StoreError> {
        self.execute_one(
            SET_STATUS,
            &[
                worker.id.into(),
                worker.status.into(),
                worker.verified_at.into(),
                worker.updated_at.into(),
                from.into(),
            ],
        )?;
        self.worker_changed(worker.id, worker.updated_at)
    }

    /// Stores the name of a worker. None is pending any more.
    pub fn set_worker_name(&mut self, worker: &Worker) -> Result<(), StoreError> {
        self.execute_one(SET_NAME, &[worker.id.into(), (&worker.name).into()])
    }

    pub fn set_confirmed_skills(&mut self, worker: &Worker) -> Result<(), StoreError> {
        let values = [
            worker.id.into(),
            (&worker.confirmed_skills).into(),
            worker.updated_at.into(),
        ];
        self.execute_one(CONFIRM_SKILLS, &values)?;
        self.worker_changed(worker.id, worker.updated_at)
    }

    /// Counts how a worker's work on a task ended. Simulated workers have no row.
    pub fn count_outcome(&mut self, worker: WorkerId, outcome: Outcome) -> Result<(), StoreError> {
        let completed = outcome == Outcome::Completed;
        let values = [worker.into(), completed.into(), (!completed).into()];
        self.defer_sum(COUNT_OUTCOME, &values, 1..3)
    }

    /// How many tasks wait for this worker to do something.
    pub fn count_tasks_in_hand(&mut self, worker: WorkerId) -> Result<i64, StoreError> {
        let count = self.optional(COUNT_IN_HAND, &[worker.into()])?;
        Ok(count.unwrap_or(0))
    }

    /// The live tasks that a worker has to work on, in the order in which they are locked.
    pub fn tasks_in_hand(&mut self, worker: WorkerId) -> Result<Vec<TaskId>, StoreError> {
        self.all(IN_HAND, &[worker.into()])
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
        self.all(IN_BAND, &values)
    }
}

fn held_email(worker: &Worker) -> String {
    if worker.email_confirmed {
        worker.email.clone()
    } else {
        unconfirmed_email(worker.id)
    }
}

fn claimed_email(worker: &Worker) -> Option<String> {
    (!worker.email_confirmed).then(|| worker.email.clone())
}
