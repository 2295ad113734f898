//! The totals of an owner: how many tasks there are in each status. Their row is also a lock:
//! while a transaction holds it, no task of the owner moves.

use crate::domain::{Moved, Owner, Postings, Status, Task, Timestamp};
use crate::store::events::{Numbered, no_totals, numbered};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro counted;
    table task_totals;
    fn move_values<'a>(from: Status, task: &'a Task, money: Postings, events: i64);
    columns {
        pending: change(from, task, Status::Pending),
        funded: change(from, task, Status::Funded),
        posted: change(from, task, Status::Posted),
        assigned: change(from, task, Status::Assigned),
        in_progress: change(from, task, Status::InProgress),
        proof_submitted: change(from, task, Status::ProofSubmitted),
        proof_rejected: change(from, task, Status::ProofRejected),
        completed: change(from, task, Status::Completed),
        cancelled: change(from, task, Status::Cancelled),
        expired: change(from, task, Status::Expired),
        disputed: change(from, task, Status::Disputed),
        refunded: change(from, task, Status::Refunded),
    }
    parameters {
        account_id: task.owner.account,
        environment: task.owner.environment,
        processor_cents: money.processor_cents,
        fees_cents: money.fees_cents,
        refunds_cents: money.refunds_cents,
        events: events,
        at: task.updated_at,
    }
    row StatusCounts = StatusCounts([
        (Status::Pending, pending),
        (Status::Funded, funded),
        (Status::Posted, posted),
        (Status::Assigned, assigned),
        (Status::InProgress, in_progress),
        (Status::ProofSubmitted, proof_submitted),
        (Status::ProofRejected, proof_rejected),
        (Status::Completed, completed),
        (Status::Cancelled, cancelled),
        (Status::Expired, expired),
        (Status::Disputed, disputed),
        (Status::Refunded, refunded),
    ]);
}

pub(in crate::store) use counted;

columns! {
    macro created;
    columns { last_number, month, month_tasks }
    row Created = Created { last_number, month, month_tasks };
}

macro_rules! count_move {
    () => {
        concat!(
            "UPDATE task_totals SET ",
            counted!(add),
            ",
            processor_cents = processor_cents + ",
            counted!(processor_cents),
            ",
            fees_cents = fees_cents + ",
            counted!(fees_cents),
            ",
            refunds_cents = refunds_cents + ",
            counted!(refunds_cents),
            ",
            last_event = last_event + ",
            counted!(events),
            ",
            last_event_at = CASE WHEN last_event_at > ",
            counted!(at),
            "
                THEN last_event_at ELSE ",
            counted!(at),
            " END
        WHERE account_id = ",
            counted!(account_id),
            " AND environment = ",
            counted!(environment)
        )
    };
}

crate::store::statements! {
    OPEN = concat!("INSERT INTO task_totals (account_id, environment, last_number, month, month_tasks, ",
        counted!(columns), ") VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
    COUNT_MOVE = count_move!();
    COUNT_AND_NUMBER_MOVE = concat!(count_move!(), " RETURNING ", numbered!(columns));
    GET = concat!("SELECT ", created!(columns), ", ", counted!(columns), " FROM task_totals
        WHERE account_id = ?1 AND environment = ?2");
    HOLD = "SELECT last_number FROM task_totals WHERE account_id = ?1 AND environment = ?2";
    /// Month -1 is before every month: the statement that numbers a task finds no row.
    CLOSE = "UPDATE task_totals SET month = -1, month_tasks = 0
        WHERE account_id = ?1 AND environment = ?2";
}

/// What moves from one status to that of the task add to the count of a status.
fn change(from: Status, task: &Task, status: Status) -> i64 {
    i64::from(status == task.status) - i64::from(status == from)
}

/// The money of moves.
fn money_of<'a>(moves: impl Iterator<Item = &'a Moved>) -> Postings {
    let mut sum = Postings::default();
    for entry in moves.filter_map(|moved| moved.entry.as_ref()) {
        sum.processor_cents += entry.postings.processor_cents;
        sum.fees_cents += entry.postings.fees_cents;
        sum.refunds_cents += entry.postings.refunds_cents;
    }
    sum
}

/// How many tasks are in each status.
#[derive(Clone, Debug)]
pub(in crate::store) struct StatusCounts(pub [(Status, i64); Status::ALL.len()]);

/// How many tasks were created, ever and in the latest month of one.
#[derive(Clone, Debug)]
struct Created {
    last_number: i64,
    month: i64,
    month_tasks: i64,
}

/// How many tasks an owner has.
#[derive(Clone, Debug)]
pub struct TaskCounts {
    created: Created,
    by_status: StatusCounts,
}

impl TaskCounts {
    pub fn total(&self) -> i64 {
        self.created.last_number
    }

    pub fn in_status(&self, status: Status) -> i64 {
        let StatusCounts(counts) = &self.by_status;
        let counts = counts.iter().filter(|(counted, _)| *counted == status);
        counts.map(|(_, count)| count).sum()
    }

    /// Those that are not over.
    pub fn open(&self) -> i64 {
        let open = Status::ALL.iter().filter(|status| !status.is_final());
        open.map(|status| self.in_status(*status)).sum()
    }

    pub fn this_month(&self, now: Timestamp) -> i64 {
        if self.created.month >= now.month() {
            self.created.month_tasks
        } else {
            0
        }
    }
}

impl Tx<'_> {
    pub(in crate::store) fn open_totals(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.defer(OPEN, &owned_by(owner))
    }

    pub fn task_counts(&mut self, owner: Owner) -> Result<TaskCounts, StoreError> {
        let counts = self.optional(GET, &owned_by(owner))?;
        let (created, by_status) = counts.ok_or_else(no_totals)?;
        Ok(TaskCounts { created, by_status })
    }

    /// Counts moves from a status to that of the task, and their money, and gives their events their
    /// numbers.
    pub(in crate::store) fn count_moves<'a>(
        &mut self,
        from: Status,
        task: &Task,
        moves: impl Iterator<Item = &'a Moved>,
        events: i64,
    ) -> Result<Numbered, StoreError> {
        let (owner, at) = (task.owner, task.updated_at);
        let values = move_values(from, task, money_of(moves), events);
        if let Some(numbered) = self.locked.count_events(owner, events, at) {
            self.change_locked(COUNT_MOVE, &values)?;
            return Ok(numbered);
        }
        let numbered = self.optional(COUNT_AND_NUMBER_MOVE, &values)?;
        let numbered = numbered.ok_or_else(no_totals)?;
        self.locked.set_totals(owner, numbered);
        Ok(numbered)
    }

    /// Locks the totals until this transaction ends. Every move of the owner's tasks locks them, and so
    /// does every change of the account's status. So the status that a move reads after it has counted
    /// itself stays true until the move ends.
    pub fn hold_totals(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.optional_locked::<i64>(HOLD, &owned_by(owner))
            .map(drop)
    }

    /// From now on no task is created, not even by a request that has been authenticated before.
    pub fn close_totals(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.defer(CLOSE, &owned_by(owner))
    }
}
