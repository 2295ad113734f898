//! How a new task will be paid for, and under which mandate.

use std::sync::Arc;

use futures_util::future::try_join;

use crate::api::App;
use crate::api::developer::tasks::approval;
use crate::api::developer::tasks::creation::Creation;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::processor::with_timeout;
use crate::domain::accounts::mandate::Verdict;
use crate::domain::{Environment, PaymentMethod};
use crate::payments::{Attempt, NewPayment};
use crate::store::{KeyHolder, Lookup, MandateInUse};
use crate::usecases::{self, AskedApproval, Funded, Funding, UseCaseError};

/// What new tasks of a key can count on at the moment.
#[derive(Default)]
pub struct Terms {
    /// None for test tasks, which are not paid for.
    paid: Option<PaidTerms>,
    /// Of a limited key.
    mandate: Option<Arc<MandateInUse>>,
}

struct PaidTerms {
    /// The default method, which is charged later.
    method: Option<PaymentMethod>,
    /// Tasks that the month has room for.
    room: i64,
}

/// Creates a payment at the processor, unless the account has a default method, which is charged
/// later, or the deadline has passed: then nobody is to pay. The payment is useless without its
/// secret, which only the response of the new task has.
pub async fn prepare(app: &App, caller: &Caller, creation: &Creation) -> Result<Funded, ApiError> {
    let terms = terms(app, caller).await?;
    fund(app, creation, &terms, 0).await
}

pub async fn terms(app: &App, caller: &Caller) -> Result<Terms, ApiError> {
    let paid = paid_terms(app, caller.holder);
    let (paid, mandate) = try_join(paid, mandate_of(app, caller)).await?;
    Ok(Terms { paid, mandate })
}

/// It was read with the key, unless the caller was identified elsewhere.
async fn mandate_of(app: &App, caller: &Caller) -> Result<Option<Arc<MandateInUse>>, ApiError> {
    if caller.holder.limits.is_none() || caller.mandate.is_some() {
        return Ok(caller.mandate.clone());
    }
    let mandate = app.store.find(Lookup::mandate(caller.holder.key)).await?;
    Ok(mandate.map(Arc::new))
}

async fn paid_terms(app: &App, holder: KeyHolder) -> Result<Option<PaidTerms>, ApiError> {
    if holder.owner.environment == Environment::Test {
        return Ok(None);
    }
    usecases::expect_confirmed(&holder)?;
    let (now, quota) = (app.clock.now(), app.submissions.quota);
    let (this_month, method) = app
        .store
        .read(move |tx| {
            let this_month = tx.task_counts(holder.owner)?.this_month(now);
            usecases::has_storage(tx, holder.owner, quota)?;
            Ok::<_, UseCaseError>((this_month, tx.payment_method(holder.owner)?))
        })
        .await?;
    let processor = app.payments.processor.name();
    Ok(Some(PaidTerms {
        method: method.filter(|method| method.processor == processor),
        room: holder.tier.tasks_per_month() - this_month,
    }))
}

/// For a task that is created after so many others.
pub async fn fund(
    app: &App,
    creation: &Creation,
    terms: &Terms,
    others: i64,
) -> Result<Funded, ApiError> {
    let mandate = terms.mandate.clone();
    let now = creation.holder.time(app.clock.now());
    let verdict = match &mandate {
        Some(mandate) => usecases::expect_allowed(mandate, &creation.new, now)?,
        None => Verdict::Allowed,
    };
    let funding = match &terms.paid {
        _ if matches!(verdict, Verdict::ApprovalRequired(_)) => {
            Funding::AfterApproval(Box::new(asked(app, creation)))
        }
        None => Funding::Simulated,
        Some(paid) => payment(app, creation, paid, others).await?,
    };
    Ok(Funded { funding, mandate })
}

fn asked(app: &App, creation: &Creation) -> AskedApproval {
    AskedApproval {
        processor: app.payments.processor.name(),
        windows: *app.scheduler.windows(),
        url: approval::url(app, creation.holder.owner.environment),
    }
}

async fn payment(
    app: &App,
    creation: &Creation,
    terms: &PaidTerms,
    others: i64,
) -> Result<Funding, ApiError> {
    // Saves a call to the processor for a task that will be refused. The transaction that creates the
    // task checks the limit exactly.
    if others >= terms.room {
        let limit = creation.holder.tier.tasks_per_month();
        return Err(UseCaseError::TaskLimitExceeded { limit }.into());
    }
    if let Some(method) = terms.method.clone() {
        return Ok(Funding::ByMethod(method.processor, method.method));
    }
    let processor = &app.payments.processor;
    let deadline = creation.new.deadline;
    if deadline.is_some_and(|deadline| deadline <= app.clock.now()) {
        return Ok(Funding::Later(processor.name()));
    }
    let new = NewPayment {
        attempt: Attempt::first(creation.id),
        account: creation.holder.owner.account,
        amount_cents: creation.new.budget_cents,
        customer: None,
        wanted_since: app.clock.now(),
    };
    let intent = with_timeout(app, processor.create_payment(&new)).await?;
    Ok(Funding::ByHand(processor.name(), intent))
}
