//! What is decided about money: disputes, failed payouts and refunds, and what a second admin confirms.

pub mod disputes;
pub mod payouts;
pub mod proposals;
pub mod refunds;

use crate::api::App;
use crate::api::admin::AdminPost;
use crate::api::error::ApiError;
use crate::api::processor::with_timeout;
use crate::api::response::json::JsonResponse;
use crate::domain::TaskId;
use crate::payments::Look;
use crate::store::Tx;
use crate::usecases::{self, Unsent};

/// Closes what the processor can never send, once it has said that it did not.
async fn close(
    app: &App,
    (unsent, id): (&'static Unsent, TaskId),
    note: Option<String>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let (by, four_eyes) = (post.by(), app.four_eyes);
    let work = move |tx: &mut Tx<'_>, now, (): &()| {
        let note = note.as_deref();
        usecases::close_unsent(tx, (unsent, id), note, (&by, four_eyes), now)
    };
    let request = post.once(app).prepare(was_not_made(app, unsent, id));
    request.run_with_status(work, proposals::answer).await
}

/// Asks the processor whether it was sent after all.
async fn was_not_made(app: &App, unsent: &'static Unsent, id: TaskId) -> Result<(), ApiError> {
    let processor = app.payments.processor.clone();
    let name = processor.name();
    let read = move |tx: &mut Tx<'_>| usecases::unsent_to_close(tx, unsent, id, name);
    let Some(outgoing) = app.store.read(read).await? else {
        return Ok(());
    };
    let look = processor.look(unsent.kind, &outgoing);
    match with_timeout(app, look).await? {
        // A retry finds it and records it.
        Look::Made(_) => Err(unsent.not_failed().into()),
        Look::NotMade { .. } => Ok(()),
    }
}
