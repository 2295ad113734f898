use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::domain::tasks::{Category, Location, NewTask, Priority, ProofType, TaskType};
use crate::domain::{AccountId, Environment, Owner, TaskId, Tier};

pub const START: Timestamp = Timestamp::from_millis(1_763_200_000_000);

fn new_task(budget_cents: i64, tier: Tier, task_type: TaskType) -> Task {
    let owner = Owner {
        account: AccountId::new(START, &[1; 10]),
        environment: Environment::Live,
    };
    let new = NewTask {
        title: "Photograph the storefront".to_owned(),
        description: "Front door and window display".to_owned(),
        instructions: None,
        category: Category::Photography,
        required_skills: vec![],
        location: Location {
            address: None,
            city: "New York".to_owned(),
            state: "NY".to_owned(),
            latitude: 40.7128,
            longitude: -74.006,
        },
        budget_cents,
        task_type,
        priority: Priority::Normal,
        deadline: None,
        proof_types: vec![ProofType::Photo],
        metadata: "{}".to_owned(),
        quoted_fee_percent: None,
    };
    Task::create(TaskId::new(START, &[2; 10]), owner, tier, &new, START)
}

pub fn worker() -> WorkerId {
    WorkerId::new(START, &[3; 10])
}

pub fn task_in(status: Status, proof_attempts: i64) -> Task {
    Task {
        status,
        proof_attempts,
        ..new_task(5_001, Tier::Free, TaskType::Standard)
    }
}

fn all_actions() -> Vec<Action> {
    vec![
        Action::Pay,
        Action::LeaveUnpaid,
        Action::Publish,
        Action::Accept { worker: worker() },
        Action::Start,
        Action::Release,
        Action::SubmitProof,
        Action::Approve,
        Action::Reject,
        Action::Dispute,
        Action::DecidePay,
        Action::DecideRefund,
        Action::DecideSplit { paid_cents: 2_000 },
        Action::Overdue,
        Action::Cancel,
    ]
}

/// The moves a second time, in another form: for each status, the actions it allows and where they
/// lead. Everything else must be refused.
fn allowed(status: Status, attempts: i64) -> Vec<(&'static str, Status)> {
    match status {
        Pending => vec![
            ("be paid for", Funded),
            ("expire", Expired),
            ("be cancelled", Cancelled),
        ],
        Funded => vec![
            ("be posted", Posted),
            ("expire", Expired),
            ("be cancelled", Cancelled),
        ],
        Posted => vec![
            ("be accepted", Assigned),
            ("expire", Expired),
            ("be cancelled", Cancelled),
        ],
        Assigned => vec![
            ("be started", InProgress),
            ("be released", Posted),
            ("expire", Expired),
            ("be cancelled", Cancelled),
        ],
        InProgress => vec![
            ("be released", Posted),
            ("accept a proof", ProofSubmitted),
            ("expire", Expired),
        ],
        ProofSubmitted if attempts < 3 => {
            vec![("be approved", Completed), ("be rejected", ProofRejected)]
        }
        ProofSubmitted => vec![("be approved", Completed), ("be rejected", Refunded)],
        ProofRejected => vec![
            ("be released", Posted),
            ("accept a proof", ProofSubmitted),
            ("be disputed", Disputed),
            ("expire", Expired),
        ],
        Disputed => vec![("be decided", Completed), ("be decided", Refunded)],
        Completed | Cancelled | Expired | Refunded => vec![],
    }
}

#[test]
fn every_status_allows_exactly_the_decided_actions() {
    for &status in Status::ALL {
        for attempts in 0..=3 {
            let task = task_in(status, attempts);
            let expected: HashSet<_> = allowed(status, attempts).into_iter().collect();
            let found: HashSet<_> = all_actions()
                .into_iter()
                .filter_map(|action| {
                    let moved = task.act(action, START).ok()?;
                    Some((action.what(), moved.task.status))
                })
                .collect();
            assert_eq!(found, expected, "{status} with {attempts} attempts used");
        }
    }
}

#[test]
fn a_refusal_says_what_cannot_be_done_and_why() {
    let error = task_in(InProgress, 0)
        .act(Action::Cancel, START)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a task that is in_progress cannot be cancelled"
    );
}

#[test]
fn the_money_of_each_move() {
    let cents = |status, attempts, action| {
        let settled = task_in(status, attempts)
            .act(action, START)
            .unwrap()
            .settlement;
        (
            settled.escrow_cents,
            settled.refund_cents,
            settled.payout_cents,
            settled.fee_cents,
        )
    };
    // A budget of 50.01 at 16 %: the fee is 8.00, the payout 42.01.
    assert_eq!(cents(Pending, 0, Action::Pay), (5_001, 0, 0, 0));
    assert_eq!(cents(Pending, 0, Action::Cancel), (0, 0, 0, 0));
    assert_eq!(cents(Pending, 0, Action::Overdue), (0, 0, 0, 0));
    assert_eq!(cents(Funded, 0, Action::Cancel), (0, 5_001, 0, 0));
    assert_eq!(cents(Posted, 0, Action::Cancel), (0, 5_001, 0, 0));
    // Half, rounded down, is 25.00. The other 25.01 is split at 16 %.
    assert_eq!(cents(Assigned, 0, Action::Cancel), (0, 2_500, 2_101, 400));
    assert_eq!(
        cents(ProofSubmitted, 1, Action::Approve),
        (0, 0, 4_201, 800)
    );
    assert_eq!(cents(ProofSubmitted, 2, Action::Reject), (0, 0, 0, 0));
    assert_eq!(cents(ProofSubmitted, 3, Action::Reject), (0, 5_001, 0, 0));
    assert_eq!(cents(Posted, 0, Action::Overdue), (0, 5_001, 0, 0));
    assert_eq!(cents(Disputed, 1, Action::DecidePay), (0, 0, 4_201, 800));
    assert_eq!(cents(Disputed, 1, Action::DecideRefund), (0, 5_001, 0, 0));
    assert_eq!(
        cents(Disputed, 1, Action::DecideSplit { paid_cents: 2_000 }),
        (0, 3_001, 1_680, 320)
    );
}

#[test]
fn no_more_is_split_than_there_is() {
    let split = |paid_cents| {
        let task = task_in(Disputed, 1);
        task.act(Action::DecideSplit { paid_cents }, START).is_ok()
    };
    assert!(split(0) && split(5_001));
    assert!(!split(-1) && !split(5_002) && !split(i64::MAX / 200));
}

#[test]
fn the_events_of_each_move() {
    let events =
        |status, attempts, action| task_in(status, attempts).act(action, START).unwrap().events;
    assert_eq!(events(Pending, 0, Action::Pay), [EventType::TaskFunded]);
    assert_eq!(
        events(ProofRejected, 1, Action::Release),
        [EventType::TaskPosted]
    );
    assert_eq!(
        events(ProofSubmitted, 1, Action::Reject),
        [EventType::TaskProofRejected]
    );
    assert_eq!(
        events(ProofSubmitted, 3, Action::Reject),
        [EventType::TaskProofRejected, EventType::TaskRefunded]
    );
    assert_eq!(
        events(Disputed, 1, Action::DecideSplit { paid_cents: 1 }),
        [EventType::TaskCompleted]
    );
}

#[test]
fn a_released_task_forgets_its_worker_but_not_the_attempts() {
    let task = Task {
        worker: Some(worker()),
        assigned_at: Some(START),
        started_at: Some(START),
        ..task_in(ProofRejected, 2)
    };
    let released = task.act(Action::Release, START).unwrap().task;
    assert_eq!(released.worker, None);
    assert_eq!(released.assigned_at, None);
    assert_eq!(released.started_at, None);
    assert_eq!(released.proof_attempts, 2);
}

fn any_action() -> impl Strategy<Value = Action> {
    // Weighted so that random walks also reach the last statuses.
    prop_oneof![
        4 => Just(Action::Pay),
        4 => Just(Action::Publish),
        6 => Just(Action::Accept { worker: worker() }),
        6 => Just(Action::Start),
        8 => Just(Action::SubmitProof),
        6 => Just(Action::Reject),
        2 => Just(Action::Approve),
        2 => Just(Action::Release),
        2 => Just(Action::Dispute),
        1 => Just(Action::DecidePay),
        1 => Just(Action::DecideRefund),
        1 => (0..=500i64).prop_map(|paid_cents| Action::DecideSplit { paid_cents }),
        1 => Just(Action::Overdue),
        1 => Just(Action::LeaveUnpaid),
        1 => Just(Action::Cancel),
    ]
}

fn timestamps_belong_to_the_status(task: &Task) -> Result<(), TestCaseError> {
    prop_assert_eq!(task.completed_at.is_some(), task.status == Completed);
    prop_assert_eq!(task.cancelled_at.is_some(), task.status == Cancelled);
    prop_assert_eq!(task.worker.is_some(), task.assigned_at.is_some());
    match task.status {
        Pending => prop_assert!(task.funded_at.is_none() && task.assigned_at.is_none()),
        Funded | Posted => {
            prop_assert!(task.funded_at.is_some() && task.assigned_at.is_none());
            prop_assert!(task.started_at.is_none());
        }
        Assigned => prop_assert!(task.assigned_at.is_some() && task.started_at.is_none()),
        InProgress | ProofSubmitted | ProofRejected | Disputed | Completed | Refunded => {
            prop_assert!(task.assigned_at.is_some() && task.started_at.is_some());
        }
        Cancelled | Expired => {}
    }
    let order = [
        Some(task.created_at),
        task.funded_at,
        task.assigned_at,
        task.started_at,
        task.completed_at.or(task.cancelled_at),
    ];
    let known: Vec<_> = order.into_iter().flatten().collect();
    prop_assert!(known.is_sorted(), "{known:?}");
    prop_assert!(task.updated_at >= *known.last().unwrap());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_sequence_of_actions_keeps_the_task_sound(
        budget in 500i64..=99_999_999,
        enterprise: bool,
        bounty: bool,
        actions in prop::collection::vec(any_action(), 1..60),
    ) {
        let tier = if enterprise { Tier::Enterprise } else { Tier::Free };
        let task_type = if bounty { TaskType::Bounty } else { TaskType::Standard };
        let mut task = new_task(budget, tier, task_type);
        let mut held = 0;
        let mut steps = HashSet::new();
        for (step, action) in actions.into_iter().enumerate() {
            let now = Timestamp::from_millis(START.as_millis() + 1 + step as i64);
            let was = task.clone();
            match task.act(action, now) {
                Ok(moved) => {
                    prop_assert!(!was.status.is_final(), "left {}", was.status);
                    prop_assert_eq!(moved.from, was.status);
                    prop_assert_eq!(moved.task.updated_at, now);
                    prop_assert!(!moved.events.is_empty());
                    let s = moved.settlement;
                    held += s.escrow_cents - s.refund_cents - s.payout_cents - s.fee_cents;
                    prop_assert!(s.refund_cents >= 0 && s.payout_cents >= 0 && s.fee_cents >= 0);
                    let money_moves = s != Settlement::default();
                    prop_assert_eq!(moved.entry.is_some(), money_moves);
                    if let Some(entry) = moved.entry {
                        prop_assert!(entry.postings.are_balanced());
                        prop_assert_eq!(entry.worker.is_some(), s.payout_cents > 0);
                        prop_assert!(steps.insert(entry.step), "{} twice", entry.step);
                    }
                    task = moved.task;
                }
                Err(refused) => {
                    prop_assert_eq!(refused.status, was.status);
                }
            }
            timestamps_belong_to_the_status(&task)?;
            prop_assert_eq!(task.split().fee_cents + task.split().payout_cents, budget);
            prop_assert!((0..=3).contains(&task.proof_attempts));
            let open = !task.status.is_final() && task.status != Pending;
            prop_assert_eq!(held, if open { budget } else { 0 }, "escrow in {}", task.status);
            prop_assert_eq!(task.escrow_cents, held);
        }
    }
}

#[test]
fn every_status_is_reached_from_pending_and_every_open_one_can_end() {
    for &status in Status::ALL {
        assert_eq!(Pending.can_become(status), status != Pending, "{status}");
        let (ends, others): (Vec<Status>, Vec<Status>) = Status::ALL
            .iter()
            .filter(|to| status.can_become(**to))
            .partition(|to| to.is_final());
        assert_eq!(ends.is_empty(), status.is_final(), "{status}");
        assert!(others.is_empty() || !status.is_final(), "{status}");
    }
    // Back from a worker who gave up, but never back to before it was paid.
    assert!(InProgress.can_become(Posted) && !InProgress.can_become(Funded));
}
