//! What is held about a person, in pages by key.

use crate::domain::webhooks::delivery::DeliveryStatus;
use crate::domain::{AccountId, EventId, EventType, Owner, Task, TaskId, Timestamp, WorkerId};
use crate::store::tasks::task;
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro delivery;
    columns { number, event_id, event_type = "type", task_id, status, status_code, attempts,
        created_at, updated_at }
    row ExportedDelivery = ExportedDelivery {
        number,
        event: event_id,
        event_type,
        task: task_id,
        status,
        status_code,
        attempts,
        created_at,
        updated_at,
    };
}

columns! {
    macro told;
    columns { id, kind, subject, paragraphs, status, created_at, sent_at }
    row ToldNotification = ToldNotification {
        id,
        kind,
        subject,
        paragraphs,
        status,
        created_at,
        sent_at,
    };
}

columns! {
    macro kept_token;
    columns { user_agent, second_factor, created_at, last_used_at, expires_at }
    row KeptToken = KeptToken { user_agent, second_factor, created_at, last_used_at, expires_at };
}

/// A token of a worker, without the token.
#[derive(Clone, Debug)]
pub struct KeptToken {
    pub user_agent: String,
    pub second_factor: bool,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Timestamp,
}

crate::store::statements! {
    TASKS = concat!("SELECT number, ", task!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND number > ?3 ORDER BY number LIMIT ?4");
    TASKS_OF_WORKER = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE worker_id = ?1 AND environment = 'live' AND (assigned_at, id) > (?2, ?3)
        ORDER BY assigned_at, id LIMIT ?4");
    /// By the index of what was accepted. A task that was accepted twice is there twice.
    GIVEN_BACK = "SELECT m.task_id FROM task_moves m JOIN tasks t ON t.id = m.task_id
        WHERE m.maker_id = ?1 AND m.to_status = 'assigned' AND m.task_id > ?2
            AND t.environment = 'live' AND COALESCE(t.worker_id, '') <> ?1
        ORDER BY m.task_id LIMIT ?3";
    DELIVERIES = concat!("SELECT ", delivery!(columns), " FROM deliveries
        WHERE account_id = ?1 AND environment = ?2 AND number > ?3 ORDER BY number LIMIT ?4");
    /// Without links, as in the list of a worker's notifications.
    TOLD_ACCOUNT = concat!("SELECT ", told!(columns), " FROM notices
        WHERE account_id = ?1 AND id > ?2 AND occasion NOT LIKE 'mail_link:%' ORDER BY id LIMIT ?3");
    TOLD_WORKER = concat!("SELECT ", told!(columns), " FROM notices
        WHERE worker_id = ?1 AND id > ?2 AND occasion NOT LIKE 'mail_link:%' ORDER BY id LIMIT ?3");
    TOKENS = concat!("SELECT ", kept_token!(columns), " FROM worker_tokens WHERE worker_id = ?1");
    SUBSCRIPTIONS = "SELECT endpoint, created_at FROM push_subscriptions WHERE worker_id = ?1";
}

/// A delivery, with the number of its event.
#[derive(Clone, Debug)]
pub struct ExportedDelivery {
    pub number: i64,
    pub event: EventId,
    pub event_type: EventType,
    pub task: Option<TaskId>,
    pub status: DeliveryStatus,
    pub status_code: Option<i64>,
    /// JSON.
    pub attempts: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What a person was told.
#[derive(Clone, Debug)]
pub struct ToldNotification {
    pub id: String,
    pub kind: String,
    pub subject: String,
    pub paragraphs: Vec<String>,
    pub status: String,
    pub created_at: Timestamp,
    pub sent_at: Option<Timestamp>,
}

impl Tx<'_> {
    /// Up to `limit` tasks of an owner after the one with that number, each with its number.
    pub fn tasks_after(
        &mut self,
        owner: Owner,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(i64, Task)>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([after.into(), limit.into()]);
        self.all(TASKS, &values)
    }

    /// Up to `limit` live tasks of a worker in the order of acceptance, after the given one.
    pub fn tasks_of_worker_after(
        &mut self,
        worker: WorkerId,
        after: Option<(i64, TaskId)>,
        limit: i64,
    ) -> Result<Vec<Task>, StoreError> {
        let (at, id) = match after {
            Some((at, id)) => (at, id.to_string()),
            None => (i64::MIN, String::new()),
        };
        let values = [worker.into(), at.into(), id.into(), limit.into()];
        self.all(TASKS_OF_WORKER, &values)
    }

    /// Up to `limit` live tasks, after the given one, that a worker has accepted and does not have any more.
    pub fn tasks_given_back(
        &mut self,
        worker: WorkerId,
        after: &str,
        limit: i64,
    ) -> Result<Vec<TaskId>, StoreError> {
        let values = [worker.into(), after.into(), limit.into()];
        let mut tasks: Vec<TaskId> = self.all(GIVEN_BACK, &values)?;
        tasks.dedup();
        Ok(tasks)
    }

    pub fn deliveries_after(
        &mut self,
        owner: Owner,
        after: i64,
        limit: i64,
    ) -> Result<Vec<ExportedDelivery>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([after.into(), limit.into()]);
        self.all(DELIVERIES, &values)
    }

    pub fn told_to_account(
        &mut self,
        account: AccountId,
        after: &str,
        limit: i64,
    ) -> Result<Vec<ToldNotification>, StoreError> {
        self.all(TOLD_ACCOUNT, &[account.into(), after.into(), limit.into()])
    }

    pub fn told_to_worker(
        &mut self,
        worker: WorkerId,
        after: &str,
        limit: i64,
    ) -> Result<Vec<ToldNotification>, StoreError> {
        self.all(TOLD_WORKER, &[worker.into(), after.into(), limit.into()])
    }

    /// What is held of a worker's tokens.
    pub fn tokens_of(&mut self, worker: WorkerId) -> Result<Vec<KeptToken>, StoreError> {
        self.all(TOKENS, &[worker.into()])
    }

    /// The push services that a worker's browsers use, and since when.
    pub fn subscriptions_of(
        &mut self,
        worker: WorkerId,
    ) -> Result<Vec<(String, Timestamp)>, StoreError> {
        self.all(SUBSCRIPTIONS, &[worker.into()])
    }
}
