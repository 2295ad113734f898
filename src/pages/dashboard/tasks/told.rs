//! How a task stands, what comes next and what a decision costs, in words.

use crate::domain::tasks::pricing::Settlement;
use crate::domain::{Action, Status, Task, Timestamp};
use crate::pages::kit::words::dollars;

pub const WAITS_FOR_YES: &str =
    "A limited key has created it. It waits for your yes; nothing is charged before.";
pub const FUNDED_IN_TEST: &str = "It is paid. In test it goes on when you advance it.";

/// What happens next, or how it ended. A dispute has its own ends.
pub fn next(status: &str, decision: Option<&str>) -> &'static str {
    match (status, decision) {
        ("completed", Some("pay")) => "The dispute is decided: the worker is paid.",
        ("completed", Some(_)) => {
            "The dispute is decided: the worker gets a part, and you get the rest back."
        }
        ("refunded", Some(_)) => "The dispute is decided: you get your money back.",
        ("pending", _) => "It waits for its payment. Workers see it once it is paid.",
        ("funded", _) => "It is paid. It is posted in a moment.",
        ("posted", _) => "Workers nearby see it. One of them accepts it.",
        ("assigned", _) => "A worker has accepted it and will start.",
        ("in_progress", _) => "The worker is on it and will send proof.",
        ("proof_submitted", _) => "There is proof. Look at it, and approve or reject it.",
        ("proof_rejected", _) => {
            "You have rejected the proof. The worker tries again, or contests it."
        }
        ("completed", None) => "Done: the proof counts, and the worker is paid.",
        ("disputed", _) => "The worker contests your rejection. An admin decides.",
        ("cancelled", _) => "It was cancelled.",
        ("expired", _) => "Its time passed before it was done.",
        ("refunded", None) => "It is over, and you have your money back.",
        _ => "",
    }
}

/// What to cancel a task comes to.
pub struct Cancelling {
    pub sentence: String,
    /// What the form says that goes back, so that a task which a worker has accepted since is not cancelled at another
    /// price.
    pub refund_cents: i64,
}

/// None when it cannot be cancelled.
pub fn cancelling(task: &Task, payment: &str, now: Timestamp) -> Option<Cancelling> {
    let moved = task.act(Action::Cancel, now).ok()?;
    let Settlement {
        payout_cents,
        fee_cents,
        refund_cents,
        ..
    } = moved.settlement;
    let sentence = match (task.status, payment) {
        (Status::Pending, "processing") => {
            "It is being charged. What was charged comes back to you.".to_owned()
        }
        (Status::Pending, _) => "It is not paid for: nothing was charged.".to_owned(),
        _ if payout_cents == 0 => format!("You get {} back.", dollars(refund_cents)),
        _ => format!(
            "A worker has accepted it and gets {}. Our fee is {}. You get {} back.",
            dollars(payout_cents),
            dollars(fee_cents),
            dollars(refund_cents)
        ),
    };
    Some(Cancelling {
        sentence,
        refund_cents,
    })
}

pub fn consequence(action: Action) -> &'static str {
    match action {
        Action::LeaveUnpaid => "it expires without payment",
        Action::Release => "it is offered to other workers again",
        Action::Approve => "the proof counts as approved",
        Action::DecideRefund => "you get your money back",
        _ => "it expires, and you get your money back",
    }
}

/// What was just done. A link says so too, perhaps an old one: the task must agree.
pub fn notice(done: &str, status: &str, has_statement: bool) -> Option<&'static str> {
    Some(match (done, status) {
        ("created", _) => "The task is created.",
        ("advanced", _) => "The task has moved on.",
        ("cancelled", "cancelled" | "refunded") => "The task is cancelled.",
        ("stated", _) if has_statement => {
            "Your statement is kept. The worker and the admins read it."
        }
        _ => return None,
    })
}
