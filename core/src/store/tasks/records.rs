//! The record of a developer, kept in the totals of the owner, and tasks as searches show them.

use crate::domain::{DeveloperRecord, Owner, Task, TaskId};
use crate::store::tasks::task;
use crate::store::{StoreError, Tx, columns};

columns! {
    macro record;
    columns {
        judged, approved, reviewed_1h, reviewed_4h, reviewed_12h, reviewed_24h, reviewed_48h,
        reviewed_72h, reviewed_120h, reviewed_later,
    }
    row DeveloperRecord = DeveloperRecord {
        completed: 0,
        judged,
        approved,
        reviews: [
            reviewed_1h,
            reviewed_4h,
            reviewed_12h,
            reviewed_24h,
            reviewed_48h,
            reviewed_72h,
            reviewed_120h,
            reviewed_later,
        ],
    };
}

crate::store::statements! {
    RECORD = concat!("SELECT completed, ", record!(columns), " FROM task_totals
        WHERE account_id = ?1 AND environment = ?2");
    /// One row of the totals for each task.
    WITH_RECORD = concat!("SELECT ", task!(columns), ", completed, ", record!(columns), "
        FROM tasks JOIN (SELECT account_id AS of_account, environment AS of_environment, completed, ",
            record!(columns), " FROM task_totals) totals
            ON of_account = account_id AND of_environment = environment
        WHERE id = ?1");
}

impl Tx<'_> {
    /// The record of a developer. None before the first task.
    pub fn record_of(&mut self, owner: Owner) -> Result<Option<DeveloperRecord>, StoreError> {
        let values = [owner.account.into(), owner.environment.into()];
        let found = self.optional::<(i64, DeveloperRecord)>(RECORD, &values)?;
        Ok(found.map(|(completed, record)| DeveloperRecord {
            completed,
            ..record
        }))
    }

    /// Any task, with the record of its developer.
    pub fn task_and_record(
        &mut self,
        id: TaskId,
    ) -> Result<Option<(Task, DeveloperRecord)>, StoreError> {
        let found = self.optional(WITH_RECORD, &[id.into()])?;
        Ok(found.map(|(task, (completed, record))| {
            let record: DeveloperRecord = record;
            (
                task,
                DeveloperRecord {
                    completed,
                    ..record
                },
            )
        }))
    }
}
