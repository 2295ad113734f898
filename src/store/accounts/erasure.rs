//! What is erased of a deleted account. The journal, the history of its tasks and the audit stay.

use crate::domain::accounts::ERASED;
use crate::domain::{AccountId, Owner, TaskId, Timestamp};
use crate::store::owned_by;
use crate::store::{StoreError, Tx};

crate::store::statements! {
    TASKS = "SELECT id, number FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND number > ?3 ORDER BY number LIMIT ?4";
    FILES = "SELECT file_key, original_key FROM proofs WHERE task_id = ?1";
    ERASE_TASK = "UPDATE tasks SET title = ?2, description = ?2, instructions = NULL,
            location_address = NULL, location_city = ?2, location_state = ?2,
            location_latitude = 0, location_longitude = 0, metadata = '{}'
        WHERE id = ?1";
    /// That there was proof, of what kind, how far away and what was decided stays. So do the hashes:
    /// they show nothing, and find a picture that is handed in again.
    ERASE_PROOFS = "UPDATE proofs SET gps_latitude = NULL, gps_longitude = NULL,
            accuracy_meters = NULL, device_info = '{}', taken_at = NULL, exif_latitude = NULL,
            exif_longitude = NULL, rejection_reason = NULL
        WHERE task_id = ?1";
    /// In any order of characters, what begins with a text and goes on with digits or hexadecimal
    /// letters stands between that text and the same with a `g`.
    DROP_NOTICES_OF = "DELETE FROM notices WHERE occasion >= ?1 AND occasion < ?2";
    DROP_DELIVERIES = "DELETE FROM deliveries WHERE event_id IN (
            SELECT event_id FROM deliveries WHERE account_id = ?1 LIMIT ?2)";
    DROP_EVENTS = "DELETE FROM events WHERE id IN (
            SELECT id FROM events WHERE account_id = ?1 LIMIT ?2)";
    /// Goes through all notices, which are those of the last months, once for each account erased.
    DROP_NOTICES = "DELETE FROM notices WHERE id IN (
            SELECT id FROM notices WHERE account_id = ?1 LIMIT ?2)";
    DROP_ANSWERS = "DELETE FROM idempotency_keys
        WHERE (account_id, environment, idempotency_key) IN (
            SELECT account_id, environment, idempotency_key FROM idempotency_keys
            WHERE account_id = ?1 LIMIT ?2)";
    ERASE_KEYS = "UPDATE api_keys SET name = ?2 WHERE account_id = ?1";
    ERASE_ACCOUNT = "UPDATE accounts SET name = ?2, company = NULL, erased_at = ?3
        WHERE id = ?1 AND status = 'deleted' AND erased_at IS NULL";
}

impl Tx<'_> {
    /// Up to `limit` tasks of an owner after the one with that number, each with its own.
    pub fn tasks_to_erase(
        &mut self,
        owner: Owner,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(TaskId, i64)>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([after.into(), limit.into()]);
        self.all(TASKS, &values)
    }

    /// The keys of all files that were sent as proof of a task.
    pub fn files_of_task(&mut self, task: TaskId) -> Result<Vec<String>, StoreError> {
        let keys: Vec<(String, String)> = self.all(FILES, &[task.into()])?;
        Ok(keys.into_iter().flat_map(<[String; 2]>::from).collect())
    }

    /// Takes the words and the place out of a task that is over, and who was where out of its proofs.
    pub fn erase_task(&mut self, task: TaskId) -> Result<(), StoreError> {
        self.defer(ERASE_TASK, &[task.into(), ERASED.into()])?;
        self.defer(ERASE_PROOFS, &[task.into()])
    }

    /// Forgets what was told on occasions whose names begin so.
    pub fn drop_notifications_of(&mut self, occasions: &str) -> Result<(), StoreError> {
        let end = format!("{occasions}g");
        self.defer(DROP_NOTICES_OF, &[occasions.into(), end.into()])
    }

    /// Forgets up to `limit` of each: deliveries, events, notices and stored answers of an account;
    /// tells whether there may be more.
    pub fn drop_traces(&mut self, account: AccountId, limit: i64) -> Result<bool, StoreError> {
        let mut more = false;
        // Deliveries before their events, without which they could not be made.
        for statement in [DROP_DELIVERIES, DROP_EVENTS, DROP_NOTICES, DROP_ANSWERS] {
            let values = [account.into(), limit.into()];
            more |= self.execute(statement, &values)? == limit as u64;
        }
        Ok(more)
    }

    /// The last step; a deleted account that was erased before stays as it is.
    pub fn erase_account(
        &mut self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.defer(ERASE_KEYS, &[account.into(), ERASED.into()])?;
        let values = [account.into(), ERASED.into(), now.into()];
        let erased = self.execute(ERASE_ACCOUNT, &values)?;
        Ok(erased == 1)
    }
}
