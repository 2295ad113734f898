//! What a split gives to whom, to the cent.

use axum::extract::{Path, Query};
use serde::Deserialize;

use crate::api::inside::Refused;
use crate::domain::tasks::pricing::{Money, Settlement};
use crate::domain::{QueueItemId, Task};
use crate::pages::console::office::Office;
use crate::pages::kit::words::dollars;
use crate::usecases::UseCaseError;

#[derive(Deserialize)]
pub struct Wanted {
    #[serde(default)]
    paid_cents: String,
}

/// As a sentence, for the script beside the slider.
pub async fn show(
    office: Office,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<String, Refused> {
    let id = QueueItemId::parse(&id).ok_or(UseCaseError::ItemNotFound)?;
    let found = office.pages.app.store.read(move |tx| {
        let item = tx.queue_item(id)?.ok_or(UseCaseError::ItemNotFound)?;
        let task = item.task.ok_or(UseCaseError::TaskNotFound)?;
        tx.any_task(task)?.ok_or(UseCaseError::TaskNotFound)
    });
    let task = found.await?;
    Ok(sentence(&task, &wanted.paid_cents))
}

fn sentence(task: &Task, paid_cents: &str) -> String {
    let paid_cents: Option<i64> = paid_cents.trim().parse().ok();
    match paid_cents.filter(|cents| (1..task.budget_cents).contains(cents)) {
        Some(paid_cents) => {
            told(&Money::Split { paid_cents }.settle(task.budget_cents, task.fee_percent))
        }
        None => format!(
            "Enter an amount from 1 to {} cents.",
            task.budget_cents.saturating_sub(1)
        ),
    }
}

pub fn told(settled: &Settlement) -> String {
    format!(
        "The worker gets {}, the platform {}, and {} goes back to the developer.",
        dollars(settled.payout_cents),
        dollars(settled.fee_cents),
        dollars(settled.refund_cents)
    )
}

/// The same for each decision, for whoever has no script: the words, and the share in percent.
pub fn examples(task: &Task) -> Vec<(String, String)> {
    let settle = |money: Money| told(&money.settle(task.budget_cents, task.fee_percent));
    let mut all = vec![("Pay".to_owned(), settle(Money::PayOut))];
    all.push(("Refund".to_owned(), settle(Money::Refund)));
    for percent in [25, 50, 75] {
        let paid_cents = task.budget_cents * percent / 100;
        let label = format!("Split at {paid_cents} cents");
        all.push((label, settle(Money::Split { paid_cents })));
    }
    all
}
