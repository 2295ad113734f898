//! Middleware made of a function that takes a state, the request and what comes next, like
//! `axum::middleware::from_fn_with_state`. For each request, that one copies all that lies within, and each layer within
//! does so again. Here what lies within is shared. Pages, whose middleware takes more than the request, use axum's.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::Route;
use futures_util::FutureExt;
use futures_util::future::NeverError;
use tower_layer::Layer;
use tower_service::Service;

/// What comes next: another layer, or the handler.
pub struct Next(Route);

impl Next {
    pub async fn run(mut self, request: Request) -> Response {
        match self.0.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// The layer that runs this function before and after what lies within.
pub fn around<S, F>(state: S, function: F) -> Around<S, F> {
    Around { state, function }
}

#[derive(Clone)]
pub struct Around<S, F> {
    state: S,
    function: F,
}

impl<S: Clone, F: Clone> Layer<Route> for Around<S, F> {
    type Service = Layered<S, F>;

    fn layer(&self, within: Route) -> Layered<S, F> {
        Layered(Arc::new((self.clone(), within)))
    }
}

pub struct Layered<S, F>(Arc<(Around<S, F>, Route)>);

impl<S, F> Clone for Layered<S, F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S, F, Answer> Service<Request> for Layered<S, F>
where
    S: Clone,
    F: Fn(State<S>, Request, Next) -> Answer,
    Answer: Future<Output = Response>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = NeverError<Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> NeverError<Answer> {
        let (Around { state, function }, within) = &*self.0;
        function(State(state.clone()), request, Next(within.clone())).never_error()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::body::Body;
    use axum::http::StatusCode;

    use super::*;

    /// Counts how often it is copied.
    struct Within(Arc<AtomicUsize>);

    impl Clone for Within {
        fn clone(&self) -> Self {
            self.0.fetch_add(1, Ordering::Relaxed);
            Self(self.0.clone())
        }
    }

    impl Service<Request> for Within {
        type Response = Response;
        type Error = Infallible;
        type Future = Ready<Result<Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request) -> Self::Future {
            ready(Ok(Response::default()))
        }
    }

    async fn pass(
        State(layers): State<Arc<AtomicUsize>>,
        request: Request,
        next: Next,
    ) -> Response {
        layers.fetch_add(1, Ordering::Relaxed);
        next.run(request).await
    }

    /// How often a request copies what lies within so many layers.
    async fn copies(layers: usize) -> usize {
        let (copied, passed) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let mut router = Router::new().route_service("/", Within(copied.clone()));
        for _ in 0..layers {
            router = router.layer(around(passed.clone(), pass));
        }
        let made = copied.load(Ordering::Relaxed);
        let response = router.call(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(passed.load(Ordering::Relaxed), layers);
        copied.load(Ordering::Relaxed) - made
    }

    #[tokio::test]
    async fn what_lies_within_is_copied_no_more_by_many_layers_than_by_one() {
        assert_eq!(copies(4).await, copies(1).await);
    }
}
