//! Live tasks whose deadline has passed. Partial indexes find them: no task that is over is in those.

use std::collections::HashSet;

use crate::domain::{Owner, Status, Task, TaskId, Timestamp, Windows};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    /// The lists of statuses are those of the partial indexes, in the same text.
    IN_STATUS = "SELECT id FROM tasks WHERE environment = 'live'
            AND status IN ('pending', 'assigned', 'in_progress', 'proof_submitted',
                'proof_rejected', 'disputed')
            AND status = ?1 AND status_since <= ?2
        ORDER BY status_since LIMIT ?3";
    OVERDUE = "SELECT id FROM tasks WHERE environment = 'live'
            AND status IN ('pending', 'funded', 'posted', 'assigned', 'in_progress',
                'proof_rejected')
            AND deadline <= ?1
        ORDER BY deadline LIMIT ?2";
    OPEN_TOO_LONG = "SELECT id FROM tasks WHERE environment = 'live' AND deadline IS NULL
            AND status IN ('funded', 'posted', 'assigned', 'in_progress', 'proof_rejected')
            AND funded_at <= ?1
        ORDER BY funded_at LIMIT ?2";
}

impl Tx<'_> {
    /// Live tasks that are due, up to `limit` for each reason.
    pub fn due_tasks(
        &mut self,
        windows: &Windows,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<TaskId>, StoreError> {
        let mut found = Vec::new();
        for status in Status::ALL {
            if let Some((window, _)) = windows.in_status(*status) {
                let since = now.minus(window);
                let values = [(*status).into(), since.into(), limit.into()];
                found.extend(self.all::<TaskId>(IN_STATUS, &values)?);
            }
        }
        let values = [now.into(), limit.into()];
        found.extend(self.all::<TaskId>(OVERDUE, &values)?);
        let values = [now.minus(windows.open).into(), limit.into()];
        found.extend(self.all::<TaskId>(OPEN_TOO_LONG, &values)?);
        let mut seen = HashSet::new();
        found.retain(|id| seen.insert(*id));
        Ok(found)
    }

    /// All tasks of an owner that are not over.
    pub fn open_tasks(&mut self, owner: Owner) -> Result<Vec<Task>, StoreError> {
        let mut found = Vec::new();
        for status in Status::ALL.iter().filter(|status| !status.is_final()) {
            found.extend(self.tasks_in_status(owner, *status)?);
        }
        Ok(found)
    }
}
