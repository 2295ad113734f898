//! Live tasks whose deadline has passed. Partial indexes find them: no task that is over is in those.

use std::collections::HashSet;

use crate::domain::proofs::uploads::upload::ALIVE;
use crate::domain::{Status, TaskId, Timestamp, Windows};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    /// The statuses are those of the partial indexes, in the same words, or SQLite would not use those.
    IN_STATUS = "SELECT id FROM tasks WHERE environment = 'live'
            AND (status = 'pending' OR status = 'assigned' OR status = 'in_progress'
                OR status = 'proof_submitted' OR status = 'proof_rejected' OR status = 'disputed')
            AND status = ?1 AND status_since <= ?2
            AND NOT (status_since > ?4 AND EXISTS (SELECT 1 FROM uploads u
                WHERE u.task_id = tasks.id AND u.ended_at IS NULL AND u.last_byte_at > ?5
                    AND u.worker_id = tasks.worker_id AND u.begun_at <= tasks.status_since + ?6))
        ORDER BY status_since LIMIT ?3";
    OVERDUE = "SELECT id FROM tasks WHERE environment = 'live'
            AND (status = 'pending' OR status = 'funded' OR status = 'posted' OR status = 'assigned'
                OR status = 'in_progress' OR status = 'proof_rejected')
            AND deadline <= ?1
            AND NOT (deadline > ?3 AND EXISTS (SELECT 1 FROM uploads u
                WHERE u.task_id = tasks.id AND u.ended_at IS NULL AND u.last_byte_at > ?4
                    AND u.worker_id = tasks.worker_id AND u.begun_at <= tasks.deadline))
        ORDER BY deadline LIMIT ?2";
    OPEN_TOO_LONG = "SELECT id FROM tasks WHERE environment = 'live' AND deadline IS NULL
            AND (status = 'funded' OR status = 'posted' OR status = 'assigned'
                OR status = 'in_progress' OR status = 'proof_rejected')
            AND funded_at <= ?1
            AND NOT (funded_at > ?3 AND EXISTS (SELECT 1 FROM uploads u
                WHERE u.task_id = tasks.id AND u.ended_at IS NULL AND u.last_byte_at > ?4
                    AND u.worker_id = tasks.worker_id AND u.begun_at <= tasks.funded_at + ?5))
        ORDER BY funded_at LIMIT ?2";
}

impl Tx<'_> {
    /// Live tasks that are due, up to `limit` for each reason. Tasks for which bytes of an upload still come
    /// are left out, so that they do not crowd out others.
    pub fn due_tasks(
        &mut self,
        windows: &Windows,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<TaskId>, StoreError> {
        let mut found = Vec::new();
        let alive = now.minus(ALIVE);
        let grace = windows.upload_grace;
        for status in Status::ALL {
            if let Some((window, _)) = windows.in_status(*status) {
                let since = now.minus(window);
                let values = [
                    (*status).into(),
                    since.into(),
                    limit.into(),
                    since.minus(grace).into(),
                    alive.into(),
                    (window.as_millis() as i64).into(),
                ];
                found.extend(self.all::<TaskId>(IN_STATUS, &values)?);
            }
        }
        let values = [
            now.into(),
            limit.into(),
            now.minus(grace).into(),
            alive.into(),
        ];
        found.extend(self.all::<TaskId>(OVERDUE, &values)?);
        let since = now.minus(windows.open);
        let values = [
            since.into(),
            limit.into(),
            since.minus(grace).into(),
            alive.into(),
            (windows.open.as_millis() as i64).into(),
        ];
        found.extend(self.all::<TaskId>(OPEN_TOO_LONG, &values)?);
        let mut seen = HashSet::new();
        found.retain(|id| seen.insert(*id));
        Ok(found)
    }
}
