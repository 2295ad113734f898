//! What workers are told when others decide: about their tasks, their money and themselves.

use crate::domain::Task;
use crate::domain::events::notification::{NotificationText, text};
use crate::domain::money::amount::dollars;

pub fn cancelled(task: &Task, paid_cents: i64) -> NotificationText {
    let title = &task.title;
    let said = format!("The developer cancelled “{title}”, which you had accepted.");
    let paid = format!("You get {} for it.", dollars(paid_cents));
    text(format!("Task cancelled: {title}"), [said, paid]).about(task)
}

pub fn expired(task: &Task) -> NotificationText {
    let title = &task.title;
    let said = format!("The time for “{title}” is over. It takes no proof any more.");
    let paid = "The developer gets the money back.".to_owned();
    text(format!("Task expired: {title}"), [said, paid]).about(task)
}

/// With why it was decided so, if that was said.
pub fn dispute_decided(task: &Task, paid_cents: i64, why: Option<&str>) -> NotificationText {
    let title = &task.title;
    let outcome = match paid_cents {
        0 => "The developer gets the money back.".to_owned(),
        cents => format!("You get {}.", dollars(cents)),
    };
    let said = format!("Your dispute about “{title}” was decided. {outcome}");
    let why = why.map(|why| format!("The reason: {why}"));
    let paragraphs = std::iter::once(said).chain(why);
    text(format!("Dispute decided: {title}"), paragraphs).about(task)
}

pub fn renamed(name: &str) -> NotificationText {
    let said = format!("Your name is now {name}. You can accept tasks again.");
    text("Your new name is confirmed".to_owned(), [said])
}

/// With what the admin wrote.
pub fn name_refused(name: &str, note: Option<&str>) -> NotificationText {
    let said = format!(
        "We could not confirm {name} as your name. You keep the one that was verified, and can accept tasks again."
    );
    text(
        "Your new name was refused".to_owned(),
        std::iter::once(said).chain(note.map(str::to_owned)),
    )
}

pub fn suspended(released_tasks: usize) -> NotificationText {
    let said = "You are suspended. You cannot accept tasks or send proof.".to_owned();
    let tasks = match released_tasks {
        0 => None,
        1 => Some("A task that you had not finished went to others.".to_owned()),
        tasks => Some(format!(
            "{tasks} tasks that you had not finished went to others."
        )),
    };
    let money = "Proof under review and open disputes are decided as usual. What you earned is held until you are restored.";
    let paragraphs = [Some(said), tasks, Some(money.to_owned())];
    text(
        "You are suspended".to_owned(),
        paragraphs.into_iter().flatten(),
    )
}

pub fn restored(verified: bool) -> NotificationText {
    let next = match verified {
        true => "You can accept tasks again.",
        false => "You can send your documents to be verified.",
    };
    let money = "Payouts that were held are sent.";
    text(
        "You are no longer suspended".to_owned(),
        [
            format!("You are no longer suspended. {next}"),
            money.to_owned(),
        ],
    )
}

pub fn written_off(task: &Task, cents: i64) -> NotificationText {
    let (title, amount) = (&task.title, dollars(cents));
    let said = format!(
        "The payout of {amount} for “{title}” could not be made and was written off. You will not get it."
    );
    let next = "If you think that this is wrong, contact the operator of this service.".to_owned();
    text(format!("{amount} was written off"), [said, next]).about(task)
}

/// The processor says that the account cannot take payouts.
pub fn payout_account_attention() -> NotificationText {
    let said = "The payment processor cannot pay out to your account at present. Until it can, you cannot accept tasks, and what you earn waits.";
    needs_attention([said.to_owned()])
}

/// A payout was refused for good.
pub fn payout_failed(task: &Task, cents: i64) -> NotificationText {
    let said = format!(
        "We could not send you {} for “{}”. The money stays on your balance.",
        dollars(cents),
        task.title
    );
    needs_attention([said]).about(task)
}

/// The bank of the worker did not take a payout.
pub fn bank_refused(cents: i64) -> NotificationText {
    let amount = dollars(cents);
    needs_attention([format!(
        "Your bank did not take a payout of {amount}. The money is on your account with the payment processor."
    )])
}

fn needs_attention(said: impl IntoIterator<Item = String>) -> NotificationText {
    let next = "Open your payout account to see what is missing.".to_owned();
    text(
        "Your payout account needs attention".to_owned(),
        said.into_iter().chain([next]),
    )
}
