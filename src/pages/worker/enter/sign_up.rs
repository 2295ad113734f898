//! /worker/sign-up

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::Value;

use super::sign_in::{SignedIn, welcome};
use crate::api::inside::Ask;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::Frame;
use crate::pages::worker::visit::Stranger;

const FIELDS: [&str; 3] = ["name", "email", "password"];

#[derive(Template)]
#[template(path = "worker/sign_up.html")]
struct SignUp {
    frame: Frame,
    form: Form,
}

pub async fn show(stranger: Stranger) -> Response {
    if stranger.token.is_some() {
        return Redirect::to("/worker/start").into_response();
    }
    shown(&stranger, StatusCode::OK, Form::new())
}

fn shown(stranger: &Stranger, status: StatusCode, form: Form) -> Response {
    let frame = stranger.frame(stranger.t.enter.sign_up);
    page(status, &SignUp { frame, form })
}

/// Signs the worker up and in.
pub async fn sign_up(stranger: Stranger, form: Form) -> Response {
    let mut body = form.texts(&FIELDS);
    // Spaces at the ends of a password count.
    body.insert("password".to_owned(), form.get("password").into());
    let ask = Ask::post("/v1/workers", Value::Object(body)).once(form.key());
    match stranger.ask::<SignedIn>(ask).await {
        Ok(signed_in) => welcome(&signed_in, "/worker/start"),
        Err(refused) => {
            let mut told = stranger.refused(form, &refused, &FIELDS);
            if refused.is("EMAIL_TAKEN") {
                let problem = told.problem.take().unwrap_or_default();
                told.add_fault("email", problem);
            }
            shown(&stranger, refused.status, told)
        }
    }
}
