//! /worker/sign-in and /worker/sign-out

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::Value;

use crate::ambient;
use crate::api::inside::{Ask, Asker, Refused};
use crate::domain::{Person, Secret};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::passkeys::{self, Button};
use crate::pages::kit::session::{WORKER_COOKIE, drop_cookie, set_cookie, workers_path};
use crate::pages::worker::frame::Frame;
use crate::pages::worker::visit::{Stranger, Visit};
use crate::sign_in::SignInError;
use crate::usecases::{NewSession, UseCaseError};

const HOME: &str = "/worker/tasks";

#[derive(Template)]
#[template(path = "worker/sign_in.html")]
struct SignIn {
    frame: Frame,
    form: Form,
    /// The password was right, and there is a second factor.
    needs_code: bool,
    /// Somebody who is signed in gives the password once more.
    again: bool,
    passkey: Button,
}

#[derive(Deserialize)]
pub struct SignedIn {
    token: String,
}

pub async fn show(stranger: Stranger, RawQuery(query): RawQuery) -> Response {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let mut form = Form::with([
        ("next", query.get("next").to_owned()),
        ("again", query.get("again").to_owned()),
    ]);
    let ended = query.get("done") == "ended";
    form.problem = ended.then(|| stranger.t.enter.session_ended.to_owned());
    let mut frame = stranger.frame(stranger.t.enter.sign_in).script("draft");
    if query.get("done") == "out" {
        frame = frame.notice(Some(stranger.t.enter.signed_out));
    }
    let passkey = (false, Button::new(&stranger.pages));
    shown(frame, StatusCode::OK, form, passkey)
}

/// Whether a code is needed, and the button for a passkey.
type Factor = (bool, Button);

fn shown(frame: Frame, status: StatusCode, form: Form, (needs_code, passkey): Factor) -> Response {
    let again = form.get("again") == "1";
    page(
        status,
        &SignIn {
            frame: frame.script("passkeys"),
            form,
            needs_code,
            again,
            passkey,
        },
    )
}

pub async fn sign_in(stranger: Stranger, mut form: Form) -> Result<Response, Refused> {
    let frame = stranger.frame(stranger.t.enter.sign_in);
    if form.get("email").trim().is_empty() || form.get("password").is_empty() {
        form.problem = Some(stranger.t.enter.both_needed.to_owned());
        let passkey = (false, Button::new(&stranger.pages));
        return Ok(shown(frame, StatusCode::BAD_REQUEST, form, passkey));
    }
    let mut body = form.texts(&["email", "code"]);
    body.insert("password".to_owned(), form.get("password").into());
    let ask = Ask::post("/v1/workers/sessions", Value::Object(body));
    match stranger.ask::<SignedIn>(ask).await {
        Ok(signed_in) => {
            end_former(&stranger).await;
            let next = workers_path(form.get("next")).unwrap_or(HOME);
            Ok(welcome(&signed_in, next))
        }
        Err(refused) if refused.status.is_server_error() && refused.retry_after.is_none() => {
            Err(refused)
        }
        Err(refused) => {
            // Only said to whoever has given the right password.
            let needs_code = refused.is("SECOND_FACTOR_REQUIRED") || refused.is("INVALID_CODE");
            let passkey = match needs_code {
                true => own_button(&stranger, form.get("email")).await?,
                false => Button::new(&stranger.pages),
            };
            let mut form = stranger.refused(form, &refused, &["email", "code"]);
            if refused.is("SECOND_FACTOR_REQUIRED") {
                form.problem = Some(stranger.t.enter.code_needed.to_owned());
            }
            let needs_code = needs_code || !form.get("code").is_empty();
            Ok(shown(frame, refused.status, form, (needs_code, passkey)))
        }
    }
}

/// For the passkeys of the worker with this address, if there are any.
async fn own_button(stranger: &Stranger, email: &str) -> Result<Button, Refused> {
    let (pages, email) = (&stranger.pages, email.trim().to_lowercase());
    let known = pages
        .app
        .store
        .read(move |tx| tx.worker_by_email(&email))
        .await;
    let own = match known.map_err(UseCaseError::from)? {
        Some((worker, _)) => Button::second_factor(pages, Person::Worker(worker.id)).await?,
        None => None,
    };
    Ok(own.unwrap_or_else(|| Button::new(pages)))
}

/// A challenge for the script.
pub async fn passkey_options(stranger: Stranger) -> Result<Response, Refused> {
    passkeys::enter::options(&stranger.pages).await
}

/// What a passkey has answered.
pub async fn passkey(stranger: Stranger, mut form: Form) -> Result<Response, Refused> {
    let session = NewSession {
        token: Secret::worker_token(&ambient::random()),
        user_agent: stranger.incoming.user_agent().to_owned(),
    };
    let token = session.token.clone();
    let signed_in = match passkeys::enter::given(&form) {
        Ok(given) => {
            let (sign_ins, client) = (&stranger.pages.sign_ins, stranger.incoming.client);
            sign_ins.worker_with_passkey(given, session, client).await
        }
        Err(refused) => Err(refused.into()),
    };
    let (status, problem) = match signed_in {
        Ok(()) => {
            end_former(&stranger).await;
            let next = workers_path(form.get("next")).unwrap_or(HOME);
            let mut response = Redirect::to(next).into_response();
            set_cookie(&mut response, WORKER_COOKIE, &token);
            return Ok(response);
        }
        Err(SignInError::TooMany(too_many)) => {
            let wait = stranger.t.duration(too_many.retry_after_seconds);
            let problem = stranger.t.common.try_again_in.with(wait);
            (StatusCode::TOO_MANY_REQUESTS, problem)
        }
        Err(SignInError::Passkey(refused)) => {
            let problem = passkeys::told(&stranger.t.passkeys, refused).to_owned();
            (StatusCode::UNAUTHORIZED, problem)
        }
        Err(SignInError::Refused(error)) => return Err(error.into()),
        Err(_) => return Err(UseCaseError::Unauthorized.into()),
    };
    form.problem = Some(problem);
    let frame = stranger.frame(stranger.t.enter.sign_in);
    let passkey = (false, Button::new(&stranger.pages));
    Ok(shown(frame, status, form, passkey))
}

/// This browser holds one token at a time. If the former one cannot be revoked now, it ends by itself.
async fn end_former(stranger: &Stranger) {
    if let Some(former) = stranger.token.clone() {
        let ask = Ask::delete("/v1/worker/session");
        let (api, asker) = (&stranger.pages.api, Asker::Token(former));
        let _ = api.text(&asker, &stranger.incoming, ask).await;
    }
}

pub fn welcome(signed_in: &SignedIn, next: &str) -> Response {
    let mut response = Redirect::to(next).into_response();
    let token = Secret::presented(&signed_in.token);
    set_cookie(&mut response, WORKER_COOKIE, &token);
    response
}

pub async fn sign_out(visit: Visit) -> Result<Response, Refused> {
    let _: Value = visit.ask(Ask::delete("/v1/worker/session")).await?;
    let mut response = Redirect::to("/worker/sign-in?done=out").into_response();
    drop_cookie(&mut response, WORKER_COOKIE);
    Ok(response)
}
