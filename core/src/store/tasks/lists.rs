//! Lists of tasks: of an owner, of a worker, of all accounts, and of what is posted.

use crate::domain::tasks::windows::Waiting;
use crate::domain::tasks::{Category, Priority, Skill};
use crate::domain::{AccountId, Environment, Owner, Status, Task, TaskId, Timestamp, WorkerId};
use crate::store::tasks::task;
use crate::store::{StoreError, Tx, Value, columns, owned_by};

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

pub(in crate::store) use listed;

columns! {
    macro waiting;
    columns { number, id, status, status_since, deadline, funded_at }
    row WaitingTask = WaitingTask {
        number,
        id,
        waiting: Waiting { status, since: status_since, deadline, funded_at },
    };
}

crate::store::statements! {
    BEFORE = concat!("SELECT ", task!(columns), " FROM tasks WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    IN_STATUS_BEFORE = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE id < ?1 AND environment = ?3 AND status = ?4 ORDER BY id DESC LIMIT ?2");
    OF_ACCOUNT_IN_STATUS_BEFORE = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE id < ?1 AND environment = ?3 AND status = ?4 AND account_id = ?5
        ORDER BY id DESC LIMIT ?2");
    OF_WORKER = concat!("SELECT ", task!(columns), " FROM tasks
        WHERE worker_id = ?1 AND environment = 'live' ORDER BY assigned_at DESC, id DESC
        LIMIT ?2 OFFSET ?3");
    COUNT_OF_WORKER = "SELECT COUNT(*) FROM tasks WHERE worker_id = ?1 AND environment = 'live'";
    POSTED = concat!("SELECT number, ", task!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = 'posted' AND number > ?3
        ORDER BY number LIMIT ?4");
    /// Goes from account to account: their tasks are not read. The index for it asks in another way whether a task is
    /// posted, and so do the statements (see migration 56).
    WITH_POSTED = "WITH RECURSIVE found (account_id, place) AS (
            SELECT (SELECT MIN(account_id) FROM tasks
                WHERE environment = 'live' AND status = 'posted'
                    AND COALESCE(status, '') = 'posted' AND account_id > ?1),
                CAST(1 AS BIGINT)
            UNION ALL
            SELECT (SELECT MIN(t.account_id) FROM tasks t
                WHERE t.environment = 'live' AND t.status = 'posted'
                    AND COALESCE(t.status, '') = 'posted'
                    AND t.account_id > found.account_id), found.place + 1
            FROM found WHERE found.account_id IS NOT NULL AND found.place < ?2)
        SELECT account_id FROM found WHERE account_id IS NOT NULL";
    /// Goes from one set of skills to the next. Not by MIN, for which PostgreSQL may read all tasks of the account.
    POSTED_SKILLS = "WITH RECURSIVE found (skills) AS (
            SELECT (SELECT required_skills FROM tasks
                WHERE environment = 'live' AND status = 'posted'
                    AND COALESCE(status, '') = 'posted' AND account_id = ?1
                ORDER BY required_skills LIMIT 1)
            UNION ALL
            SELECT (SELECT t.required_skills FROM tasks t
                WHERE t.environment = 'live' AND t.status = 'posted'
                    AND COALESCE(t.status, '') = 'posted' AND t.account_id = ?1
                    AND t.required_skills > found.skills
                ORDER BY t.required_skills LIMIT 1)
            FROM found WHERE found.skills IS NOT NULL)
        SELECT skills FROM found WHERE skills IS NOT NULL";
    WAITING = concat!("SELECT ", waiting!(columns), " FROM tasks
        WHERE account_id = ?1 AND environment = ?2 AND status = ?3 AND number > ?4
        ORDER BY number LIMIT ?5");
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
    pub environment: Option<Environment>,
    pub status: Option<Status>,
}

impl TaskFilter {
    fn is_empty(&self) -> bool {
        self.account.is_none() && self.environment.is_none() && self.status.is_none()
    }

    /// Every environment and status that it admits.
    fn ranges(&self) -> impl Iterator<Item = (Environment, Status)> {
        let (environment, status) = (self.environment, self.status);
        let environments = Environment::ALL.iter().copied();
        let environments =
            environments.filter(move |it| environment.is_none_or(|wanted| wanted == *it));
        environments.flat_map(move |environment| {
            let statuses = Status::ALL.iter().copied();
            statuses
                .filter(move |it| status.is_none_or(|wanted| wanted == *it))
                .map(move |status| (environment, status))
        })
    }
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

/// A task as the clock sees it.
#[derive(Clone, Copy, Debug)]
pub struct WaitingTask {
    pub number: i64,
    pub id: TaskId,
    pub waiting: Waiting,
}

#[derive(Clone, Debug)]
pub struct TaskPage {
    pub tasks: Vec<ListedTask>,
    pub total: i64,
}

impl Tx<'_> {
    /// Up to `limit` tasks of all accounts, newest first, before the given one.
    pub fn tasks_before(
        &mut self,
        filter: TaskFilter,
        before: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<Task>, StoreError> {
        let before = crate::store::before(before);
        if filter.is_empty() {
            return self.all(BEFORE, &[before.as_str().into(), limit.into()]);
        }
        // An index for all statuses, and one for both environments, would be more to write at every move.
        let mut tasks: Vec<Task> = Vec::new();
        for (environment, status) in filter.ranges() {
            let mut values = vec![
                before.as_str().into(),
                limit.into(),
                environment.into(),
                status.into(),
            ];
            values.extend(filter.account.map(Value::from));
            let statement = match filter.account {
                None => IN_STATUS_BEFORE,
                Some(_) => OF_ACCOUNT_IN_STATUS_BEFORE,
            };
            tasks.extend(self.all::<Task>(statement, &values)?);
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

    /// Up to `limit` tasks of an owner in a status, after the one with that number. A task can be large, and
    /// an owner can have many: only what decides when something is due is read.
    pub fn waiting_tasks(
        &mut self,
        owner: Owner,
        status: Status,
        after: i64,
        limit: i64,
    ) -> Result<Vec<WaitingTask>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([status.into(), after.into(), limit.into()]);
        self.all(WAITING, &values)
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
