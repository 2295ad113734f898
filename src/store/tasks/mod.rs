//! Tasks, and the totals that are kept beside them.

pub(super) mod due_tasks;
pub(super) mod history;
pub(super) mod posted_tasks;
pub(super) mod totals;

use serde_json::Value as Json;

use crate::domain::tasks::{Category, Location, Priority, ProofType, Skill, TaskType};
use crate::domain::{
    AccountId, Entry, Environment, HistoryEntry, Moved, NewEvent, Owner, Status, Task, TaskId,
    Timestamp, WorkerId,
};
use crate::store::events::Numbered;
use crate::store::money::ledger::developer_books;
use crate::store::owned_by;
use crate::store::{Row, StoreError, Tx, Value, words};

/// The columns of a whole task, in the order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, account_id, environment, title, description, instructions, category, required_skills, \
         location_address, location_city, location_state, location_latitude, location_longitude, \
         budget_cents, task_type, fee_percent, priority, status, status_since, worker_id, \
         proof_attempts, deadline, proof_types, metadata, funded_at, assigned_at, started_at, \
         completed_at, cancelled_at, created_at, updated_at, escrow_cents"
    };
}

/// The columns of a task in a list.
macro_rules! listed_columns {
    () => {
        "id, title, status, category, budget_cents, location_city, location_state, priority, \
         worker_id, created_at, updated_at"
    };
}

crate::store::statements! {
    INSERT = concat!("INSERT INTO tasks (", columns!(), ", number)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33)");
    /// The owner is compared as an expression, which no index serves: on a table that is not
    /// analyzed yet PostgreSQL would rather go through all tasks of the owner.
    ONE = concat!("SELECT ", columns!(), " FROM tasks
        WHERE id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    BY_ID = concat!("SELECT ", columns!(), " FROM tasks WHERE id = ?1");
    BEFORE = concat!("SELECT ", columns!(), " FROM tasks WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    OF_ACCOUNT_BEFORE = concat!("SELECT ", columns!(), " FROM tasks
        WHERE id < ?1 AND account_id = ?3 ORDER BY id DESC LIMIT ?2");
    IN_STATUS_BEFORE = concat!("SELECT ", columns!(), " FROM tasks
        WHERE id < ?1 AND status = ?3 ORDER BY id DESC LIMIT ?2");
    OF_ACCOUNT_IN_STATUS_BEFORE = concat!("SELECT ", columns!(), " FROM tasks
        WHERE id < ?1 AND account_id = ?3 AND status = ?4 ORDER BY id DESC LIMIT ?2");
    OF_WORKER = concat!("SELECT ", columns!(), " FROM tasks
        WHERE worker_id = ?1 AND environment = 'live' ORDER BY assigned_at DESC, id DESC
        LIMIT ?2 OFFSET ?3");
    COUNT_OF_WORKER = "SELECT COUNT(*) FROM tasks WHERE worker_id = ?1 AND environment = 'live'";
    EDIT = "UPDATE tasks SET title = ?2, description = ?3, instructions = ?4, deadline = ?5,
            updated_at = ?6
        WHERE id = ?1 AND status = ?7";
    MOVE = "UPDATE tasks SET status = ?2, status_since = ?3, worker_id = ?4, proof_attempts = ?5,
            funded_at = ?6, assigned_at = ?7, started_at = ?8, completed_at = ?9,
            cancelled_at = ?10, updated_at = ?11, escrow_cents = ?12
        WHERE id = ?1 AND status = ?13";
    /// Gives a new task its number, counts it and its money, unless the month is full.
    NUMBER = "UPDATE task_totals SET last_number = last_number + 1,
            month_tasks = CASE WHEN month = ?3 THEN month_tasks + 1 ELSE 1 END, month = ?3,
            pending = pending + ?5, funded = funded + ?6, processor_cents = processor_cents + ?7,
            last_event = last_event + ?8,
            last_event_at = CASE WHEN last_event_at > ?9 THEN last_event_at ELSE ?9 END
        WHERE account_id = ?1 AND environment = ?2 AND month >= 0
            AND (month <> ?3 OR month_tasks < ?4)
        RETURNING last_number, last_event, last_event_at";
    COUNT_MOVE = "UPDATE task_totals SET pending = pending + ?3, funded = funded + ?4,
            posted = posted + ?5, assigned = assigned + ?6, in_progress = in_progress + ?7,
            proof_submitted = proof_submitted + ?8, proof_rejected = proof_rejected + ?9,
            completed = completed + ?10, cancelled = cancelled + ?11, expired = expired + ?12,
            disputed = disputed + ?13, refunded = refunded + ?14,
            processor_cents = processor_cents + ?15, fees_cents = fees_cents + ?16,
            refunds_cents = refunds_cents + ?17, last_event = last_event + ?18,
            last_event_at = CASE WHEN last_event_at > ?19 THEN last_event_at ELSE ?19 END
        WHERE account_id = ?1 AND environment = ?2
        RETURNING last_event, last_event_at";
    POSTED = concat!("SELECT ", columns!(), ", number FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = 'posted' AND number > ?3
        ORDER BY number LIMIT ?4");
    WITH_POSTED = "SELECT account_id FROM task_totals
        WHERE environment = 'live' AND posted > 0 AND account_id > ?1 ORDER BY account_id LIMIT ?2";
    POSTED_SKILLS = "SELECT DISTINCT required_skills FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = 'posted'";
    IN_STATUS = concat!("SELECT ", columns!(), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = ?3 ORDER BY number");
    TOTALS = "SELECT last_number, month, month_tasks, pending, funded, posted, assigned,
            in_progress, proof_submitted, proof_rejected, completed, cancelled, expired, disputed,
            refunded
        FROM task_totals WHERE account_id = ?1 AND environment = ?2";
    PAGE = concat!("SELECT ", listed_columns!(), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND number <= ?3
        ORDER BY number DESC LIMIT ?4");
    /// What is skipped is skipped in the index; only the page itself is read from the table.
    PAGE_BY_STATUS = concat!("SELECT ", listed_columns!(), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND number IN (
            SELECT number FROM tasks
            WHERE account_id = ?1 AND environment = ?2 AND status = ?3
            ORDER BY number DESC LIMIT ?4 OFFSET ?5)
        ORDER BY number DESC");
}

/// The statuses in the order of the columns of `task_totals`.
pub(in crate::store) const COUNTED: [Status; 12] = [
    Status::Pending,
    Status::Funded,
    Status::Posted,
    Status::Assigned,
    Status::InProgress,
    Status::ProofSubmitted,
    Status::ProofRejected,
    Status::Completed,
    Status::Cancelled,
    Status::Expired,
    Status::Disputed,
    Status::Refunded,
];

/// Which tasks of all accounts are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskFilter {
    pub account: Option<AccountId>,
    pub status: Option<Status>,
}

/// A task as it stands in a list.
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

#[derive(Clone, Debug)]
pub struct TaskPage {
    pub tasks: Vec<ListedTask>,
    pub total: i64,
}

/// How many tasks an owner has.
#[derive(Clone, Debug)]
pub struct TaskCounts {
    total: i64,
    month: i64,
    month_tasks: i64,
    by_status: Vec<i64>,
}

impl TaskCounts {
    pub fn total(&self) -> i64 {
        self.total
    }

    pub fn in_status(&self, status: Status) -> i64 {
        COUNTED
            .iter()
            .position(|counted| *counted == status)
            .map_or(0, |index| self.by_status[index])
    }

    /// Those that are not over.
    pub fn open(&self) -> i64 {
        let open = Status::ALL.iter().filter(|status| !status.is_final());
        open.map(|status| self.in_status(*status)).sum()
    }

    pub fn this_month(&self, now: Timestamp) -> i64 {
        if self.month == now.month() {
            self.month_tasks
        } else {
            0
        }
    }
}

impl Tx<'_> {
    /// Stores a new task, paid for or not, with the moves it has made and what is told of it, within
    /// the monthly limit; false when the limit is reached.
    pub fn insert_task(
        &mut self,
        task: &Task,
        payment: Option<&Entry>,
        moves: &[(HistoryEntry, NewEvent)],
        monthly_limit: i64,
    ) -> Result<bool, StoreError> {
        let counted = |status| Value::Int(i64::from(task.status == status));
        let numbers = self.optional(
            NUMBER,
            &[
                task.owner.account.to_string().into(),
                task.owner.environment.as_str().into(),
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
            |row| Ok((row.get::<i64>(0)?, Numbered::read(row, 1)?)),
        )?;
        let Some((number, numbered)) = numbers else {
            return Ok(false);
        };
        let skills: Vec<_> = task.required_skills.iter().map(|s| s.as_str()).collect();
        let proof_types: Vec<_> = task.proof_types.iter().map(|t| t.as_str()).collect();
        self.defer(
            INSERT,
            &[
                task.id.to_string().into(),
                task.owner.account.to_string().into(),
                task.owner.environment.as_str().into(),
                (&task.title).into(),
                (&task.description).into(),
                task.instructions.as_ref().into(),
                task.category.as_str().into(),
                Json::from(skills).to_string().into(),
                task.location.address.as_ref().into(),
                (&task.location.city).into(),
                (&task.location.state).into(),
                task.location.latitude.into(),
                task.location.longitude.into(),
                task.budget_cents.into(),
                task.task_type.as_str().into(),
                task.fee_percent.into(),
                task.priority.as_str().into(),
                task.status.as_str().into(),
                task.status_since.into(),
                task.worker.map(|id| id.to_string()).into(),
                task.proof_attempts.into(),
                task.deadline.into(),
                Json::from(proof_types).to_string().into(),
                (&task.metadata).into(),
                task.funded_at.into(),
                task.assigned_at.into(),
                task.started_at.into(),
                task.completed_at.into(),
                task.cancelled_at.into(),
                task.created_at.into(),
                task.updated_at.into(),
                task.escrow_cents.into(),
                number.into(),
            ],
        )?;
        if let Some(entry) = payment {
            self.write_entry(entry)?;
        }
        let events: Vec<_> = moves.iter().map(|(_, event)| event.clone()).collect();
        let first = self.write_events(task.owner, &events, numbered)?;
        for (number, (made, _)) in (first..).zip(moves) {
            self.add_move(task.id, number, made)?;
        }
        Ok(true)
    }

    pub fn task_of(&mut self, owner: Owner, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.optional(ONE, &one(owner, id), read)
    }

    /// The task, held against other writers until this transaction ends.
    pub fn task_to_change(&mut self, owner: Owner, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.optional_locked(ONE, &one(owner, id), read)
    }

    /// Any task, held like `task_to_change`: for what the service does without being asked by its
    /// owner.
    pub fn any_task_to_change(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.optional_locked(BY_ID, &[id.to_string().into()], read)
    }

    pub fn any_task(&mut self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.optional(BY_ID, &[id.to_string().into()], read)
    }

    /// Up to `limit` tasks of all accounts, newest first, before the given one.
    pub fn tasks_before(
        &mut self,
        filter: TaskFilter,
        before: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<Task>, StoreError> {
        let mut values = vec![crate::store::before(before).into(), limit.into()];
        values.extend(filter.account.map(|id| id.to_string().into()));
        values.extend(filter.status.map(|status| status.as_str().into()));
        let statement = match (filter.account, filter.status) {
            (None, None) => BEFORE,
            (Some(_), None) => OF_ACCOUNT_BEFORE,
            (None, Some(_)) => IN_STATUS_BEFORE,
            (Some(_), Some(_)) => OF_ACCOUNT_IN_STATUS_BEFORE,
        };
        self.all(statement, &values, read)
    }

    /// A page of the live tasks that a worker has or had, newest first, and how many there are.
    pub fn tasks_of_worker(
        &mut self,
        worker: WorkerId,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Task>, i64), StoreError> {
        let worker = worker.to_string();
        let values = [(&worker).into(), limit.into(), offset.into()];
        let tasks = self.all(OF_WORKER, &values, read)?;
        let count = self.optional(COUNT_OF_WORKER, &[(&worker).into()], |row| row.get(0))?;
        Ok((tasks, count.unwrap_or(0)))
    }

    /// Stores new words for a task that is still in the status it was read in.
    pub fn edit_task(&mut self, task: &Task) -> Result<(), StoreError> {
        self.execute_one(
            EDIT,
            &[
                task.id.to_string().into(),
                (&task.title).into(),
                (&task.description).into(),
                task.instructions.as_ref().into(),
                task.deadline.into(),
                task.updated_at.into(),
                task.status.as_str().into(),
            ],
        )
    }

    /// Stores a move: the task as it stands after it, the totals, its line of the journal and of the
    /// history, and what is told of it.
    pub fn move_task(
        &mut self,
        moved: &Moved,
        made: &HistoryEntry,
        events: &[NewEvent],
    ) -> Result<(), StoreError> {
        let task = &moved.task;
        self.execute_one(
            MOVE,
            &[
                task.id.to_string().into(),
                task.status.as_str().into(),
                task.status_since.into(),
                task.worker.map(|id| id.to_string()).into(),
                task.proof_attempts.into(),
                task.funded_at.into(),
                task.assigned_at.into(),
                task.started_at.into(),
                task.completed_at.into(),
                task.cancelled_at.into(),
                task.updated_at.into(),
                task.escrow_cents.into(),
                moved.from.as_str().into(),
            ],
        )?;
        let mut values = owned_by(task.owner);
        values.extend(COUNTED.map(|status| {
            Value::Int(i64::from(status == task.status) - i64::from(status == moved.from))
        }));
        let postings = moved.entry.as_ref().map(|entry| entry.postings);
        values.extend(developer_books(postings.unwrap_or_default()));
        values.extend([(events.len() as i64).into(), task.updated_at.into()]);
        let numbered = self
            .optional(COUNT_MOVE, &values, |row| Numbered::read(row, 0))?
            .ok_or_else(|| StoreError::Failed("an account has no totals".into()))?;
        if let Some(entry) = &moved.entry {
            self.write_entry(entry)?;
        }
        let first = self.write_events(task.owner, events, numbered)?;
        self.add_move(task.id, first, made)?;
        self.show_or_hide(moved)
    }

    /// Workers find live tasks while they are posted, and only then.
    fn show_or_hide(&mut self, moved: &Moved) -> Result<(), StoreError> {
        if moved.task.owner.environment != Environment::Live {
            return Ok(());
        }
        if moved.task.status == Status::Posted {
            self.post_task(&moved.task)
        } else if moved.from == Status::Posted {
            self.withdraw_task(moved.task.id)
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
        values.push(status.as_str().into());
        self.all(IN_STATUS, &values, read)
    }

    /// Up to `limit` posted tasks of an owner after the one with that number, each with its own.
    pub fn posted_tasks_of(
        &mut self,
        owner: Owner,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(i64, Task)>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([after.into(), limit.into()]);
        self.all(POSTED, &values, |row| Ok((row.get(32)?, read(row)?)))
    }

    /// Up to `limit` accounts that have live tasks posted, after the one with that id.
    pub fn accounts_with_posted_tasks(
        &mut self,
        after: &str,
        limit: i64,
    ) -> Result<Vec<AccountId>, StoreError> {
        self.all(WITH_POSTED, &[after.into(), limit.into()], |row| {
            row.parse(0, AccountId::parse)
        })
    }

    /// The different sets of skills that an owner's posted tasks ask for.
    pub fn skills_of_posted_tasks(&mut self, owner: Owner) -> Result<Vec<Vec<Skill>>, StoreError> {
        self.all(POSTED_SKILLS, &owned_by(owner), |row| {
            row.parse(0, |text| words(text, Skill::parse))
        })
    }

    pub fn task_counts(&mut self, owner: Owner) -> Result<TaskCounts, StoreError> {
        let counts = self.optional(TOTALS, &owned_by(owner), |row| {
            Ok(TaskCounts {
                total: row.get(0)?,
                month: row.get(1)?,
                month_tasks: row.get(2)?,
                by_status: (3..3 + COUNTED.len())
                    .map(|index| row.get(index))
                    .collect::<Result<_, _>>()?,
            })
        })?;
        counts.ok_or_else(|| StoreError::Failed("an account has no totals".into()))
    }

    /// A page of an owner's tasks, newest first.
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
                values.extend([status.as_str().into(), limit.into(), offset.into()]);
                let beyond = offset >= total;
                (
                    total,
                    if beyond {
                        vec![]
                    } else {
                        self.all(PAGE_BY_STATUS, &values, read_listed)?
                    },
                )
            }
            None => {
                let total = counts.total();
                values.extend([total.saturating_sub(offset).into(), limit.into()]);
                (total, self.all(PAGE, &values, read_listed)?)
            }
        };
        Ok(TaskPage { tasks, total })
    }
}

fn one(owner: Owner, id: TaskId) -> [Value<'static>; 3] {
    [
        id.to_string().into(),
        owner.account.to_string().into(),
        owner.environment.as_str().into(),
    ]
}

fn read(row: &Row<'_>) -> Result<Task, StoreError> {
    Ok(Task {
        id: row.parse(0, TaskId::parse)?,
        owner: Owner {
            account: row.parse(1, AccountId::parse)?,
            environment: row.parse(2, Environment::parse)?,
        },
        title: row.get(3)?,
        description: row.get(4)?,
        instructions: row.get(5)?,
        category: row.parse(6, Category::parse)?,
        required_skills: row.parse(7, |text| words(text, Skill::parse))?,
        location: Location {
            address: row.get(8)?,
            city: row.get(9)?,
            state: row.get(10)?,
            latitude: row.get(11)?,
            longitude: row.get(12)?,
        },
        budget_cents: row.get(13)?,
        task_type: row.parse(14, TaskType::parse)?,
        fee_percent: row.get(15)?,
        priority: row.parse(16, Priority::parse)?,
        status: row.parse(17, Status::parse)?,
        status_since: row.get(18)?,
        worker: read_worker(row, 19)?,
        proof_attempts: row.get(20)?,
        deadline: row.get(21)?,
        proof_types: row.parse(22, |text| words(text, ProofType::parse))?,
        metadata: row.get(23)?,
        funded_at: row.get(24)?,
        assigned_at: row.get(25)?,
        started_at: row.get(26)?,
        completed_at: row.get(27)?,
        cancelled_at: row.get(28)?,
        created_at: row.get(29)?,
        updated_at: row.get(30)?,
        escrow_cents: row.get(31)?,
    })
}

fn read_listed(row: &Row<'_>) -> Result<ListedTask, StoreError> {
    Ok(ListedTask {
        id: row.parse(0, TaskId::parse)?,
        title: row.get(1)?,
        status: row.parse(2, Status::parse)?,
        category: row.parse(3, Category::parse)?,
        budget_cents: row.get(4)?,
        location_city: row.get(5)?,
        location_state: row.get(6)?,
        priority: row.parse(7, Priority::parse)?,
        worker: read_worker(row, 8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
    })
}

fn read_worker(row: &Row<'_>, index: usize) -> Result<Option<WorkerId>, StoreError> {
    let id: Option<String> = row.get(index)?;
    Ok(id.as_deref().and_then(WorkerId::parse))
}
