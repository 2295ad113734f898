//! Parameters that nothing takes.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use futures_util::future::{BoxFuture, Either};
use tower_layer::Layer;
use tower_service::Service;

use crate::api::error::ApiError;
use crate::api::request::body;
use crate::api::request::query::Parameters;

/// A method, and a path as routes have it.
pub type Operation = (Method, String);

/// A layer that refuses the parameters of these operations, which take none. One may be meant for the body, where it
/// would protect money. Nearly every request has none and passes at once: a function would make a future for each.
#[derive(Clone)]
pub struct RefuseStrayParameters(pub Arc<HashSet<Operation>>);

impl Layer<Route> for RefuseStrayParameters {
    type Service = Checked;

    fn layer(&self, within: Route) -> Checked {
        Checked {
            take_none: self.0.clone(),
            within: Arc::new(within),
        }
    }
}

#[derive(Clone)]
pub struct Checked {
    take_none: Arc<HashSet<Operation>>,
    within: Arc<Route>,
}

type Passed = <Route as Service<Request>>::Future;
type Refused = BoxFuture<'static, Result<Response, Infallible>>;

impl Service<Request> for Checked {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Passed, Refused>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Either<Passed, Refused> {
        match self.refused(&request) {
            None => Either::Left(Route::clone(&self.within).call(request)),
            Some(error) => Either::Right(Box::pin(async move {
                Ok(body::refuse(error, request).await.into_response())
            })),
        }
    }
}

impl Checked {
    fn refused(&self, request: &Request) -> Option<ApiError> {
        let query = request.uri().query()?;
        let operation = operation(request)?;
        let takes_none = self.take_none.contains(&operation);
        let parameters = takes_none.then(|| Parameters::of(query))?;
        parameters.finish().err().map(ApiError::Validation)
    }
}

fn operation(request: &Request) -> Option<Operation> {
    let path = request.extensions().get::<MatchedPath>()?;
    let method = match *request.method() {
        Method::HEAD => Method::GET,
        ref method => method.clone(),
    };
    Some((method, path.as_str().to_owned()))
}
