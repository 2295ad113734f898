//! Tasks: creating, moving and editing them.

pub(super) mod approvals;
pub(super) mod due_tasks;
pub(super) mod history;
pub(super) mod lists;
pub(super) mod posted_tasks;
pub(super) mod ranges;
pub(super) mod records;
pub(super) mod search;
pub(super) mod totals;
pub(super) mod with_key;

use std::sync::Arc;

use crate::domain::tasks::Location;
use crate::domain::{
    AccountId, Entry, Environment, HistoryEntry, Moved, NewEvent, Owner, Status, Task, TaskId,
};
use crate::store::tasks::totals::{Added, Numbered, numbered};
use crate::store::tasks::with_key::KeptTask;
use crate::store::{KeptTable, Lookup, Statement, StoreError, Tx, Value, columns};

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
        mandate_key_id: task.mandate_key,
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
        mandate_key: mandate_key_id,
    };
}
pub(in crate::store) use task;

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

columns! {
    macro moved_on;
    table tasks;
    fn moved_on_values<'a>(task: &'a Task, from: Status);
    columns {
        status: task.status,
        status_since: task.status_since,
        proof_attempts: task.proof_attempts,
        started_at: task.started_at,
        completed_at: task.completed_at,
        cancelled_at: task.cancelled_at,
        updated_at: task.updated_at,
        escrow_cents: task.escrow_cents,
    }
    parameters { id: task.id, from: from }
}

/// How many endpoints the account of a task has.
macro_rules! endpoints {
    () => {
        "(SELECT COUNT(*) FROM webhook_endpoints e WHERE e.account_id = tasks.account_id)"
    };
}

/// Where tasks are found with the totals of their owner, and with how many endpoints the account has.
macro_rules! with_totals {
    () => {
        concat!(
            ", ",
            endpoints!(),
            " FROM tasks JOIN (SELECT account_id AS of_account, environment AS of_environment,
            last_event, last_event_at FROM task_totals) totals
            ON of_account = account_id AND of_environment = environment"
        )
    };
}

crate::store::statements! {
    INSERT = task!(insert);
    /// The owner is compared as an expression, which has no index: on a table that is not analyzed
    /// yet, PostgreSQL would otherwise go through all tasks of the owner.
    ONE = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    BY_ID = concat!("SELECT ", task!(columns), " FROM tasks WHERE id = ?1");
    /// With the totals of its owner, which every move changes. Locks are taken in this order: the task,
    /// then the totals.
    ONE_WITH_TOTALS = concat!("SELECT ", task!(columns), ", ", numbered!(columns), with_totals!(), "
        WHERE id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    BY_ID_WITH_TOTALS = concat!("SELECT ", task!(columns), ", ", numbered!(columns), with_totals!(), "
        WHERE id = ?1");
    /// In a transaction of the database that has locked the totals before.
    ONE_AFTER_TOTALS = concat!("SELECT ", task!(columns), ", ", endpoints!(), " FROM tasks
        WHERE id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    BY_ID_AFTER_TOTALS = concat!("SELECT ", task!(columns), ", ", endpoints!(), " FROM tasks
        WHERE id = ?1");
    ACCOUNT_OF = "SELECT account_id FROM tasks WHERE id = ?1";
    EDIT = concat!("UPDATE tasks SET ", edited!(set),
        " WHERE id = ", edited!(id), " AND status = ", edited!(status));
    MOVE = concat!("UPDATE tasks SET ", moved!(set),
        " WHERE id = ", moved!(id), " AND status = ", moved!(from));
    /// Of a task that keeps its worker. SQLite writes each index anew of which a column is set, also to
    /// what it was: so the tasks of a worker stay as they are.
    MOVE_ON = concat!("UPDATE tasks SET ", moved_on!(set),
        " WHERE id = ", moved_on!(id), " AND status = ", moved_on!(from));
    /// Numbers a new task and counts it and its money, unless the monthly limit is reached. A month that
    /// has begun by the clock of another server goes on, as in `Spending::at`.
    NUMBER = concat!("UPDATE task_totals SET last_number = last_number + 1,
            month_tasks = CASE WHEN month >= ?3 THEN month_tasks + 1 ELSE 1 END,
            month = CASE WHEN month > ?3 THEN month ELSE ?3 END,
            pending = pending + ?5, funded = funded + ?6, processor_cents = processor_cents + ?7,
            last_event = last_event + ?8,
            last_event_at = CASE WHEN last_event_at > ?9 THEN last_event_at ELSE ?9 END
        WHERE account_id = ?1 AND environment = ?2 AND month >= 0
            AND (month < ?3 OR month_tasks < ?4)
        RETURNING last_number, ", numbered!(columns));
}

/// The table and its key.
const ROW: (&str, &str) = ("tasks", "id");

/// A move, with what is told of it.
pub struct StoredMove<'a> {
    pub moved: &'a Moved,
    pub entry: HistoryEntry,
    pub events: Vec<NewEvent>,
}

impl Lookup<Arc<KeptTask>> {
    fn task_of(owner: Owner, id: TaskId) -> Self {
        Self::new(ONE, one(owner, id).into()).kept(&[("tasks", KeptTable::Tasks)])
    }
}

impl Tx<'_> {
    /// Stores a new task with its payment, if it is paid, and its first moves and their events. Counts it
    /// under this version of its key's mandate, if it has one. False when the limit of that month is
    /// reached.
    pub fn insert_task(
        &mut self,
        task: &Task,
        payment: Option<&Entry>,
        moves: &[(HistoryEntry, NewEvent)],
        (month, monthly_limit): (i64, i64),
        mandate_version: Option<i64>,
    ) -> Result<bool, StoreError> {
        let counted = |status| Value::Int(i64::from(task.status == status));
        let numbers: Option<(i64, Numbered)> = self.optional(
            NUMBER,
            &[
                task.owner.account.into(),
                task.owner.environment.into(),
                month.into(),
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
        if let Some(version) = mandate_version {
            self.reserve(task, version)?;
        }
        self.defer(INSERT, &task_values(task, number))?;
        self.count_in_ranges(task.owner, number)?;
        self.index_metadata(task, number)?;
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
        let task = self.optional_locked_of(ROW, ONE, &one(owner, id))?;
        Ok(self.locked_task(task))
    }

    /// Any task, locked like `task_to_change`: for what the service does by itself.
    pub fn any_task_to_change(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let task = self.optional_locked_of(ROW, BY_ID, &[id.into()])?;
        Ok(self.locked_task(task))
    }

    /// Like `task_to_change`, and locks the owner's totals too, which saves the move a round trip. Not
    /// for a transaction that locks a worker afterwards.
    pub fn task_to_move(&mut self, owner: Owner, id: TaskId) -> Result<Option<Task>, StoreError> {
        if self.locked.has_totals(owner) {
            let found = self.optional_locked_of(ROW, ONE_AFTER_TOTALS, &one(owner, id))?;
            return Ok(self.locked_with_endpoints(found));
        }
        let found = self.optional_locked_of(ROW, ONE_WITH_TOTALS, &one(owner, id))?;
        Ok(self.locked_with_totals(found))
    }

    /// Like `any_task_to_change`, and locks the owner's totals like `task_to_move`.
    pub fn any_task_to_move(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        if self.locked.has_any_totals() {
            let found = self.optional_locked_of(ROW, BY_ID_AFTER_TOTALS, &[id.into()])?;
            let other = |(task, _): &(Task, i64)| !self.locked.has_totals(task.owner);
            if !found.as_ref().is_some_and(other) {
                return Ok(self.locked_with_endpoints(found));
            }
        }
        let found = self.optional_locked_of(ROW, BY_ID_WITH_TOTALS, &[id.into()])?;
        Ok(self.locked_with_totals(found))
    }

    pub fn any_task(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.optional(BY_ID, &[id.into()])
    }

    pub fn account_of_task(&mut self, id: TaskId) -> Result<Option<AccountId>, StoreError> {
        self.optional(ACCOUNT_OF, &[id.into()])
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
        let keeps = |moved: &Moved| moved.worker.is_some() && moved.worker == moved.task.worker;
        if moves.iter().all(|made| keeps(made.moved)) {
            self.change_task(task.id, MOVE_ON, &moved_on_values(task, from))?;
        } else {
            self.change_task(task.id, MOVE, &moved_values(task, from))?;
        }
        let count: usize = moves.iter().map(|made| made.events.len()).sum();
        let added = Added::by_moves(moves.iter().map(|made| made.moved), count as i64);
        let numbered = self.add_to_totals(task.owner, &added, task.updated_at)?;
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

    fn change_task(
        &mut self,
        id: TaskId,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        if self.locked.has_task(id) {
            self.change_locked(statement, values)
        } else {
            self.execute_one(statement, values)
        }
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
}

fn one(owner: Owner, id: TaskId) -> [Value<'static>; 3] {
    [id.into(), owner.account.into(), owner.environment.into()]
}
