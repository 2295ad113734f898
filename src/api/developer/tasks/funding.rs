//! How a new task will be paid for.

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::processor::with_timeout;
use crate::domain::{Environment, NewTask, TaskId};
use crate::payments::NewPayment;
use crate::store::KeyHolder;
use crate::usecases::{self, Funding, UseCaseError};

/// Creates a payment at the processor, unless the account has a default method, which is charged
/// later, or the deadline has passed: then nobody is to pay. The payment is useless without its
/// secret, which only the response of the new task has.
pub async fn prepare(
    app: &App,
    holder: KeyHolder,
    task: TaskId,
    new: &NewTask,
) -> Result<Funding, ApiError> {
    if holder.owner.environment == Environment::Test {
        return Ok(Funding::Simulated);
    }
    let processor = &app.payments.processor;
    let (now, quota) = (app.clock.now(), app.submissions.quota);
    let method = app
        .store
        .read(move |tx| {
            within_limit(tx.task_counts(holder.owner)?.this_month(now), &holder)?;
            usecases::has_storage(tx, holder.owner, quota)?;
            Ok::<_, UseCaseError>(tx.payment_method(holder.owner)?)
        })
        .await?;
    if let Some(method) = method.filter(|method| method.processor == processor.name()) {
        return Ok(Funding::ByMethod(method.processor, method.method));
    }
    if new.deadline.is_some_and(|deadline| deadline <= now) {
        return Ok(Funding::Later(processor.name()));
    }
    let new = NewPayment {
        task,
        account: holder.owner.account,
        amount_cents: new.budget_cents,
        customer: None,
    };
    let intent = with_timeout(app, processor.create_payment(&new)).await?;
    Ok(Funding::ByHand(processor.name(), intent))
}

/// Saves a call to the processor for a task that will be refused. The transaction that creates the
/// task checks the limit exactly.
fn within_limit(this_month: i64, holder: &KeyHolder) -> Result<(), UseCaseError> {
    let limit = holder.tier.tasks_per_month();
    if this_month < limit {
        Ok(())
    } else {
        Err(UseCaseError::TaskLimitExceeded { limit })
    }
}
