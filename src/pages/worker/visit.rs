//! Who has opened a page of the app.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use serde::de::DeserializeOwned;
use serde_json::Map;

use crate::api::inside::{Ask, Asker, Incoming, Refused};
use crate::domain::{Secret, Timestamp, Worker, WorkerStatus};
use crate::pages::kit::form::Form;
use crate::pages::kit::session::{SignedInWorker, WORKER_COOKIE, token_in};
use crate::pages::state::Pages;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::texts::{self, Texts, scripts};
use crate::pages::worker::words;
use crate::usecases;

/// Anybody.
pub struct Stranger {
    pub pages: Pages,
    pub incoming: Incoming,
    pub t: &'static Texts,
    /// A token that came with the request. It may be no longer good.
    pub token: Option<Secret>,
    path: String,
}

/// A worker who is signed in.
pub struct Visit {
    pub pages: Pages,
    pub incoming: Incoming,
    pub t: &'static Texts,
    pub worker: Worker,
    session_id: String,
    signed_in_at: Timestamp,
    asker: Asker,
    path: String,
}

impl FromRequestParts<Pages> for Stranger {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Refused> {
        let Ok(incoming) = Incoming::from_request_parts(parts, pages).await;
        Ok(Self {
            pages: pages.clone(),
            incoming,
            t: texts::chosen(&parts.headers),
            token: token_in(&parts.headers, WORKER_COOKIE),
            path: parts.uri.path().to_owned(),
        })
    }
}

impl FromRequestParts<Pages> for Visit {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Refused> {
        let SignedInWorker { caller, incoming } =
            SignedInWorker::from_request_parts(parts, pages).await?;
        Ok(Self {
            pages: pages.clone(),
            incoming,
            t: texts::chosen(&parts.headers),
            worker: caller.worker.clone(),
            session_id: caller.session.id.clone(),
            signed_in_at: caller.session.signed_in_at,
            asker: Asker::Worker(caller),
            path: parts.uri.path().to_owned(),
        })
    }
}

impl Stranger {
    pub fn frame(&self, title: &str) -> Frame {
        Frame {
            title: title.to_owned(),
            t: self.t,
            place: None,
            signed_in: false,
            path: self.path.clone(),
            banner: self.pages.banner(),
            request_id: self.incoming.request_id().to_owned(),
            is_suspended: false,
            notice: None,
            scripts: Vec::new(),
            script_texts: Map::new(),
            worker_id: String::new(),
            session_id: String::new(),
            now: self.pages.app.clock.now(),
            windows: *self.pages.app.scheduler.windows(),
        }
    }

    pub async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Refused> {
        let nobody = &Asker::Nobody;
        self.pages.api.ask(nobody, &self.incoming, ask).await
    }

    /// Puts what is wrong beside what was entered.
    pub fn refused(&self, form: Form, refused: &Refused, fields: &[&str]) -> Form {
        words::refused(self.t, form, refused, fields)
    }
}

impl Visit {
    pub async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Refused> {
        self.pages.api.ask(&self.asker, &self.incoming, ask).await
    }

    /// What may be a file or a stream.
    pub async fn response(&self, ask: Ask) -> Result<Response, Refused> {
        let (asker, incoming) = (&self.asker, &self.incoming);
        self.pages.api.response(asker, incoming, ask).await
    }

    /// Hands the body of a request to the API as it comes.
    pub async fn pass_on(&self, target: &str, request: Request) -> Result<Response, Refused> {
        let (asker, incoming) = (&self.asker, &self.incoming);
        self.pages
            .api
            .pass_on(asker, incoming, target, request)
            .await
    }

    pub fn now(&self) -> Timestamp {
        self.pages.app.clock.now()
    }

    pub fn frame(&self, title: &str, place: Place) -> Frame {
        Frame {
            title: title.to_owned(),
            t: self.t,
            place: Some(place),
            signed_in: true,
            path: self.path.clone(),
            banner: self.pages.banner(),
            request_id: self.incoming.request_id().to_owned(),
            is_suspended: self.worker.status == WorkerStatus::Suspended,
            notice: None,
            scripts: vec!["worker_app"],
            script_texts: scripts::as_json(self.t.lang, scripts::APP),
            worker_id: self.worker.id.to_string(),
            session_id: self.session_id.clone(),
            now: self.now(),
            windows: *self.pages.app.scheduler.windows(),
        }
    }

    /// Puts what is wrong beside what was entered.
    pub fn refused(&self, form: Form, refused: &Refused, fields: &[&str]) -> Form {
        words::refused(self.t, form, refused, fields)
    }

    /// Whether the password was given in the last minutes.
    pub fn is_recent(&self) -> bool {
        usecases::check_recent_sign_in(self.signed_in_at, self.now()).is_ok()
    }

    /// Some things need a sign-in of the last minutes: asks for it, and comes back.
    pub fn sign_in_again(&self, next: &str) -> Response {
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        Redirect::to(&format!("/worker/sign-in?again=1&next={next}")).into_response()
    }
}
