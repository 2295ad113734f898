//! The key or token that a request comes with.

use axum::extract::Request;
use axum::http::{HeaderMap, header};

use crate::api::server::LastKey;
use crate::domain::Secret;

/// The key that a request came with, and its hash.
pub struct Presented {
    pub key: Secret,
    pub hash: String,
}

pub fn presented(request: &Request) -> Option<Presented> {
    let key = bearer_token(request.headers())?;
    let hash = match request.extensions().get::<LastKey>() {
        Some(last) => last.hash(&key),
        None => key.hash(),
    };
    Some(Presented { key, hash })
}

pub fn bearer_token(headers: &HeaderMap) -> Option<Secret> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| Secret::presented(token))
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
