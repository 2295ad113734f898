//! Workers with the status of their payout account.

use crate::api::App;
use crate::api::error::ApiError;
use crate::domain::{PayoutStatus, Worker, WorkerId};
use crate::store::{StoreError, Tx};
use crate::usecases;
use crate::views::worker::WorkerBody;

/// Whether a worker can be paid through this server's processor.
pub async fn payout_status(app: &App, worker: WorkerId) -> Result<PayoutStatus, StoreError> {
    let processor = app.payments.processor.name();
    let read = move |tx: &mut Tx<'_>| usecases::payout_status(tx, worker, processor);
    app.store.read(read).await
}

pub async fn with_payout_status(app: &App, worker: Worker) -> Result<WorkerBody, ApiError> {
    let payout = payout_status(app, worker.id).await?;
    Ok(WorkerBody::of(worker, payout))
}
