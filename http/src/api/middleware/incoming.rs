//! The request of a browser, as far as the API asks for it when a page asks on.

use axum::body::Body;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};

use crate::api::middleware::client_address::noted_on;
use crate::api::middleware::notes::Notes;
use crate::api::request::body::room::Claim;
use crate::domain::Origin;
use crate::limits::ClientAddress;

#[derive(Clone)]
pub struct Incoming {
    pub client: ClientAddress,
    pub notes: Option<Notes>,
    pub user_agent: Option<HeaderValue>,
    /// What its body may hold.
    pub claim: Option<Claim>,
}

impl Incoming {
    pub fn of(request: &Request) -> Self {
        Self {
            client: noted_on(request),
            notes: request.extensions().get::<Notes>().cloned(),
            user_agent: request.headers().get(header::USER_AGENT).cloned(),
            claim: request.extensions().get::<Claim>().cloned(),
        }
    }

    /// As the response will tell it.
    pub fn request_id(&self) -> &str {
        self.notes.as_ref().map_or("", Notes::request_id)
    }

    pub fn user_agent(&self) -> &str {
        let agent = self.user_agent.as_ref();
        let agent = agent.and_then(|value| value.to_str().ok());
        agent.unwrap_or_default()
    }

    /// Where a session begins.
    pub fn origin(&self) -> Origin {
        Origin::new(&self.client.to_string(), self.user_agent())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Incoming {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let mut request = Request::new(Body::empty());
        *request.extensions_mut() = parts.extensions.clone();
        *request.headers_mut() = parts.headers.clone();
        Ok(Self::of(&request))
    }
}

/// Whether whoever asks takes pages.
pub struct TakesPages(pub bool);

impl<S: Send + Sync> FromRequestParts<S> for TakesPages {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(takes_pages(&parts.headers)))
    }
}

/// Browsers say that they take pages, and programs seldom do.
pub fn takes_pages(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let texts = accepted.filter_map(|value| value.to_str().ok());
    let mut kinds = texts.flat_map(|text| text.split(','));
    kinds.any(|kind| {
        kind.split(';')
            .next()
            .is_some_and(|kind| kind.trim() == "text/html")
    })
}
