//! /worker/password: asks for a link with which a password is chosen.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use crate::api::inside::Ask;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::Frame;
use crate::pages::worker::visit::Stranger;

#[derive(Template)]
#[template(path = "worker/password.html")]
struct AskForReset {
    frame: Frame,
    form: Form,
    sends_mail: bool,
    sent: bool,
}

pub async fn show(stranger: Stranger) -> Response {
    shown(&stranger, StatusCode::OK, Form::new(), false)
}

fn shown(stranger: &Stranger, status: StatusCode, form: Form, sent: bool) -> Response {
    let asked = AskForReset {
        frame: stranger.frame(stranger.t.enter.forgot),
        form,
        sends_mail: stranger.pages.app.sends_mail,
        sent,
    };
    page(status, &asked)
}

/// Says the same whether or not the address is known.
pub async fn ask(stranger: Stranger, form: Form) -> Response {
    let body = Value::Object(form.texts(&["email"]));
    let ask = Ask::post("/v1/workers/password_reset", body);
    match stranger.ask::<Value>(ask).await {
        Ok(_) => shown(&stranger, StatusCode::OK, form, true),
        Err(refused) => {
            let form = stranger.refused(form, &refused, &["email"]);
            shown(&stranger, refused.status, form, false)
        }
    }
}
