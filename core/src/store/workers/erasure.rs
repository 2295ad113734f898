//! Erases the data of a deleted worker. The ledger, the payouts, the tasks with the worker's id, their
//! proofs and the audit log stay.

use crate::domain::accounts::{ERASED, freed_email};
use crate::domain::{
    AccountId, ProofId, QueueKind, TaskId, Timestamp, Worker, WorkerId, WorkerStatus,
};
use crate::store::workers::open_task;
use crate::store::{PRUNED_AT_ONCE, StoreError, Tx, columns};

columns! {
    macro traced;
    columns { id, task_id, file_key, original_key }
    row TracedProof = TracedProof { id, task: task_id, file_key, original_key };
}

/// A proof of a deleted worker, and its files.
#[derive(Clone, Debug)]
pub struct TracedProof {
    pub id: ProofId,
    pub task: TaskId,
    pub file_key: String,
    pub original_key: String,
}

crate::store::statements! {
    OPEN_TASKS = concat!("SELECT id FROM tasks WHERE worker_id = ?1 AND ", open_task!(), " LIMIT ?2");
    DELETE = "UPDATE workers SET status = 'deleted', email = ?2, name = ?3, password_hash = '',
            claimed_email = NULL, pending_name = NULL, confirmed_skills = '[]',
            phone = NULL, skills = '[]', home_latitude = NULL, home_longitude = NULL, push_settings = '',
            deleted_at = ?4, updated_at = ?4
        WHERE id = ?1 AND status = ?5";
    DROP_TOKENS = "DELETE FROM worker_tokens WHERE worker_id = ?1";
    DROP_SUBSCRIPTIONS = "DELETE FROM push_subscriptions WHERE worker_id = ?1";
    PROOFS = concat!("SELECT ", traced!(columns), " FROM proofs
        WHERE worker_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3");
    /// A place that is the task's stays; another one tells where the worker was. A job deletes the original.
    ERASE_PROOF = "UPDATE proofs SET device_info = '{}', capture = NULL, exif_latitude = NULL, exif_longitude = NULL,
            gps_latitude = CASE WHEN geo_valid = 1 THEN gps_latitude END,
            gps_longitude = CASE WHEN geo_valid = 1 THEN gps_longitude END,
            original_key = file_key
        WHERE id = ?1";
    /// What the worker gave as reasons, and the notes of the admin who decided the worker's dispute.
    ERASE_REASONS = "UPDATE task_moves SET reason = NULL
        WHERE task_id = ?1 AND reason IS NOT NULL AND (maker_id = ?2
            OR (from_status = 'disputed' AND made_by = 'admin' AND EXISTS (
                SELECT 1 FROM task_moves d
                WHERE d.task_id = ?1 AND d.to_status = 'disputed' AND d.maker_id = ?2)))";
    ERASE_NOTE = "UPDATE queue_items SET note = NULL WHERE kind = ?1 AND subject = ?2";
    DROP_NOTIFICATIONS = "DELETE FROM notices WHERE id IN (
            SELECT id FROM notices WHERE worker_id = ?1 LIMIT 500)";
    DROP_RESPONSES = "DELETE FROM idempotency_keys
        WHERE (account_id, environment, idempotency_key) IN (
            SELECT account_id, environment, idempotency_key FROM idempotency_keys
            WHERE account_id = ?1 LIMIT 500)";
    /// A request that had begun before the deletion may have set them after it.
    ERASED_AT = "UPDATE workers SET erased_at = ?2, push_settings = ''
        WHERE id = ?1 AND status = 'deleted' AND erased_at IS NULL";
}

impl Tx<'_> {
    /// Up to `limit` tasks that a worker still has to do with.
    pub fn open_tasks_of(
        &mut self,
        worker: WorkerId,
        limit: i64,
    ) -> Result<Vec<TaskId>, StoreError> {
        self.all(OPEN_TASKS, &[worker.into(), limit.into()])
    }

    /// Deletes a worker who was read and locked: erases the profile, revokes all tokens, and drops
    /// subscriptions and documents. Returns the worker as it is then.
    pub fn delete_worker(
        &mut self,
        mut worker: Worker,
        now: Timestamp,
    ) -> Result<Worker, StoreError> {
        let from = worker.status;
        worker.status = WorkerStatus::Deleted;
        worker.email = freed_email(worker.id);
        worker.name = ERASED.to_owned();
        (worker.phone, worker.home) = (None, None);
        worker.skills.clear();
        worker.confirmed_skills.clear();
        worker.pending_name = None;
        worker.updated_at = now;
        let values = [
            worker.id.into(),
            (&worker.email).into(),
            (&worker.name).into(),
            now.into(),
            from.into(),
        ];
        self.execute_one(DELETE, &values)?;
        self.worker_changed(worker.id, now)?;
        self.drop_verification_files(worker.id, now)?;
        self.end_uploads_of(worker.id, now)?;
        self.shut_worker_out(worker.id)?;
        Ok(worker)
    }

    /// Revokes all tokens and drops all subscriptions.
    pub fn shut_worker_out(&mut self, worker: WorkerId) -> Result<(), StoreError> {
        self.defer(DROP_TOKENS, &[worker.into()])?;
        self.defer(DROP_SUBSCRIPTIONS, &[worker.into()])
    }

    /// Up to `limit` proofs of a worker after the given one.
    pub fn proofs_to_erase(
        &mut self,
        worker: WorkerId,
        after: &str,
        limit: i64,
    ) -> Result<Vec<TracedProof>, StoreError> {
        self.all(PROOFS, &[worker.into(), after.into(), limit.into()])
    }

    /// Erases what tells about the person in a proof, the reasons that the worker gave for moves of its
    /// task, those that an admin gave for deciding the worker's dispute, and notes about the proof.
    pub fn erase_proof_of_worker(
        &mut self,
        worker: WorkerId,
        proof: ProofId,
        task: TaskId,
    ) -> Result<(), StoreError> {
        self.defer(ERASE_PROOF, &[proof.into()])?;
        self.defer(ERASE_REASONS, &[task.into(), worker.into()])?;
        self.erase_note(QueueKind::FlaggedProof, &proof.to_string())
    }

    /// Erases the note of an item of the review queue.
    pub fn erase_note(&mut self, kind: QueueKind, subject: &str) -> Result<(), StoreError> {
        self.defer(ERASE_NOTE, &[kind.into(), subject.into()])
    }

    /// Deletes a batch of each: notifications and stored responses of a worker. Returns whether there
    /// may be more.
    pub fn drop_traces_of_worker(&mut self, worker: WorkerId) -> Result<bool, StoreError> {
        let notifications = self.execute(DROP_NOTIFICATIONS, &[worker.into()])?;
        let scope = AccountId::of_worker(worker);
        let responses = self.execute(DROP_RESPONSES, &[scope.into()])?;
        Ok(notifications == PRUNED_AT_ONCE || responses == PRUNED_AT_ONCE)
    }

    /// The last step. False when the worker was erased before.
    pub fn worker_erased(&mut self, worker: WorkerId, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(ERASED_AT, &[worker.into(), now.into()])? == 1)
    }
}
