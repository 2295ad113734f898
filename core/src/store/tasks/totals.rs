//! The totals of an owner: how many tasks there are in each status. Their row is also a lock:
//! while a transaction holds it, no task of the owner moves.

use crate::domain::{DeveloperRecord, Environment, Moved, Owner, Postings, Status, Timestamp};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro counted;
    columns {
        pending, funded, posted, assigned, in_progress, proof_submitted, proof_rejected, completed,
        cancelled, expired, disputed, refunded,
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
    macro numbered;
    columns { last_event, last_event_at }
    row Numbered = Numbered { last: last_event, at: last_event_at };
}

pub(in crate::store) use numbered;

columns! {
    macro created;
    columns { last_number, month, month_tasks }
    row Created = Created { last_number, month, month_tasks };
}

columns! {
    macro added;
    table task_totals;
    fn added_values<'a>(owner: Owner, added: &'a Added, later_ms: i64);
    columns {
        pending: added.tasks(Status::Pending),
        funded: added.tasks(Status::Funded),
        posted: added.tasks(Status::Posted),
        assigned: added.tasks(Status::Assigned),
        in_progress: added.tasks(Status::InProgress),
        proof_submitted: added.tasks(Status::ProofSubmitted),
        proof_rejected: added.tasks(Status::ProofRejected),
        completed: added.tasks(Status::Completed),
        cancelled: added.tasks(Status::Cancelled),
        expired: added.tasks(Status::Expired),
        disputed: added.tasks(Status::Disputed),
        refunded: added.tasks(Status::Refunded),
        processor_cents: added.money.processor_cents,
        fees_cents: added.money.fees_cents,
        refunds_cents: added.money.refunds_cents,
        last_event: added.events,
        last_event_at: later_ms,
        judged: added.record.judged,
        approved: added.record.approved,
        reviewed_1h: added.record.reviews[0],
        reviewed_4h: added.record.reviews[1],
        reviewed_12h: added.record.reviews[2],
        reviewed_24h: added.record.reviews[3],
        reviewed_48h: added.record.reviews[4],
        reviewed_72h: added.record.reviews[5],
        reviewed_120h: added.record.reviews[6],
        reviewed_later: added.record.reviews[7],
    }
    parameters { account_id: owner.account, environment: owner.environment }
}

crate::store::statements! {
    OPEN = concat!("INSERT INTO task_totals (account_id, environment, last_number, month, month_tasks, ",
        counted!(columns), ") VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
    /// What is not added is 0. So all that a batch adds for an owner is one statement.
    ADD = concat!("UPDATE task_totals SET ", added!(add), "
        WHERE account_id = ", added!(account_id), " AND environment = ", added!(environment));
    GET = concat!("SELECT ", created!(columns), ", ", counted!(columns), " FROM task_totals
        WHERE account_id = ?1 AND environment = ?2");
    HOLD = concat!("SELECT ", numbered!(columns), " FROM task_totals
        WHERE account_id = ?1 AND environment = ?2");
    /// Month -1 is before every month: the statement that numbers a task finds no row.
    CLOSE = "UPDATE task_totals SET month = -1, month_tasks = 0
        WHERE account_id = ?1 AND environment = ?2";
}

/// The last number that a transaction was given for its events, and their time.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    pub last: i64,
    pub at: Timestamp,
}

/// What is added to the totals of an owner.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Added {
    /// A task that moved from one status to another.
    pub moved: Option<(Status, Status)>,
    pub money: Postings,
    pub events: i64,
    pub record: DeveloperRecord,
}

impl Added {
    /// By moves of a task, each from where the one before it ended.
    pub fn by_moves<'a>(moves: impl Iterator<Item = &'a Moved>, events: i64) -> Self {
        let mut added = Self {
            events,
            ..Self::default()
        };
        for moved in moves {
            let from = added.moved.map_or(moved.from, |(from, _)| from);
            added.moved = Some((from, moved.task.status));
            if let Some(entry) = &moved.entry {
                added.money.processor_cents += entry.postings.processor_cents;
                added.money.fees_cents += entry.postings.fees_cents;
                added.money.refunds_cents += entry.postings.refunds_cents;
            }
            // The work on test tasks is nobody's.
            if moved.task.owner.environment == Environment::Live
                && let Some(more) = DeveloperRecord::added_by(moved)
            {
                added.record.add(&more);
            }
        }
        added
    }

    /// How many tasks more are in a status.
    fn tasks(&self, status: Status) -> i64 {
        self.moved.map_or(0, |(from, to)| {
            i64::from(status == to) - i64::from(status == from)
        })
    }
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

    /// Adds to the totals of an owner, and gives the events their numbers.
    pub(in crate::store) fn add_to_totals(
        &mut self,
        owner: Owner,
        added: &Added,
        at: Timestamp,
    ) -> Result<Numbered, StoreError> {
        self.hold_totals(owner)?;
        let counted = self.locked.count_events(owner, added.events, at);
        let (before, numbered) = counted.ok_or_else(no_totals)?;
        let later_ms = numbered.at.as_millis() - before.at.as_millis();
        let values = added_values(owner, added, later_ms);
        // All but the two of the owner.
        self.add_to_locked(ADD, &values, 0..values.len() - 2)?;
        Ok(numbered)
    }

    /// Locks the totals until this transaction ends. Every move of the owner's tasks locks them, and so
    /// does every change of the account's status. So the status that a move reads after it has counted
    /// itself stays true until the move ends.
    pub fn hold_totals(&mut self, owner: Owner) -> Result<(), StoreError> {
        if self.locked.has_totals(owner) {
            return Ok(());
        }
        if let Some(numbered) = self.optional_locked(HOLD, &owned_by(owner))? {
            self.locked.set_totals(owner, numbered);
        }
        Ok(())
    }

    /// From now on no task is created, not even by a request that has been authenticated before.
    pub fn close_totals(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.defer(CLOSE, &owned_by(owner))
    }
}

/// Accounts are created with their totals, so this does not happen.
fn no_totals() -> StoreError {
    StoreError::Failed("the account has no row in task_totals".into())
}
