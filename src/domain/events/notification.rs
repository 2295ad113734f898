//! What workers and developers are told by e-mail and push.

use crate::domain::string_enum::string_enum;
use crate::domain::tasks::MAX_PROOF_ATTEMPTS;
use crate::domain::{AccountId, NotificationId, PaymentFailure, Task, Timestamp, WorkerId};

string_enum!(NotificationKind {
    TaskAssigned = "task_assigned",
    ProofRejected = "proof_rejected",
    Payout = "payout",
    WorkerVerified = "worker_verified",
    WorkerRefused = "worker_refused",
    Bounty = "bounty",
    WebhookDisabled = "webhook_disabled",
    PaymentFailed = "payment_failed",
});

string_enum!(NotificationStatus {
    /// To be sent.
    Pending = "pending",
    Sent = "sent",
    /// There is no mail server: to be read in the database alone.
    Kept = "kept",
    /// Refused for good.
    Failed = "failed",
});

/// Whom to tell.
#[derive(Clone, Debug)]
pub enum Recipient {
    Account(AccountId),
    Worker(WorkerId),
}

/// Something to tell somebody. The occasion names it: the same one is told once.
#[derive(Clone, Debug)]
pub struct Notification {
    pub id: NotificationId,
    pub occasion: String,
    pub kind: NotificationKind,
    pub to: Recipient,
    pub email: String,
    pub subject: String,
    pub paragraphs: Vec<String>,
    /// A path of this service to go on from.
    pub link: Option<String>,
    pub status: NotificationStatus,
    pub error: Option<String>,
    pub sent_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub subject: String,
    pub paragraphs: Vec<String>,
    pub link: Option<String>,
}

fn words(subject: String, paragraphs: impl IntoIterator<Item = String>) -> Words {
    Words {
        subject,
        paragraphs: paragraphs.into_iter().collect(),
        link: None,
    }
}

fn dollars(cents: i64) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

fn place(task: &Task) -> String {
    let location = &task.location;
    let city = format!("{}, {}", location.city, location.state);
    match &location.address {
        Some(address) => format!("{address}, {city}"),
        None => city,
    }
}

pub fn assigned(task: &Task) -> Words {
    let mut paragraphs = vec![
        format!("You have taken “{}” at {}.", task.title, place(task)),
        format!("It pays {}.", dollars(task.parts().payout_cents)),
    ];
    if let Some(deadline) = task.deadline {
        paragraphs.push(format!("It must be done by {deadline}."));
    }
    words(format!("Yours to do: {}", task.title), paragraphs)
}

pub fn rejected(task: &Task, reason: &str) -> Words {
    let left = MAX_PROOF_ATTEMPTS - task.proof_attempts;
    let next = match left {
        0 => "That was the last attempt: the task is over.".to_owned(),
        1 => "You have 1 attempt left.".to_owned(),
        left => format!("You have {left} attempts left."),
    };
    let said = format!(
        "The developer did not accept your proof for “{}”:",
        task.title
    );
    words(
        format!("Proof rejected: {}", task.title),
        [said, reason.to_owned(), next],
    )
}

pub fn paid(task: &Task, cents: i64) -> Words {
    let amount = dollars(cents);
    words(
        format!("{amount} is on its way to you"),
        [format!(
            "You have earned {amount} with “{}”. It was sent to your payout account.",
            task.title
        )],
    )
}

pub fn verified() -> Words {
    let text = "Your documents were checked: you can take tasks now.";
    words("You are verified".to_owned(), [text.to_owned()])
}

pub fn refused() -> Words {
    let text = "Your documents were not enough to verify you. You may send others.";
    words(
        "Your verification was refused".to_owned(),
        [text.to_owned()],
    )
}

/// The exact place is told to whoever takes it, and to nobody else.
pub fn bounty(task: &Task) -> Words {
    let location = &task.location;
    words(
        format!("Bounty near you: {}", task.title),
        [
            format!("“{}” in {}, {}.", task.title, location.city, location.state),
            format!(
                "It pays {}. Whoever is first takes it.",
                dollars(task.parts().payout_cents)
            ),
        ],
    )
}

pub fn webhook_disabled(url: &str, because: &str) -> Words {
    words(
        "Your webhook is disabled".to_owned(),
        [
            format!("Events are no longer sent to {url}: {because}."),
            "No event is lost: GET /v1/events has those of the last 30 days. Set the webhook again to enable it.".to_owned(),
        ],
    )
}

pub fn payment_failed(task: &Task, failure: &PaymentFailure) -> Words {
    words(
        format!("Payment failed: {}", task.title),
        [
            format!(
                "“{}” could not be paid for: {}",
                task.title, failure.message
            ),
            "It stays pending until it is paid for in another way, or until its time is over."
                .to_owned(),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cents_are_told_as_dollars() {
        assert_eq!(
            [0, 5, 2_100, 99_999_999].map(dollars),
            ["$0.00", "$0.05", "$21.00", "$999999.99"]
        );
    }
}
