//! Who has opened a page: cookies, and the people behind them.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::api::inside::{Incoming, Refused, WorkerCaller};
use crate::domain::Secret;
use crate::store::Visitor;
use crate::usecases::{AdminVisitor, UseCaseError};

/// `__Host-`: only this host sets it, and only over HTTPS or on this machine.
pub const DEVELOPER_COOKIE: &str = "__Host-legwork_dev";
pub const WORKER_COOKIE: &str = "__Host-legwork_worker";
pub const ADMIN_COOKIE: &str = "__Host-legwork_admin";

/// What it takes to open a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// The path holds a secret, which is as good as a cookie.
    SecretInPath,
    Developer,
    Worker,
    Admin,
}

impl Needs {
    pub fn cookie(self) -> Option<&'static str> {
        match self {
            Self::Developer => Some(DEVELOPER_COOKIE),
            Self::Worker => Some(WORKER_COOKIE),
            Self::Admin => Some(ADMIN_COOKIE),
            Self::Nothing | Self::SecretInPath => None,
        }
    }

    /// Where to sign in.
    pub fn sign_in(self) -> &'static str {
        match self {
            Self::Admin => "/admin/sign-in",
            Self::Worker => "/worker/sign-in",
            _ => "/sign-in",
        }
    }
}

/// A developer who is signed in.
#[derive(Clone)]
pub struct Developer {
    pub visitor: Visitor,
    pub token: Secret,
    pub incoming: Incoming,
}

/// An admin who is signed in. The session ends with the key.
#[derive(Clone)]
pub struct Admin {
    pub visitor: AdminVisitor,
    pub token: Secret,
    pub incoming: Incoming,
}

/// A worker who is signed in. The cookie holds a token of the API.
#[derive(Clone)]
pub struct SignedInWorker {
    pub caller: WorkerCaller,
    pub incoming: Incoming,
}

macro_rules! put_by_the_guard {
    ($($who:ty),+) => { $(
        impl<S: Send + Sync> FromRequestParts<S> for $who {
            type Rejection = Refused;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
                let found = parts.extensions.get::<Self>().cloned();
                found.ok_or_else(|| UseCaseError::Unauthorized.into())
            }
        }
    )+ };
}

put_by_the_guard!(Developer, Admin, SignedInWorker);

/// The token in a cookie, if it is sent once.
pub fn token(request: &Request, cookie: &str) -> Option<Secret> {
    token_in(request.headers(), cookie)
}

/// The same, where only the headers are at hand.
pub fn token_in(headers: &HeaderMap, cookie: &str) -> Option<Secret> {
    let values = headers.get_all(header::COOKIE).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';'));
    let mut found = pairs.filter_map(|pair| pair.trim().strip_prefix(cookie)?.strip_prefix('='));
    let (Some(token), None) = (found.next(), found.next()) else {
        return None;
    };
    (!token.is_empty()).then(|| Secret::presented(token))
}

/// Signs a browser in. The session ends on the server, so the cookie lives as long as the browser keeps it.
pub fn set_cookie(response: &mut Response, cookie: &str, token: &Secret) {
    let value = format!(
        "{cookie}={}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={}",
        token.expose(),
        crate::domain::people::session::WHOLE_LIFE.as_secs()
    );
    append(response, &value);
}

pub fn drop_cookie(response: &mut Response, cookie: &str) {
    append(
        response,
        &format!("{cookie}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"),
    );
}

fn append(response: &mut Response, value: &str) {
    if let Ok(mut value) = HeaderValue::try_from(value) {
        value.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

/// Only a page of the dashboard or the account: a link in a mail could name another site.
pub fn own_path(next: &str) -> Option<&str> {
    path_in(next, &["/dashboard", "/account"])
}

/// Only a page of the workers' app.
pub fn workers_path(next: &str) -> Option<&str> {
    path_in(next, &["/worker"])
}

fn path_in<'a>(next: &'a str, starts: &[&str]) -> Option<&'a str> {
    let inside = starts.iter().any(|start| {
        let rest = next.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    });
    let plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (inside && plain).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cookies: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
        }
        token_in(&headers, DEVELOPER_COOKIE).map(|token| token.expose().to_owned())
    }

    #[test]
    fn a_token_is_taken_from_its_own_cookie_alone() {
        let own = "__Host-legwork_dev=svc_session_1";
        assert_eq!(found(&[own]).as_deref(), Some("svc_session_1"));
        assert_eq!(
            found(&["a=1; __Host-legwork_dev=x; b=2"]).as_deref(),
            Some("x")
        );
        assert_eq!(found(&["a=1", own]).as_deref(), Some("svc_session_1"));
        assert_eq!(found(&[]), None);
        assert_eq!(found(&["__Host-legwork_dev="]), None);
        assert_eq!(
            found(&["__Host-legwork_admin=x", "x__Host-legwork_dev=x"]),
            None
        );
        assert_eq!(found(&[own, own]), None, "which of the two is meant?");
    }

    #[test]
    fn the_way_back_is_one_of_our_pages() {
        for fine in [
            "/dashboard/test/tasks?status=posted",
            "/dashboard",
            "/account",
        ] {
            assert_eq!(own_path(fine), Some(fine));
        }
        for other in [
            "",
            "/",
            "//evil.example",
            "https://evil.example",
            "/dashboard.evil.example",
            "/dashboard\\evil",
            "/dashboard\r\nx: y",
            "/v1/tasks",
            "dashboard",
            "/worker/tasks",
        ] {
            assert_eq!(own_path(other), None, "{other:?}");
        }
        assert_eq!(workers_path("/worker/tasks"), Some("/worker/tasks"));
        assert_eq!(workers_path("/workers"), None);
        assert_eq!(workers_path("/dashboard"), None);
    }
}
