//! Tells calls that opened a connection from those that used one that was kept.

use std::cell::Cell;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// Whether the call of this task has opened a connection.
    static OPENED: Cell<bool>;
}

/// Also tells whether the call has opened a connection for itself.
pub async fn noting_opening<F: Future>(call: F) -> (F::Output, bool) {
    let noted = async {
        let done = call.await;
        (done, OPENED.with(Cell::get))
    };
    OPENED.scope(Cell::new(false), noted).await
}

/// Around what opens the connections of a client.
#[derive(Clone)]
pub struct NoteOpening;

impl<S> Layer<S> for NoteOpening {
    type Service = Noting<S>;

    fn layer(&self, opening: S) -> Noting<S> {
        Noting(opening)
    }
}

#[derive(Clone)]
pub struct Noting<S>(S);

impl<S, T> Service<T> for Noting<S>
where
    S: Service<T>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: T) -> Self::Future {
        let opening = self.0.call(to);
        Box::pin(async move {
            let opened = opening.await;
            // Not every call wants to know. One that gets a kept connection before this one is open leaves
            // this one to another task, where nobody asks.
            let _ = OPENED.try_with(|noted| noted.set(true));
            opened
        })
    }
}
