//! Searching an owner's tasks: by an index over metadata, and by reading on from a number.

use crate::domain::tasks::{Category, metadata};
use crate::domain::{Environment, Owner, Status, Task, TaskId, Timestamp};
use crate::store::tasks::lists::{ListedTask, listed};
use crate::store::{StoreError, Tx, Value, columns, owned_by};

columns! {
    macro candidate;
    columns {
        number, title, category, status, location_address, location_city, location_state,
        created_at,
    }
    row Candidate = Candidate {
        number,
        title,
        category,
        status,
        location_address,
        location_city,
        location_state,
        created_at,
    };
}

columns! {
    macro searched;
    columns { number, metadata, deadline, environment }
    row SearchedFields = SearchedFields {
        number,
        metadata,
        deadline,
        environment,
    };
}

columns! {
    macro older;
    columns { id, account_id, environment, number, metadata }
    row OlderTask = OlderTask {
        id,
        owner: Owner { account: account_id, environment },
        number,
        metadata,
    };
}

columns! {
    macro wanted;
    table tasks;
    fn wanted_values<'a>(owner: Owner, numbers: &'a [i64; SEARCHED_AT_ONCE]);
    columns {
        number_0: numbers[0],
        number_1: numbers[1],
        number_2: numbers[2],
        number_3: numbers[3],
        number_4: numbers[4],
        number_5: numbers[5],
        number_6: numbers[6],
        number_7: numbers[7],
        number_8: numbers[8],
        number_9: numbers[9],
        number_10: numbers[10],
        number_11: numbers[11],
        number_12: numbers[12],
        number_13: numbers[13],
        number_14: numbers[14],
        number_15: numbers[15],
        number_16: numbers[16],
        number_17: numbers[17],
        number_18: numbers[18],
        number_19: numbers[19],
    }
    parameters { account_id: owner.account, environment: owner.environment }
}

crate::store::statements! {
    ADD = "INSERT INTO task_metadata (account_id, environment, key, value, number)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    ADD_MISSING = "INSERT INTO task_metadata (account_id, environment, key, value, number)
        VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    SCAN = concat!("SELECT ", candidate!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4");
    SCAN_BY_METADATA = concat!("SELECT ", candidate!(columns), " FROM (
            SELECT number AS found_number FROM task_metadata
            WHERE account_id = ?1 AND environment = ?2 AND key = ?5 AND value = ?6 AND number < ?3
            ORDER BY number DESC LIMIT ?4) found
        JOIN tasks ON account_id = ?1 AND environment = ?2 AND number = found_number");
    BY_NUMBER = concat!("SELECT ", listed!(columns), ", ", searched!(columns), " FROM tasks
        WHERE account_id = ", wanted!(account_id), " AND environment = ", wanted!(environment), "
            AND number IN (", wanted!(placeholders), ")");
    BACKFILL = "SELECT last_task, again_at FROM metadata_backfill WHERE id = 1";
    BACKFILL_PAGE = concat!("SELECT ", older!(columns), " FROM tasks
        WHERE id > ?1 ORDER BY id LIMIT ?2");
    /// Unless another process has come further.
    ADVANCE_BACKFILL = "UPDATE metadata_backfill SET last_task = ?1
        WHERE id = 1 AND last_task < ?1 AND COALESCE(again_at, -1) = ?2";
    REPEAT_BACKFILL = "UPDATE metadata_backfill SET last_task = '', again_at = ?1
        WHERE id = 1 AND again_at IS NULL";
    END_BACKFILL = "DELETE FROM metadata_backfill WHERE id = 1";
}

/// So many tasks are read by their numbers at once; the statement has as many places.
pub const SEARCHED_AT_ONCE: usize = 20;

/// What a search looks at before it reads a task.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub number: i64,
    pub title: String,
    pub category: Category,
    pub status: Status,
    pub location_address: Option<String>,
    pub location_city: String,
    pub location_state: String,
    pub created_at: Timestamp,
}

/// A task that was found: as lists show it, and more.
pub type SearchedTask = (ListedTask, SearchedFields);

#[derive(Clone, Debug)]
pub struct SearchedFields {
    pub number: i64,
    pub metadata: String,
    pub deadline: Option<Timestamp>,
    pub environment: Environment,
}

/// How far the index of metadata has come with older tasks.
#[derive(Clone, Debug)]
pub struct MetadataBackfill {
    pub last_task: String,
    /// All tasks are looked through once more after this time. None before the first time is done.
    pub again_at: Option<Timestamp>,
}

/// A task whose metadata may not be indexed yet.
#[derive(Clone, Debug)]
pub struct OlderTask {
    pub id: TaskId,
    owner: Owner,
    number: i64,
    metadata: String,
}

impl Tx<'_> {
    /// Makes a new task findable by its metadata.
    pub(in crate::store) fn index_metadata(
        &mut self,
        task: &Task,
        number: i64,
    ) -> Result<(), StoreError> {
        for (key, value) in metadata::searchable(&task.metadata) {
            self.defer(ADD, &indexed(task.owner, key, value, number))?;
        }
        Ok(())
    }

    /// Up to `limit` tasks of an owner before that number, newest first: all, or those with this key
    /// and value in their metadata.
    pub fn tasks_to_search(
        &mut self,
        owner: Owner,
        with: Option<&(String, String)>,
        before: i64,
        limit: i64,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([before.into(), limit.into()]);
        let Some((key, value)) = with else {
            return self.all(SCAN, &values);
        };
        values.extend([key.into(), value.into()]);
        let mut found: Vec<Candidate> = self.all(SCAN_BY_METADATA, &values)?;
        found.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.number));
        Ok(found)
    }

    /// The tasks with these numbers, at most `SEARCHED_AT_ONCE`, newest first.
    pub fn tasks_by_number(
        &mut self,
        owner: Owner,
        numbers: &[i64],
    ) -> Result<Vec<SearchedTask>, StoreError> {
        const NONE: i64 = -1;
        let mut wanted = [NONE; SEARCHED_AT_ONCE];
        for (place, number) in wanted.iter_mut().zip(numbers) {
            *place = *number;
        }
        let values = wanted_values(owner, &wanted);
        let mut tasks: Vec<SearchedTask> = self.all(BY_NUMBER, &values)?;
        tasks.sort_unstable_by_key(|(_, more)| std::cmp::Reverse(more.number));
        Ok(tasks)
    }

    /// None when the metadata of all tasks is indexed.
    pub fn metadata_backfill(&mut self) -> Result<Option<MetadataBackfill>, StoreError> {
        let found: Option<(String, Option<Timestamp>)> = self.optional(BACKFILL, &[])?;
        Ok(found.map(|(last_task, again_at)| MetadataBackfill {
            last_task,
            again_at,
        }))
    }

    /// Up to `limit` tasks of all owners in the order of their ids, after that one.
    pub fn tasks_to_index(
        &mut self,
        after: &str,
        limit: i64,
    ) -> Result<Vec<OlderTask>, StoreError> {
        self.all(BACKFILL_PAGE, &[after.into(), limit.into()])
    }

    /// Indexes tasks, and keeps how far that has come.
    pub fn index_older_tasks(
        &mut self,
        tasks: &[OlderTask],
        progress: &MetadataBackfill,
    ) -> Result<(), StoreError> {
        for task in tasks {
            for (key, value) in metadata::searchable(&task.metadata) {
                self.defer(ADD_MISSING, &indexed(task.owner, key, value, task.number))?;
            }
        }
        let again_at = progress.again_at.map_or(-1, Timestamp::as_millis);
        let values = [(&progress.last_task).into(), again_at.into()];
        self.execute(ADVANCE_BACKFILL, &values).map(drop)
    }

    /// The first time is done. The second begins at that time.
    pub fn repeat_metadata_backfill(&mut self, at: Timestamp) -> Result<(), StoreError> {
        self.execute(REPEAT_BACKFILL, &[at.into()]).map(drop)
    }

    pub fn end_metadata_backfill(&mut self) -> Result<(), StoreError> {
        self.execute(END_BACKFILL, &[]).map(drop)
    }
}

fn indexed(owner: Owner, key: String, value: String, number: i64) -> [Value<'static>; 5] {
    [
        owner.account.into(),
        owner.environment.into(),
        key.into(),
        value.into(),
        number.into(),
    ]
}
