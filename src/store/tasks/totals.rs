//! The totals of an owner: how many tasks there are in each status. Their row is also a lock:
//! while a transaction holds it, no task of the owner moves.

use crate::domain::{Moved, Owner, Status, Timestamp};
use crate::store::events::{Numbered, no_totals, numbered};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro counted;
    table task_totals;
    fn move_values<'a>(moved: &'a Moved, events: i64);
    columns {
        pending: change(moved, Status::Pending),
        funded: change(moved, Status::Funded),
        posted: change(moved, Status::Posted),
        assigned: change(moved, Status::Assigned),
        in_progress: change(moved, Status::InProgress),
        proof_submitted: change(moved, Status::ProofSubmitted),
        proof_rejected: change(moved, Status::ProofRejected),
        completed: change(moved, Status::Completed),
        cancelled: change(moved, Status::Cancelled),
        expired: change(moved, Status::Expired),
        disputed: change(moved, Status::Disputed),
        refunded: change(moved, Status::Refunded),
    }
    parameters {
        account_id: moved.task.owner.account,
        environment: moved.task.owner.environment,
        processor_cents: moved.entry.as_ref().map_or(0, |entry| entry.postings.processor_cents),
        fees_cents: moved.entry.as_ref().map_or(0, |entry| entry.postings.fees_cents),
        refunds_cents: moved.entry.as_ref().map_or(0, |entry| entry.postings.refunds_cents),
        events: events,
        at: moved.task.updated_at,
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

crate::store::statements! {
    OPEN = concat!("INSERT INTO task_totals (account_id, environment, last_number, month, month_tasks, ",
        counted!(columns), ") VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
    COUNT_MOVE = concat!("UPDATE task_totals SET ", counted!(add), ",
            processor_cents = processor_cents + ", counted!(processor_cents), ",
            fees_cents = fees_cents + ", counted!(fees_cents), ",
            refunds_cents = refunds_cents + ", counted!(refunds_cents), ",
            last_event = last_event + ", counted!(events), ",
            last_event_at = CASE WHEN last_event_at > ", counted!(at), "
                THEN last_event_at ELSE ", counted!(at), " END
        WHERE account_id = ", counted!(account_id), " AND environment = ", counted!(environment), "
        RETURNING ", numbered!(columns));
    GET = concat!("SELECT ", created!(columns), ", ", counted!(columns), " FROM task_totals
        WHERE account_id = ?1 AND environment = ?2");
    HOLD = "SELECT last_number FROM task_totals WHERE account_id = ?1 AND environment = ?2";
    /// Month -1 is before every month: the statement that numbers a task finds no row.
    CLOSE = "UPDATE task_totals SET month = -1, month_tasks = 0
        WHERE account_id = ?1 AND environment = ?2";
}

/// What a move adds to the count of a status.
fn change(moved: &Moved, status: Status) -> i64 {
    i64::from(status == moved.task.status) - i64::from(status == moved.from)
}

/// How many tasks are in each status.
#[derive(Clone, Debug)]
pub(in crate::store) struct StatusCounts(pub [(Status, i64); Status::ALL.len()]);

/// How many tasks were created, ever and in the month of the last one.
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
        if self.created.month == now.month() {
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

    /// Counts a move and its money, and gives its events their numbers.
    pub(in crate::store) fn count_move(
        &mut self,
        moved: &Moved,
        events: i64,
    ) -> Result<Numbered, StoreError> {
        let numbered = self.optional(COUNT_MOVE, &move_values(moved, events))?;
        numbered.ok_or_else(no_totals)
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
