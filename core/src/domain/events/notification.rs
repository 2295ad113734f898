//! Notifications to workers and developers, by e-mail and push.

use crate::domain::accounts::mandate::spending::Use;
use crate::domain::money::amount::dollars;
use crate::domain::string_enum::string_enum;
use crate::domain::tasks::{MAX_PROOF_ATTEMPTS, approval};
use crate::domain::{
    AccountId, LinkPurpose, NotificationId, PaymentFailure, Task, TaskId, Timestamp, WorkerId,
};

string_enum!(NotificationKind {
    TaskAssigned = "task_assigned",
    ProofRejected = "proof_rejected",
    Payout = "payout",
    WorkerVerified = "worker_verified",
    WorkerRefused = "worker_refused",
    Bounty = "bounty",
    WebhookDisabled = "webhook_disabled",
    PaymentFailed = "payment_failed",
    ConfirmEmail = "confirm_email",
    ResetPassword = "reset_password",
    SetPassword = "set_password",
    EmailKnown = "email_known",
    EmailChanged = "email_changed",
    PasswordChanged = "password_changed",
    PasskeyAdded = "passkey_added",
    ExportReady = "export_ready",
    TaskCancelled = "task_cancelled",
    TaskExpired = "task_expired",
    DisputeDecided = "dispute_decided",
    WorkerSuspended = "worker_suspended",
    WorkerRestored = "worker_restored",
    PayoutWrittenOff = "payout_written_off",
    ApprovalRequired = "approval_required",
    ReviewNeeded = "review_needed",
    LimitNearlyUsed = "limit_nearly_used",
    PayoutAccountAttention = "payout_account_attention",
});

string_enum!(NotificationStatus {
    /// To be sent.
    Pending = "pending",
    Sent = "sent",
    /// No mail server is configured: the notification stays in the database.
    Kept = "kept",
    /// Refused permanently.
    Failed = "failed",
});

#[derive(Clone, Debug)]
pub enum Recipient {
    Account(AccountId),
    Worker(WorkerId),
}

/// A notification. It is identified by its occasion, so each is written once.
#[derive(Clone, Debug)]
pub struct Notification {
    pub id: NotificationId,
    pub occasion: String,
    pub kind: NotificationKind,
    pub to: Recipient,
    pub email: String,
    pub subject: String,
    pub paragraphs: Vec<String>,
    /// The path on this service that the message links to.
    pub link: Option<String>,
    pub task: Option<TaskId>,
    /// Not yet marked as read. Only workers have a list of theirs.
    pub unread: bool,
    pub status: NotificationStatus,
    pub error: Option<String>,
    pub sent_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// The text of a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationText {
    pub subject: String,
    pub paragraphs: Vec<String>,
    pub link: Option<String>,
    pub task: Option<TaskId>,
}

pub(super) fn text(
    subject: String,
    paragraphs: impl IntoIterator<Item = String>,
) -> NotificationText {
    NotificationText {
        subject,
        paragraphs: paragraphs.into_iter().collect(),
        link: None,
        task: None,
    }
}

impl NotificationText {
    pub(super) fn about(self, task: &Task) -> Self {
        Self {
            task: Some(task.id),
            ..self
        }
    }
}

fn place(task: &Task) -> String {
    let location = &task.location;
    let city = format!("{}, {}", location.city, location.state);
    match &location.address {
        Some(address) => format!("{address}, {city}"),
        None => city,
    }
}

pub fn assigned(task: &Task) -> NotificationText {
    let mut paragraphs = vec![
        format!("You accepted “{}” at {}.", task.title, place(task)),
        format!("It pays {}.", dollars(task.split().payout_cents)),
    ];
    if let Some(deadline) = task.deadline {
        paragraphs.push(format!("The deadline is {deadline}."));
    }
    text(format!("Task accepted: {}", task.title), paragraphs).about(task)
}

pub fn rejected(task: &Task, reason: &str) -> NotificationText {
    let left = MAX_PROOF_ATTEMPTS - task.proof_attempts;
    let next = match left {
        0 => "That was your last attempt. The task is closed.".to_owned(),
        1 => "You have 1 attempt left.".to_owned(),
        left => format!("You have {left} attempts left."),
    };
    let said = format!(
        "The developer did not accept your proof for “{}”:",
        task.title
    );
    text(
        format!("Proof rejected: {}", task.title),
        [said, reason.to_owned(), next],
    )
    .about(task)
}

pub fn paid(task: &Task, cents: i64) -> NotificationText {
    let amount = dollars(cents);
    text(
        format!("{amount} is on its way to you"),
        [format!(
            "You earned {amount} for “{}”. We sent it to your payout account.",
            task.title
        )],
    )
    .about(task)
}

pub fn verified() -> NotificationText {
    let message = "We checked your documents. You can accept tasks now.";
    text("You are verified".to_owned(), [message.to_owned()])
}

/// With what the admin wrote.
pub fn refused(note: Option<&str>) -> NotificationText {
    let message = "We could not verify you with these documents. You can upload other ones.";
    text(
        "Your verification was refused".to_owned(),
        std::iter::once(message.to_owned()).chain(note.map(str::to_owned)),
    )
}

/// Leaves out the address: only the worker who accepts the task gets it.
pub fn bounty(task: &Task) -> NotificationText {
    let location = &task.location;
    text(
        format!("Bounty near you: {}", task.title),
        [
            format!("“{}” in {}, {}.", task.title, location.city, location.state),
            format!(
                "It pays {}. The first worker to accept gets it.",
                dollars(task.split().payout_cents)
            ),
        ],
    )
    .about(task)
}

pub fn webhook_disabled(url: &str, because: &str) -> NotificationText {
    text(
        "Your webhook is disabled".to_owned(),
        [
            format!("Events are no longer sent to {url}: {because}."),
            "No event is lost: GET /v1/events returns the events of the last 30 days. Set the webhook again to enable it.".to_owned(),
        ],
    )
}

/// `path` is where the person finds it.
pub fn export_ready(path: &str, until: Timestamp) -> NotificationText {
    text(
        "Your data is ready".to_owned(),
        [
            format!(
                "You asked for a copy of what we hold about you. GET {path} returns where to download it."
            ),
            format!("It is deleted at {until}."),
        ],
    )
}

pub fn payment_failed(task: &Task, failure: &PaymentFailure) -> NotificationText {
    text(
        format!("Payment failed: {}", task.title),
        [
            format!(
                "The payment for “{}” failed: {}",
                task.title, failure.message
            ),
            "The task stays pending until you pay in another way or its payment window ends."
                .to_owned(),
        ],
    )
}

/// A limited key has created a task that a person has to agree to.
pub fn approval_required(task: &Task, until: Timestamp) -> NotificationText {
    let amount = dollars(task.budget_cents);
    let said = format!(
        "A key of yours wants to spend {amount} on “{}” at {}.",
        task.title,
        place(task)
    );
    let next = format!(
        "Sign in to agree or refuse. If nobody agrees until {until}, the task expires and nothing is charged. \
         Other tasks may wait too."
    );
    NotificationText {
        link: Some(approval::path(task.owner.environment)),
        ..text(format!("Approve {amount}? {}", task.title), [said, next]).about(task)
    }
}

/// Proof of a task above what its key may review.
pub fn review_needed(task: &Task) -> NotificationText {
    let said = format!(
        "The proof for “{}” waits for you: at {} it is above what your key may review.",
        task.title,
        dollars(task.budget_cents)
    );
    let path = format!("/dashboard/{}/tasks/{}", task.owner.environment, task.id);
    NotificationText {
        link: Some(path),
        ..text(format!("Review needed: {}", task.title), [said]).about(task)
    }
}

/// `used` of `limit` of a limit of a key's mandate.
pub fn limit_nearly_used(key_name: &str, limit: &str, counted: Use) -> NotificationText {
    let Use { limit: most, used } = counted;
    let [used, most] = match limit {
        "max_tasks_per_day" => [used, most].map(|tasks| format!("{tasks} tasks")),
        _ => [used, most].map(dollars),
    };
    text(
        format!("Your key “{key_name}” has nearly used up a limit"),
        [
            format!("It has used {used} of {most} (`{limit}` of its mandate)."),
            "Above the limit, its tasks are refused. You can change the mandate or pause it."
                .to_owned(),
        ],
    )
}

/// The mail that carries a link. The job that sends it adds the link: the text holds no secret.
pub fn mail_link(purpose: LinkPurpose) -> (NotificationKind, NotificationText) {
    let (kind, subject, said) = match purpose {
        LinkPurpose::ConfirmEmail => (
            NotificationKind::ConfirmEmail,
            "Confirm your e-mail address",
            "Somebody signed up with this e-mail address. If it was you, confirm it with the password that you signed up with.",
        ),
        LinkPurpose::ChangeEmail => (
            NotificationKind::ConfirmEmail,
            "Confirm your new e-mail address",
            "Somebody wants to use this e-mail address for an account. If it was you, confirm it with the password of that account.",
        ),
        LinkPurpose::ResetPassword => (
            NotificationKind::ResetPassword,
            "Choose a new password",
            "Somebody asked for a new password for your account. If it was you, choose one.",
        ),
        LinkPurpose::SetPassword => (
            NotificationKind::SetPassword,
            "Choose a password",
            "You are invited to sign in. Choose a password for your account.",
        ),
        LinkPurpose::SignIn => (
            NotificationKind::SetPassword,
            "Sign in",
            "Sign in on the machine that runs the server.",
        ),
    };
    let good_for = match purpose.life().as_secs() / 60 {
        minutes @ ..60 => format!("{minutes} minutes"),
        minutes => format!("{} hours", minutes / 60),
    };
    let end = format!(
        "The link works once, for {good_for}. If you did not ask for this, you can ignore this mail."
    );
    (kind, text(subject.to_owned(), [said.to_owned(), end]))
}

/// To whoever has an account when somebody signs up with the same address.
pub fn email_known() -> NotificationText {
    let said = "Somebody signed up with your e-mail address. You already have an account with it, so the new one stays unconfirmed.";
    let next = "If it was you, sign in with your password or ask for a new one. If not, you can ignore this mail.";
    text(
        "You already have an account".to_owned(),
        [said.to_owned(), next.to_owned()],
    )
}

/// To the former address.
pub fn email_changed(new: &str) -> NotificationText {
    let said = format!("The e-mail address of your account is now {new}.");
    let next = "If you did not change it, contact the operator of this service.";
    text(
        "Your e-mail address was changed".to_owned(),
        [said, next.to_owned()],
    )
}

pub fn password_changed() -> NotificationText {
    let said = "The password of your account was changed, and all other sessions were ended.";
    let next = "If you did not change it, ask for a new password and contact the operator of this service.";
    text(
        "Your password was changed".to_owned(),
        [said.to_owned(), next.to_owned()],
    )
}

/// `page` is where it can be removed.
pub fn passkey_added(name: &str, page: &str) -> NotificationText {
    let said = format!("You can now sign in with the passkey {name:?}, without your password.");
    let next = "If you did not add it, remove it, change your password and contact the operator of this service.";
    let told = text(
        "A passkey was added to your account".to_owned(),
        [said, next.to_owned()],
    );
    NotificationText {
        link: Some(page.to_owned()),
        ..told
    }
}
