//! Tasks: creating, moving, editing and listing them.

pub(super) mod due_tasks;
pub(super) mod history;
pub(super) mod posted_tasks;
pub(super) mod ranges;
pub(super) mod totals;

use crate::domain::tasks::{Category, Location, Priority, Skill};
use crate::domain::{
    AccountId, Entry, Environment, HistoryEntry, Moved, NewEvent, Owner, Status, Task, TaskId,
    Timestamp, WorkerId,
};
use crate::store::events::{Numbered, numbered};
use crate::store::{FromRow, KeyHolder, Lookup, Row, StoreError, Tx, Value, columns, owned_by};

columns! {
    macro task;
    table tasks;
    fn task_values<'a>(task: &'a Task, number: i64);
    columns {
        id: task.id,
        account_id: task.owner.account,
        environment: task.owner.environment,
        title: &task.title,
        description: &task.description,
        instructions: &task.instructions,
        category: task.category,
        required_skills: &task.required_skills,
        location_address: &task.location.address,
        location_city: &task.location.city,
        location_state: &task.location.state,
        location_latitude: task.location.latitude,
        location_longitude: task.location.longitude,
        budget_cents: task.budget_cents,
        task_type: task.task_type,
        fee_percent: task.fee_percent,
        priority: task.priority,
        status: task.status,
        status_since: task.status_since,
        worker_id: task.worker,
        proof_attempts: task.proof_attempts,
        deadline: task.deadline,
        proof_types: &task.proof_types,
        metadata: &task.metadata,
        funded_at: task.funded_at,
        assigned_at: task.assigned_at,
        started_at: task.started_at,
        completed_at: task.completed_at,
        cancelled_at: task.cancelled_at,
        created_at: task.created_at,
        updated_at: task.updated_at,
        escrow_cents: task.escrow_cents,
    }
    inserted { number: number }
    row Task = Task {
        id,
        owner: Owner { account: account_id, environment },
        title,
        description,
        instructions,
        category,
        required_skills,
        location: Location {
            address: location_address,
            city: location_city,
            state: location_state,
            latitude: location_latitude,
            longitude: location_longitude,
        },
        budget_cents,
        task_type,
        fee_percent,
        priority,
        status,
        status_since,
        worker: worker_id,
        proof_attempts,
        deadline,
        proof_types,
        metadata,
        funded_at,
        assigned_at,
        started_at,
        completed_at,
        cancelled_at,
        created_at,
        updated_at,
        escrow_cents,
    };
}

columns! {
    macro listed;
    columns {
        id, title, status, category, budget_cents, location_city, location_state, priority,
        worker_id, created_at, updated_at,
    }
    row ListedTask = ListedTask {
        id,
        title,
        status,
        category,
        budget_cents,
        location_city,
        location_state,
        priority,
        worker: worker_id,
        created_at,
        updated_at,
    };
}

columns! {
    macro edited;
    table tasks;
    fn edited_values<'a>(task: &'a Task);
    columns {
        title: &task.title,
        description: &task.description,
        instructions: &task.instructions,
        deadline: task.deadline,
        updated_at: task.updated_at,
    }
    parameters { id: task.id, status: task.status }
}

columns! {
    macro moved;
    table tasks;
    fn moved_values<'a>(task: &'a Task, from: Status);
    columns {
        status: task.status,
        status_since: task.status_since,
        worker_id: task.worker,
        proof_attempts: task.proof_attempts,
        funded_at: task.funded_at,
        assigned_at: task.assigned_at,
        started_at: task.started_at,
        completed_at: task.completed_at,
        cancelled_at: task.cancelled_at,
        updated_at: task.updated_at,
        escrow_cents: task.escrow_cents,
    }
    parameters { id: task.id, from: from }
}

/// Where tasks are found with the totals of their owner, and with how many endpoints the account has.
macro_rules! with_totals {
    () => {
        ",
            (SELECT COUNT(*) FROM webhook_endpoints e WHERE e.account_id = tasks.account_id)
        FROM tasks JOIN (SELECT account_id AS of_account, environment AS of_environment,
            last_event, last_event_at FROM task_totals) totals
            ON of_account = account_id AND of_environment = environment"
    };
}

crate::store::statements! {
    INSERT = task!(insert);
    /// The owner is compared as an expression, which has no index: on a table that is not analyzed
    /// yet, PostgreSQL would otherwise go through all tasks of the owner.
    ONE = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    /// The holder of a key, and the task if it is the holder's own. The columns of the key are named
    /// apart from those of the task. The owner is compared as an expression, as in `ONE`.
    WITH_KEY = concat!("SELECT h.key_id, h.key_account, h.key_environment, h.tier, h.account_status,
            h.ahead_ms, ", task!(columns), "
        FROM (SELECT k.id AS key_id, k.account_id AS key_account, k.environment AS key_environment,
                a.tier AS tier, a.status AS account_status,
                CASE WHEN k.environment = 'test' THEN a.test_ahead_ms ELSE 0 END AS ahead_ms
            FROM api_keys k JOIN accounts a ON a.id = k.account_id
            WHERE k.key_hash = ?1 AND COALESCE(k.revoked_at, -1) = -1) h
        LEFT JOIN tasks ON id = ?2 AND COALESCE(account_id, '') = h.key_account
            AND COALESCE(environment, '') = h.key_environment");
    BY_ID = concat!("SELECT ", task!(columns), " FROM tasks WHERE id = ?1");
    /// With the totals of its owner, which every move changes. Locks are taken in this order: the task,
    /// then the totals.
    ONE_WITH_TOTALS = concat!("SELECT ", task!(columns), ", ", numbered!(columns), with_totals!(), "
        WHERE id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    BY_ID_WITH_TOTALS = concat!("SELECT ", task!(columns), ", ", numbered!(columns), with_totals!(), "
        WHERE id = ?1");
    ACCOUNT_OF = "SELECT account_id FROM tasks WHERE id = ?1";
    BEFORE = concat!("SELECT ", task!(columns), " FROM tasks WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    IN_STATUS_BEFORE = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE id < ?1 AND status = ?3 ORDER BY id DESC LIMIT ?2");
    OF_ACCOUNT_IN_STATUS_BEFORE = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE id < ?1 AND account_id = ?3 AND status = ?4 ORDER BY id DESC LIMIT ?2");
    OF_WORKER = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE worker_id = ?1 AND environment = 'live' ORDER BY assigned_at DESC, id DESC
        LIMIT ?2 OFFSET ?3");
    COUNT_OF_WORKER = "SELECT COUNT(*) FROM tasks WHERE worker_id = ?1 AND environment = 'live'";
    EDIT = concat!("UPDATE tasks SET ", edited!(set),
        " WHERE id = ", edited!(id), " AND status = ", edited!(status));
    MOVE = concat!("UPDATE tasks SET ", moved!(set),
        " WHERE id = ", moved!(id), " AND status = ", moved!(from));
    /// Numbers a new task and counts it and its money, unless the monthly limit is reached.
    NUMBER = concat!("UPDATE task_totals SET last_number = last_number + 1,
            month_tasks = CASE WHEN month = ?3 THEN month_tasks + 1 ELSE 1 END, month = ?3,
            pending = pending + ?5, funded = funded + ?6, processor_cents = processor_cents + ?7,
            last_event = last_event + ?8,
            last_event_at = CASE WHEN last_event_at > ?9 THEN last_event_at ELSE ?9 END
        WHERE account_id = ?1 AND environment = ?2 AND month >= 0
            AND (month <> ?3 OR month_tasks < ?4)
        RETURNING last_number, ", numbered!(columns));
    POSTED = concat!("SELECT number, ", task!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = 'posted' AND number > ?3
        ORDER BY number LIMIT ?4");
    /// Goes from account to account: their tasks are not read.
    WITH_POSTED = "WITH RECURSIVE found (account_id, place) AS (
            SELECT (SELECT MIN(account_id) FROM tasks
                WHERE environment = 'live' AND status = 'posted' AND account_id > ?1),
                CAST(1 AS BIGINT)
            UNION ALL
            SELECT (SELECT MIN(t.account_id) FROM tasks t
                WHERE t.environment = 'live' AND t.status = 'posted'
                    AND t.account_id > found.account_id), found.place + 1
            FROM found WHERE found.account_id IS NOT NULL AND found.place < ?2)
        SELECT account_id FROM found WHERE account_id IS NOT NULL";
    /// Goes from one set of skills to the next.
    POSTED_SKILLS = "WITH RECURSIVE found (skills) AS (
            SELECT (SELECT MIN(required_skills) FROM tasks
                WHERE environment = 'live' AND status = 'posted' AND account_id = ?1)
            UNION ALL
            SELECT (SELECT MIN(t.required_skills) FROM tasks t
                WHERE t.environment = 'live' AND t.status = 'posted' AND t.account_id = ?1
                    AND t.required_skills > found.skills)
            FROM found WHERE found.skills IS NOT NULL)
        SELECT skills FROM found WHERE skills IS NOT NULL";
    IN_STATUS = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = ?3 ORDER BY number");
    PAGE = concat!("SELECT ", listed!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND number <= ?3
        ORDER BY number DESC LIMIT ?4");
    /// What is skipped is skipped in the index. Only the page itself is read from the table.
    PAGE_BY_STATUS = concat!("SELECT ", listed!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = ?3 AND number <= (
            SELECT number FROM tasks
            WHERE account_id = ?1 AND environment = ?2 AND status = ?3 AND number <= ?4
            ORDER BY number DESC LIMIT 1 OFFSET ?5)
        ORDER BY number DESC LIMIT ?6");
}

/// Which tasks of all accounts to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskFilter {
    pub account: Option<AccountId>,
    pub status: Option<Status>,
}

/// A task as lists show it.
#[derive(Clone, Debug)]
pub struct ListedTask {
    pub id: TaskId,
    pub title: String,
    pub status: Status,
    pub category: Category,
    pub budget_cents: i64,
    pub location_city: String,
    pub location_state: String,
    pub priority: Priority,
    pub worker: Option<WorkerId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A move, with what is told of it.
pub struct StoredMove<'a> {
    pub moved: &'a Moved,
    pub entry: HistoryEntry,
    pub events: Vec<NewEvent>,
}

#[derive(Clone, Debug)]
pub struct TaskPage {
    pub tasks: Vec<ListedTask>,
    pub total: i64,
}

/// The holder of a key, and a task of theirs.
pub struct KeyAndTask {
    pub holder: KeyHolder,
    pub task: Option<Task>,
}

impl FromRow for KeyAndTask {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            holder: row.next()?,
            task: row.joined()?,
        })
    }
}

impl Lookup<KeyAndTask> {
    /// The holder of a key that is not revoked, and the task with this id if it is the holder's.
    pub fn key_and_task(key_hash: String, id: TaskId) -> Self {
        Self::new(WITH_KEY, vec![key_hash.into(), id.into()])
    }
}

impl Tx<'_> {
    /// Stores a new task with its payment, if it is paid, and its first moves and their events. False
    /// when the monthly limit is reached.
    pub fn insert_task(
        &mut self,
        task: &Task,
        payment: Option<&Entry>,
        moves: &[(HistoryEntry, NewEvent)],
        monthly_limit: i64,
    ) -> Result<bool, StoreError> {
        let counted = |status| Value::Int(i64::from(task.status == status));
        let numbers: Option<(i64, Numbered)> = self.optional(
            NUMBER,
            &[
                task.owner.account.into(),
                task.owner.environment.into(),
                task.created_at.month().into(),
                monthly_limit.into(),
                counted(Status::Pending),
                counted(Status::Funded),
                payment
                    .map_or(0, |entry| entry.postings.processor_cents)
                    .into(),
                (moves.len() as i64).into(),
                task.updated_at.into(),
            ],
        )?;
        let Some((number, numbered)) = numbers else {
            return Ok(false);
        };
        self.locked.set_totals(task.owner, numbered);
        self.defer(INSERT, &task_values(task, number))?;
        self.count_in_ranges(task.owner, number)?;
        if let Some(entry) = payment {
            self.write_entry(entry)?;
        }
        let events: Vec<_> = moves.iter().map(|(_, event)| event.clone()).collect();
        let first = self.write_events(task.owner, &events, numbered)?;
        for (number, (entry, _)) in (first..).zip(moves) {
            self.add_move(task.id, number, entry)?;
        }
        Ok(true)
    }

    pub fn task_of(&mut self, owner: Owner, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.optional(ONE, &one(owner, id))
    }

    /// The task, locked until this transaction ends.
    pub fn task_to_change(&mut self, owner: Owner, id: TaskId) -> Result<Option<Task>, StoreError> {
        let task = self.optional_locked(ONE, &one(owner, id))?;
        Ok(self.locked_task(task))
    }

    /// Any task, locked like `task_to_change`: for what the service does by itself.
    pub fn any_task_to_change(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let task = self.optional_locked(BY_ID, &[id.into()])?;
        Ok(self.locked_task(task))
    }

    /// Like `task_to_change`, and locks the owner's totals too, which saves the move a round trip. Not
    /// for a transaction that locks a worker afterwards.
    pub fn task_to_move(&mut self, owner: Owner, id: TaskId) -> Result<Option<Task>, StoreError> {
        let found = self.optional_locked(ONE_WITH_TOTALS, &one(owner, id))?;
        Ok(self.locked_with_totals(found))
    }

    /// Like `any_task_to_change`, and locks the owner's totals like `task_to_move`.
    pub fn any_task_to_move(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let found = self.optional_locked(BY_ID_WITH_TOTALS, &[id.into()])?;
        Ok(self.locked_with_totals(found))
    }

    pub fn any_task(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.optional(BY_ID, &[id.into()])
    }

    pub fn account_of_task(&mut self, id: TaskId) -> Result<Option<AccountId>, StoreError> {
        self.optional(ACCOUNT_OF, &[id.into()])
    }

    /// Up to `limit` tasks of all accounts, newest first, before the given one.
    pub fn tasks_before(
        &mut self,
        filter: TaskFilter,
        before: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<Task>, StoreError> {
        let before = crate::store::before(before);
        let mut values = vec![before.as_str().into(), limit.into()];
        let Some(account) = filter.account else {
            values.extend(filter.status.map(Value::from));
            let statement = match filter.status {
                None => BEFORE,
                Some(_) => IN_STATUS_BEFORE,
            };
            return self.all(statement, &values);
        };
        // An index for all statuses would be one more to write at every move.
        let of_filter = filter.status.as_slice();
        let statuses = match filter.status {
            Some(_) => of_filter,
            None => Status::ALL,
        };
        let mut tasks: Vec<Task> = Vec::new();
        for status in statuses {
            let values = [
                before.as_str().into(),
                limit.into(),
                account.into(),
                (*status).into(),
            ];
            tasks.extend(self.all::<Task>(OF_ACCOUNT_IN_STATUS_BEFORE, &values)?);
        }
        tasks.sort_unstable_by_key(|task| std::cmp::Reverse(task.id));
        tasks.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(tasks)
    }

    /// A page of the live tasks that a worker has or had, newest first, and how many there are.
    pub fn tasks_of_worker(
        &mut self,
        worker: WorkerId,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Task>, i64), StoreError> {
        let values = [worker.into(), limit.into(), offset.into()];
        let tasks = self.all(OF_WORKER, &values)?;
        let count = self.optional(COUNT_OF_WORKER, &[worker.into()])?;
        Ok((tasks, count.unwrap_or(0)))
    }

    /// Stores the edited fields of a task that is still in the status it was read in.
    pub fn edit_task(&mut self, task: &Task) -> Result<(), StoreError> {
        self.execute_one(EDIT, &edited_values(task))
    }

    /// Stores moves of a task, each from where the one before it ended: the task after them, the totals,
    /// and for each the ledger entry, the history entry and the events.
    pub fn move_task(&mut self, moves: &[StoredMove<'_>]) -> Result<(), StoreError> {
        let (Some(first), Some(last)) = (moves.first(), moves.last()) else {
            return Ok(());
        };
        let (from, task) = (first.moved.from, &last.moved.task);
        let values = moved_values(task, from);
        if self.locked.has_task(task.id) {
            self.change_locked(MOVE, &values)?;
        } else {
            self.execute_one(MOVE, &values)?;
        }
        let count: usize = moves.iter().map(|made| made.events.len()).sum();
        let moved = moves.iter().map(|made| made.moved);
        let numbered = self.count_moves(from, task, moved, count as i64)?;
        let mut next = numbered.last + 1 - count as i64;
        for made in moves {
            if let Some(entry) = &made.moved.entry {
                self.write_entry(entry)?;
            }
            self.insert_events(task.owner, &made.events, next, numbered.at)?;
            self.add_move(task.id, next, &made.entry)?;
            next += made.events.len() as i64;
        }
        if count > 0 {
            self.tell_of_events(task.owner, numbered.at)?;
        }
        self.show_or_hide(from, task)
    }

    /// Workers can find live tasks while they are posted, and only then.
    fn show_or_hide(&mut self, from: Status, task: &Task) -> Result<(), StoreError> {
        if task.owner.environment != Environment::Live {
            return Ok(());
        }
        if task.status == Status::Posted {
            self.post_task(task)
        } else if from == Status::Posted {
            self.withdraw_task(task.id)
        } else {
            Ok(())
        }
    }

    pub(in crate::store) fn tasks_in_status(
        &mut self,
        owner: Owner,
        status: Status,
    ) -> Result<Vec<Task>, StoreError> {
        let mut values = owned_by(owner);
        values.push(status.into());
        self.all(IN_STATUS, &values)
    }

    /// Up to `limit` posted tasks of an owner after the one with that number, each with its number.
    pub fn posted_tasks_of(
        &mut self,
        owner: Owner,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(i64, Task)>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([after.into(), limit.into()]);
        self.all(POSTED, &values)
    }

    /// Up to `limit` accounts that have live tasks posted, after the one with that id.
    pub fn accounts_with_posted_tasks(
        &mut self,
        after: &str,
        limit: i64,
    ) -> Result<Vec<AccountId>, StoreError> {
        self.all(WITH_POSTED, &[after.into(), limit.into()])
    }

    /// The distinct sets of skills that an account's posted live tasks require.
    pub fn skills_of_posted_tasks(
        &mut self,
        account: AccountId,
    ) -> Result<Vec<Vec<Skill>>, StoreError> {
        self.all(POSTED_SKILLS, &[account.into()])
    }

    /// A page of an owner's tasks, newest first. In a snapshot.
    pub fn tasks_of(
        &mut self,
        owner: Owner,
        status: Option<Status>,
        limit: i64,
        offset: i64,
    ) -> Result<TaskPage, StoreError> {
        let counts = self.task_counts(owner)?;
        let mut values = owned_by(owner);
        let (total, tasks) = match status {
            Some(status) => {
                let total = counts.in_status(status);
                if offset >= total {
                    let tasks = Vec::new();
                    return Ok(TaskPage { tasks, total });
                }
                let start = self.page_start(owner, status, offset)?;
                values.extend([
                    status.into(),
                    start.number.into(),
                    start.skip.into(),
                    limit.into(),
                ]);
                (total, self.all(PAGE_BY_STATUS, &values)?)
            }
            None => {
                let total = counts.total();
                values.extend([total.saturating_sub(offset).into(), limit.into()]);
                (total, self.all(PAGE, &values)?)
            }
        };
        Ok(TaskPage { tasks, total })
    }
}

fn one(owner: Owner, id: TaskId) -> [Value<'static>; 3] {
    [id.into(), owner.account.into(), owner.environment.into()]
}
