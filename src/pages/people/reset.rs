//! /reset: asks for a link with which a password is chosen.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use crate::api::inside::{Ask, Asker, Incoming, Refused};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{message_with, ok, page};
use crate::pages::state::Pages;

#[derive(Template)]
#[template(path = "people/reset.html")]
struct AskForReset {
    banner: bool,
    form: Form,
    sends_mail: bool,
}

impl AskForReset {
    fn new(pages: &Pages, form: Form) -> Self {
        Self {
            banner: pages.banner(),
            form,
            sends_mail: pages.app.sends_mail,
        }
    }
}

pub async fn show(State(pages): State<Pages>) -> Response {
    ok(&AskForReset::new(&pages, Form::new()))
}

/// Says the same whether or not the address is known.
pub async fn ask(
    State(pages): State<Pages>,
    incoming: Incoming,
    form: Form,
) -> Result<Response, Refused> {
    let body = Value::Object(form.texts(&["email"]));
    let ask = Ask::post("/v1/accounts/password_reset", body);
    match pages.api.text(&Asker::Nobody, &incoming, ask).await {
        Ok(_) => {
            let text = "If there is an account with this address, a mail with a link is on its way. The link works once.";
            let told = ("Look into your mail", text);
            let on = &[("/sign-in", "Back to sign in")];
            Ok(message_with(&pages, StatusCode::OK, told, on))
        }
        Err(refused) => {
            let form = form.refused(&refused, &["email"]);
            Ok(page(refused.status, &AskForReset::new(&pages, form)))
        }
    }
}
