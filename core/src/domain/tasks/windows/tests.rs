use super::*;
use crate::domain::tasks::moves::tests::{START, task_in};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A task that has just entered a status, funded if the status needs it.
fn fresh(status: Status, deadline: Option<Timestamp>) -> Task {
    Task {
        deadline,
        funded_at: (status != Status::Pending).then_some(START),
        escrow_cents: if status == Status::Pending || status.is_final() {
            0
        } else {
            5_001
        },
        worker: (status != Status::Pending && status != Status::Posted)
            .then(crate::domain::tasks::moves::tests::worker),
        ..task_in(status, 1)
    }
}

fn next(status: Status, deadline: Option<Timestamp>) -> Option<(Duration, Action)> {
    let next = fresh(status, deadline).next_by_clock(&Windows::default());
    next.map(|(at, action)| {
        let millis = at.as_millis() - START.as_millis();
        (Duration::from_millis(millis.unsigned_abs()), action)
    })
}

#[test]
fn without_a_deadline_the_windows_count() {
    let expected = [
        (Status::Pending, Some((DAY, Action::LeaveUnpaid))),
        (Status::Funded, Some((DAY * 30, Action::Overdue))),
        (Status::Posted, Some((DAY * 30, Action::Overdue))),
        (Status::Assigned, Some((DAY, Action::Release))),
        (Status::InProgress, Some((DAY * 3, Action::Release))),
        (Status::ProofSubmitted, Some((DAY * 7, Action::Approve))),
        (Status::ProofRejected, Some((DAY * 3, Action::Release))),
        (Status::Completed, None),
        (Status::Cancelled, None),
        (Status::Expired, None),
        (Status::Disputed, Some((DAY * 30, Action::DecideRefund))),
        (Status::Refunded, None),
    ];
    assert_eq!(expected.map(|(status, _)| status), Status::ALL);
    for (status, expected) in expected {
        assert_eq!(next(status, None), expected, "{status}");
    }
}

#[test]
fn a_deadline_counts_where_it_can_be_missed() {
    let soon = START.plus(Duration::from_secs(60));
    for status in Status::ALL {
        let expected = match status {
            Status::ProofSubmitted => Some((DAY * 7, Action::Approve)),
            Status::Disputed => Some((DAY * 30, Action::DecideRefund)),
            status if status.is_final() => None,
            _ => Some((Duration::from_secs(60), Action::Overdue)),
        };
        assert_eq!(next(*status, Some(soon)), expected, "{status}");
    }
    // A later deadline replaces the thirty days.
    let late = START.plus(DAY * 60);
    assert_eq!(
        next(Status::Posted, Some(late)),
        Some((DAY * 60, Action::Overdue))
    );
    let same = START.plus(DAY);
    assert_eq!(
        next(Status::Assigned, Some(same)),
        Some((DAY, Action::Overdue)),
        "it wins"
    );
}

#[test]
fn from_every_status_the_clock_alone_brings_a_task_to_an_end() {
    let windows = Windows::default();
    for status in Status::ALL {
        let mut task = fresh(*status, None);
        let mut now = START;
        let mut steps = 0;
        while let Some((at, action)) = task.next_by_clock(&windows) {
            now = now.max(at);
            task = task.act(action, now).unwrap().task;
            steps += 1;
            assert!(steps < 10, "{status} goes round in circles");
        }
        assert!(task.status.is_final(), "{status} ends in {}", task.status);
        assert!(now <= START.plus(DAY * 61), "{status} takes until {now}");
        assert_eq!(task.escrow_cents, 0, "{status} leaves money behind");
    }
}

#[test]
fn a_rejection_can_be_contested_until_its_time_is_over() {
    let (task, windows) = (fresh(Status::ProofRejected, None), Windows::default());
    let last = START.plus(DAY * 3);
    assert!(task.can_be_contested(&windows, last));
    assert!(!task.can_be_contested(&windows, last.plus(Duration::from_millis(1))));
}

#[test]
fn a_task_that_expires_says_why() {
    let windows = Windows {
        open: DAY * 12,
        ..Windows::default()
    };
    let why = |deadline| Action::Overdue.why_by_clock(&fresh(Status::Posted, deadline), &windows);
    assert_eq!(why(Some(START)), "the deadline passed");
    assert_eq!(why(None), "open for 12 days without being completed");
}

#[test]
fn what_is_told_to_be_due_is_what_happens() {
    let windows = Windows::default();
    for status in Status::ALL {
        let task = fresh(*status, None);
        let next = task.next_by_clock(&windows);
        let happens = next.map(|(at, action)| (at, task.act(action, at).unwrap().task.status));
        let told = task.due(&windows).map(|due| {
            let status = match due.action {
                DueAction::Released => Status::Posted,
                DueAction::Expired => Status::Expired,
                DueAction::Completed => Status::Completed,
                DueAction::Refunded => Status::Refunded,
            };
            (due.at, status)
        });
        assert_eq!(told, happens, "{status}");
    }
}
