//! Erases the data of a deleted account. The ledger, the moves of its tasks and the audit log stay.

use crate::domain::accounts::ERASED;
use crate::domain::{AccountId, Owner, ProofId, QueueKind, TaskId, Timestamp};
use crate::store::{PRUNED_AT_ONCE, StoreError, Tx, owned_by};

crate::store::statements! {
    TASKS = "SELECT id, number FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND number > ?3 ORDER BY number LIMIT ?4";
    FILES = "SELECT file_key, original_key FROM proofs WHERE task_id = ?1";
    ERASE_TASK = "UPDATE tasks SET title = ?2, description = ?2, instructions = NULL,
            location_address = NULL, location_city = ?2, location_state = ?2,
            location_latitude = 0, location_longitude = 0, metadata = '{}'
        WHERE id = ?1";
    /// The type of the proof, its distance and the decision stay. So do the hashes: they show nothing,
    /// and find a picture that is submitted again.
    ERASE_PROOFS = "UPDATE proofs SET gps_latitude = NULL, gps_longitude = NULL,
            accuracy_meters = NULL, device_info = '{}', taken_at = NULL, exif_latitude = NULL,
            exif_longitude = NULL, rejection_reason = NULL
        WHERE task_id = ?1";
    /// What people wrote: reasons for rejections, statements and notes on disputes.
    ERASE_REASONS = "UPDATE task_moves SET reason = NULL WHERE task_id = ?1 AND reason IS NOT NULL
        AND made_by IN ('developer', 'worker', 'admin', 'command_line')";
    PROOFS_OF_TASK = "SELECT id FROM proofs WHERE task_id = ?1";
    /// A range for a prefix that works in every collation: what goes on with digits or hexadecimal
    /// letters sorts between the prefix and the prefix with a `g`.
    DROP_NOTIFICATIONS_OF = "DELETE FROM notices WHERE occasion >= ?1 AND occasion < ?2";
    DROP_DELIVERIES = "DELETE FROM deliveries WHERE event_id IN (
            SELECT event_id FROM deliveries WHERE account_id = ?1 LIMIT 500)";
    DROP_EVENTS = "DELETE FROM events WHERE id IN (
            SELECT id FROM events WHERE account_id = ?1 LIMIT 500)";
    DROP_NOTIFICATIONS = "DELETE FROM notices WHERE id IN (
            SELECT id FROM notices WHERE account_id = ?1 LIMIT 500)";
    DROP_RESPONSES = "DELETE FROM idempotency_keys
        WHERE (account_id, environment, idempotency_key) IN (
            SELECT account_id, environment, idempotency_key FROM idempotency_keys
            WHERE account_id = ?1 LIMIT 500)";
    DROP_METADATA = "DELETE FROM task_metadata
        WHERE (account_id, environment, key, value, number) IN (
            SELECT account_id, environment, key, value, number FROM task_metadata
            WHERE account_id = ?1 LIMIT 500)";
    ERASE_KEYS = "UPDATE api_keys SET name = ?2, last_address = NULL WHERE account_id = ?1";
    ERASE_ACCOUNT = "UPDATE accounts SET name = ?2, company = NULL, erased_at = ?3
        WHERE id = ?1 AND status = 'deleted' AND erased_at IS NULL";
}

impl Tx<'_> {
    /// Up to `limit` tasks of an owner after the one with that number, each with its number.
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

    /// The storage keys of all files that were submitted as proof of a task.
    pub fn files_of_task(&mut self, task: TaskId) -> Result<Vec<String>, StoreError> {
        let keys: Vec<(String, String)> = self.all(FILES, &[task.into()])?;
        Ok(keys.into_iter().flat_map(<[String; 2]>::from).collect())
    }

    /// Erases the texts and the place of a task that is over, the places in its proofs, and what people
    /// wrote about it.
    pub fn erase_task(&mut self, task: TaskId) -> Result<(), StoreError> {
        let proofs: Vec<ProofId> = self.all(PROOFS_OF_TASK, &[task.into()])?;
        for proof in proofs {
            self.erase_note(QueueKind::FlaggedProof, &proof.to_string())?;
        }
        self.erase_note(QueueKind::Dispute, &task.to_string())?;
        self.defer(ERASE_TASK, &[task.into(), ERASED.into()])?;
        self.defer(ERASE_PROOFS, &[task.into()])?;
        self.defer(ERASE_REASONS, &[task.into()])
    }

    /// Deletes the notifications of occasions whose names begin so.
    pub fn drop_notifications_of(&mut self, occasions: &str) -> Result<(), StoreError> {
        let end = format!("{occasions}g");
        self.defer(DROP_NOTIFICATIONS_OF, &[occasions.into(), end.into()])
    }

    /// Deletes a batch of each: deliveries, events, notifications, stored responses and the index of
    /// the metadata of an account. Returns whether there may be more.
    pub fn drop_traces(&mut self, account: AccountId) -> Result<bool, StoreError> {
        let mut more = false;
        // Deliveries before events: a delivery needs its event.
        for statement in [
            DROP_DELIVERIES,
            DROP_EVENTS,
            DROP_NOTIFICATIONS,
            DROP_RESPONSES,
            DROP_METADATA,
        ] {
            more |= self.execute(statement, &[account.into()])? == PRUNED_AT_ONCE;
        }
        Ok(more)
    }

    /// The last step. False when the account was erased before.
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
