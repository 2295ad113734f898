//! Who is asking: from the Authorization header to account and environment.

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::rate_limit::Standing;
use super::{App, body};
use crate::domain::{Owner, Secret};
use crate::store::KeyHolder;
use crate::usecases::{self, Refusal};

/// The holder of the key that a request came with.
#[derive(Clone, Debug)]
pub struct Caller {
    pub holder: KeyHolder,
    pub key: Secret,
}

impl Caller {
    pub fn owner(&self) -> Owner {
        self.holder.owner
    }
}

/// Runs before every handler that needs a key: first the key, then the rate limit.
pub async fn require_key(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let caller = match identify(&app, request.headers()).await {
        Ok(caller) => caller,
        Err(error) => return refuse(error, request).await,
    };
    let holder = caller.holder;
    app.key_use.note(holder.key, app.clock.now());
    let standing = match &app.rate_limits {
        None => None,
        Some(limits) => match limits.count(holder.owner.account, holder.tier) {
            (standing, Ok(())) => Some(standing),
            (standing, Err(error)) => {
                return with_standing(refuse(error, request).await, Some(standing));
            }
        },
    };
    request.extensions_mut().insert(caller);
    with_standing(next.run(request).await, standing)
}

async fn identify(app: &App, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let key = bearer_token(headers).ok_or(Refusal::Unauthorized)?;
    let looked_up = key.clone();
    let holder = app
        .store
        .read(move |tx| usecases::authenticate(tx, &looked_up))
        .await?;
    Ok(Caller { holder, key })
}

fn bearer_token(headers: &HeaderMap) -> Option<Secret> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| Secret::presented(token))
}

/// Answers without looking at the body, but lets it arrive: a sender that is cut off while it
/// still writes would never read the answer.
async fn refuse(error: ApiError, request: Request<Body>) -> Response {
    if body::is_being_sent(request.headers()) {
        body::drain(request.into_body()).await;
    }
    error.into_response()
}

fn with_standing(mut response: Response, standing: Option<Standing>) -> Response {
    if let Some(standing) = standing {
        standing.write(response.headers_mut());
    }
    response
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        // Absent only on a route that was put outside `require_key`: refuse rather than guess.
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Refusal::Unauthorized.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn token(values: &[&[u8]]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(
                header::AUTHORIZATION,
                HeaderValue::from_bytes(value).unwrap(),
            );
        }
        bearer_token(&headers).map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn only_one_bearer_token_is_taken() {
        assert_eq!(
            token(&[b"Bearer svc_test_1"]).as_deref(),
            Some("svc_test_1")
        );
        assert_eq!(
            token(&[b"bearer  svc_test_1 "]).as_deref(),
            Some("svc_test_1")
        );
        assert_eq!(token(&[]), None);
        assert_eq!(token(&[b"Bearer"]), None);
        assert_eq!(token(&[b"Bearer "]), None);
        assert_eq!(token(&[b"Basic c3ZjOg=="]), None);
        assert_eq!(token(&[b"Bearer \xff"]), None);
        assert_eq!(token(&[b"Bearer a", b"Bearer b"]), None);
    }
}
