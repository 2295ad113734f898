//! What becomes of the task of the examples, move by move.

use crate::domain::tasks::{Category, Location, Priority, ProofType, TaskType};
use crate::domain::{
    Action, Actor, Entry, Environment, HistoryEntry, NewTask, OutgoingKind, Owner, Quote, Step,
    Task, TaskLedger, Tier, Timestamp,
};
use crate::views::examples::ids::{
    CREATED, PAID, REVIEWED, SUBMITTED, account_id, admin_key_id, key_id, quote_id, task_id,
    worker_id,
};

/// 2026-11-15T09:30:05.000Z
const POSTED: Timestamp = Timestamp::from_millis(1_794_735_005_000);
/// 2026-11-15T09:41:17.000Z
const ASSIGNED: Timestamp = Timestamp::from_millis(1_794_735_677_000);
/// 2026-11-15T09:52:30.000Z
const STARTED: Timestamp = Timestamp::from_millis(1_794_736_350_000);
/// 2026-11-15T10:20:09.000Z
const TRANSFERRED: Timestamp = Timestamp::from_millis(1_794_738_009_000);
/// 2026-11-15T10:31:55.250Z
const DISPUTED: Timestamp = Timestamp::from_millis(1_794_738_715_250);
/// 2026-11-15T11:05:12.000Z
const DECIDED: Timestamp = Timestamp::from_millis(1_794_740_712_000);
/// 2026-11-20T18:00:00.000Z
const DEADLINE: Timestamp = Timestamp::from_millis(1_795_197_600_000);

/// Why the developer rejects the proof.
pub const REASON: &str = "The opening hours cannot be read.";
/// What the worker says to that.
const STATEMENT: &str = "The photo shows the opening hours, to the left of the door.";
/// What the admin says to both.
const NOTE: &str = "The opening hours can be read when the photo is enlarged.";

/// The task with its history and its money.
pub struct Story {
    pub task: Task,
    pub history: Vec<HistoryEntry>,
    entries: Vec<Entry>,
}

/// Who owns the task.
pub fn live() -> Owner {
    Owner {
        account: account_id(),
        environment: Environment::Live,
    }
}

fn new_task() -> NewTask {
    NewTask {
        title: "Photograph a storefront".to_owned(),
        description: "Front of the shop with the door and the opening hours in view.".to_owned(),
        instructions: Some("Ring twice.".to_owned()),
        category: Category::Photography,
        required_skills: Vec::new(),
        location: Location {
            address: Some("240 Bedford Ave".to_owned()),
            city: "Brooklyn".to_owned(),
            state: "NY".to_owned(),
            latitude: 40.7163,
            longitude: -73.9595,
        },
        budget_cents: 2_500,
        task_type: TaskType::Standard,
        priority: Priority::Normal,
        deadline: Some(DEADLINE),
        proof_types: vec![ProofType::Photo],
        metadata: r#"{"order":"4711"}"#.to_owned(),
        quoted_fee_percent: None,
    }
}

impl Story {
    pub fn of(owner: Owner) -> Self {
        let task = Task::create(task_id(), owner, Tier::Growth, &new_task(), CREATED);
        let creation = HistoryEntry {
            from: None,
            to: task.status,
            by: Actor::developer(key_id()),
            reason: None,
            created_at: CREATED,
        };
        Self {
            task,
            history: vec![creation],
            entries: Vec::new(),
        }
    }

    pub fn ledger(&self) -> TaskLedger {
        TaskLedger::of(self.entries.clone())
    }

    /// Goes on by a move of the table. One that is not in it changes nothing; the test below finds
    /// it.
    fn then(mut self, action: Action, by: Actor, reason: Option<&str>, at: Timestamp) -> Self {
        let Ok(moved) = self.task.act(action, at) else {
            return self;
        };
        self.history.push(HistoryEntry {
            from: Some(moved.from),
            to: moved.task.status,
            by,
            reason: reason.map(str::to_owned),
            created_at: at,
        });
        self.entries.extend(moved.entry);
        self.task = moved.task;
        self
    }

    fn transferred(mut self) -> Self {
        let payout_cents = self.task.split().payout_cents;
        let transfer = Entry::outgoing(
            &self.task,
            OutgoingKind::Transfer,
            Step::Transfer,
            payout_cents,
            TRANSFERRED,
        );
        self.entries.push(transfer);
        self
    }
}

pub fn pending() -> Story {
    Story::of(live())
}

pub fn funded() -> Story {
    pending().then(Action::Pay, Actor::PROCESSOR, None, PAID)
}

pub fn posted() -> Story {
    funded().then(Action::Publish, Actor::SERVICE, None, POSTED)
}

pub fn assigned() -> Story {
    let worker = worker_id();
    let accept = Action::Accept { worker };
    posted().then(accept, Actor::worker(worker), None, ASSIGNED)
}

pub fn submitted() -> Story {
    let worker = || Actor::worker(worker_id());
    assigned()
        .then(Action::Start, worker(), None, STARTED)
        .then(Action::SubmitProof, worker(), None, SUBMITTED)
}

/// The developer approves, and the worker is paid.
pub fn completed() -> Story {
    let developer = Actor::developer(key_id());
    submitted()
        .then(Action::Approve, developer, None, REVIEWED)
        .transferred()
}

/// Or the developer rejects ...
pub fn rejected() -> Story {
    let developer = Actor::developer(key_id());
    submitted().then(Action::Reject, developer, Some(REASON), REVIEWED)
}

/// ... the worker contests it, and an admin decides.
pub fn decided() -> Story {
    let (worker, admin) = (Actor::worker(worker_id()), Actor::admin(admin_key_id()));
    rejected()
        .then(Action::Dispute, worker, Some(STATEMENT), DISPUTED)
        .then(Action::DecidePay, admin, Some(NOTE), DECIDED)
}

/// Or nothing of that happens.
pub fn cancelled() -> Story {
    let developer = Actor::developer(key_id());
    posted().then(Action::Cancel, developer, None, REVIEWED)
}

/// A quote for the storefront.
pub fn quote() -> Quote {
    Quote::new(quote_id(), live(), Tier::Growth, &new_task(), CREATED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Status;

    #[test]
    fn every_move_of_the_story_is_in_the_table() {
        for (story, status, moves) in [
            (pending(), Status::Pending, 1),
            (funded(), Status::Funded, 2),
            (posted(), Status::Posted, 3),
            (assigned(), Status::Assigned, 4),
            (submitted(), Status::ProofSubmitted, 6),
            (completed(), Status::Completed, 7),
            (rejected(), Status::ProofRejected, 7),
            (decided(), Status::Completed, 9),
            (cancelled(), Status::Cancelled, 4),
        ] {
            assert_eq!(story.task.status, status);
            assert_eq!(story.history.len(), moves, "{status}");
            let history = &story.history;
            assert!(
                history.is_sorted_by_key(|entry| entry.created_at),
                "{status}"
            );
        }
    }
}
