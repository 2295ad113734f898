//! How a new task will be paid for.

use crate::api::App;
use crate::api::developer::tasks::creation::Creation;
use crate::api::error::ApiError;
use crate::api::processor::with_timeout;
use crate::domain::{Environment, PaymentMethod};
use crate::payments::NewPayment;
use crate::store::KeyHolder;
use crate::usecases::{self, Funding, UseCaseError};

/// What new live tasks of an account can count on at the moment.
pub struct Terms {
    /// The default method, which is charged later.
    method: Option<PaymentMethod>,
    /// Tasks that the month has room for.
    pub room: i64,
}

/// Creates a payment at the processor, unless the account has a default method, which is charged
/// later, or the deadline has passed: then nobody is to pay. The payment is useless without its
/// secret, which only the response of the new task has.
pub async fn prepare(app: &App, creation: &Creation) -> Result<Funding, ApiError> {
    let terms = terms(app, creation.holder).await?;
    fund(app, creation, terms.as_ref(), 0).await
}

/// None for test tasks, which are not paid for.
pub async fn terms(app: &App, holder: KeyHolder) -> Result<Option<Terms>, ApiError> {
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
    Ok(Some(Terms {
        method: method.filter(|method| method.processor == processor),
        room: holder.tier.tasks_per_month() - this_month,
    }))
}

/// For a task that is created after so many others.
pub async fn fund(
    app: &App,
    creation: &Creation,
    terms: Option<&Terms>,
    others: i64,
) -> Result<Funding, ApiError> {
    let Some(terms) = terms else {
        return Ok(Funding::Simulated);
    };
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
        task: creation.id,
        account: creation.holder.owner.account,
        amount_cents: creation.new.budget_cents,
        customer: None,
    };
    let intent = with_timeout(app, processor.create_payment(&new)).await?;
    Ok(Funding::ByHand(processor.name(), intent))
}
