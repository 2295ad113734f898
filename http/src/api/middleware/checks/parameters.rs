//! Parameters that nothing takes.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::error::ApiError;
use crate::api::request::body;
use crate::api::request::query::Parameters;

/// A method, and a path as routes have it.
pub type Operation = (Method, String);

/// Refuses the parameters of operations that take none. One may be meant for the body, where it would
/// protect money.
pub async fn refuse_stray_parameters(
    State(take_none): State<Arc<HashSet<Operation>>>,
    request: Request,
    next: Next,
) -> Response {
    let query = request.uri().query();
    let query =
        query.filter(|_| operation(&request).is_some_and(|asked| take_none.contains(&asked)));
    match query.map(|query| Parameters::of(query).finish()) {
        Some(Err(errors)) => {
            let refused = body::refuse(ApiError::Validation(errors), request);
            refused.await.into_response()
        }
        _ => next.run(request).await,
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
