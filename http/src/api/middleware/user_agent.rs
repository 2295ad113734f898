//! What a program says of itself.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

use crate::domain::Origin;

/// The User-Agent header, cut to what is worth keeping; empty if there is none.
#[derive(Clone, Debug)]
pub struct UserAgent(pub String);

impl<S: Send + Sync> FromRequestParts<S> for UserAgent {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let sent = parts.headers.get(header::USER_AGENT);
        let sent = sent.and_then(|sent| sent.to_str().ok());
        let origin = Origin::new("", sent.unwrap_or_default());
        Ok(Self(origin.user_agent().to_owned()))
    }
}
