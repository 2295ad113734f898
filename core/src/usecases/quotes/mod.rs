//! Quotes: what a task would cost, and the task that a quote becomes.

mod coverage;

pub use coverage::coverage;

use crate::domain::quotes::coverage::Coverage;
use crate::domain::quotes::{EXPIRED_KEPT, GOOD_FOR, MAX_OPEN_QUOTES, Redeemed};
use crate::domain::{IDEMPOTENCY_KEPT, NewTask, Quote, QuoteId, TaskId, Timestamp};
use crate::store::{KeyHolder, MandateInUse, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::accounts::expect_confirmed;
use crate::usecases::tasks::{Funded, create_task};
use crate::views::quote::QuoteBody;
use crate::views::task::TaskBody;
use crate::views::to_json;

/// Stores a quote for a task, which is not created. Refused where the task would be.
pub fn make_quote(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    new: &NewTask,
    (id, coverage): (QuoteId, Coverage),
    now: Timestamp,
) -> Result<Quote, UseCaseError> {
    expect_confirmed(by)?;
    let limit = by.tier.tasks_per_month();
    if tx.task_counts(by.owner)?.this_month(now) >= limit {
        return Err(UseCaseError::TaskLimitExceeded { limit });
    }
    has_room(tx, by, now)?;
    let at = by.time(now);
    let mandate = match by.limits {
        Some(_) => tx.mandate(by.key)?,
        None => None,
    };
    let verdict = |used: &MandateInUse| used.mandate.verdict(used.spent, new, at);
    let verdict = mandate.as_ref().map(verdict);
    let limited = mandate.as_ref().zip(verdict.as_ref());
    let mut quote = Quote::new(id, by.owner, by.tier, new, at);
    quote.bound_to = limited.map(|_| by.key);
    quote.body = to_json(&QuoteBody::of(&quote, &coverage, limited, at))?;
    // By the real time: a test clock goes ahead and back.
    let kept_until = now.plus(GOOD_FOR).plus(EXPIRED_KEPT);
    tx.insert_quote(&quote, kept_until)?;
    Ok(quote)
}

/// A program with a key of its own cannot use up what the others need.
fn has_room(tx: &mut Tx<'_>, by: &KeyHolder, now: Timestamp) -> Result<(), UseCaseError> {
    let now = by.time(now);
    let limited = by.limits.map(|_| by.key);
    match tx.open_quotes(by.owner, limited, now)? {
        (open, Some(first)) if open >= MAX_OPEN_QUOTES => Err(UseCaseError::TooManyQuotes {
            limit: MAX_OPEN_QUOTES,
            retry_after_seconds: first.since(now).as_secs() + 1,
        }),
        _ => Ok(()),
    }
}

/// A quote of this holder. That of another key with a mandate is not found.
pub fn own_quote(tx: &mut Tx<'_>, by: &KeyHolder, id: QuoteId) -> Result<Quote, UseCaseError> {
    held(tx.quote(by.owner, id)?, by)
}

fn held(quote: Option<Quote>, by: &KeyHolder) -> Result<Quote, UseCaseError> {
    let quote = quote.filter(|quote| quote.is_for(by.key));
    quote.ok_or(UseCaseError::QuoteNotFound)
}

/// The task that a quote is for, if it is still to be created.
pub fn quoted_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: QuoteId,
    now: Timestamp,
) -> Result<Option<NewTask>, UseCaseError> {
    let quote = own_quote(tx, by, id)?;
    if quote.redeemed.is_some() {
        return Ok(None);
    }
    expect_open(&quote, by, now)?;
    Ok(Some(quote.task()))
}

fn expect_open(quote: &Quote, by: &KeyHolder, now: Timestamp) -> Result<(), UseCaseError> {
    match quote.has_expired(by.time(now)) {
        true => Err(UseCaseError::QuoteExpired),
        false => Ok(()),
    }
}

/// What redeeming a quote answers.
#[derive(Clone, Debug)]
pub struct RedeemedQuote {
    /// The new task as JSON.
    pub task: String,
    pub client_secret: Option<String>,
    /// Whether the quote was redeemed before.
    pub again: bool,
}

/// Creates the task of a quote, at the fee that was quoted. A quote that was redeemed gives the same answer
/// again. `funded` is the id of the task and how it is paid for, where `quoted_task` found one.
pub fn redeem_quote(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: QuoteId,
    funded: Option<&(TaskId, Funded)>,
    now: Timestamp,
) -> Result<RedeemedQuote, UseCaseError> {
    let quote = held(tx.quote_to_redeem(by.owner, id)?, by)?;
    if let Some(redeemed) = quote.redeemed {
        return answered(tx, redeemed);
    }
    expect_open(&quote, by, now)?;
    let (task, funded) = funded.ok_or(UseCaseError::QuoteNotFound)?;
    let new = quote.task();
    let task = create_task(tx, by, &funded.order(&new, *task), now)?;
    let client_secret = funded.funding.client_secret().map(str::to_owned);
    let redeemed = Redeemed {
        task: task.id,
        answer: TaskBody::json(&task)?,
        gave_secret: client_secret.is_some(),
    };
    tx.quote_redeemed(id, &redeemed, now.plus(IDEMPOTENCY_KEPT))?;
    Ok(RedeemedQuote {
        task: redeemed.answer,
        client_secret,
        again: false,
    })
}

/// The secret is that of the payment: a payment that has one keeps it.
fn answered(tx: &mut Tx<'_>, redeemed: Redeemed) -> Result<RedeemedQuote, UseCaseError> {
    let payment = match redeemed.gave_secret {
        true => tx.payment(redeemed.task)?,
        false => None,
    };
    let intent = payment.and_then(|payment| payment.intent);
    let secret = intent.map(|intent| tx.client_secret(redeemed.task, &intent));
    Ok(RedeemedQuote {
        task: redeemed.answer,
        client_secret: secret.transpose()?.flatten(),
        again: true,
    })
}
