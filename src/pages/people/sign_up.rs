//! /sign-up

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::Value;

use crate::api::inside::{Ask, Asker, Incoming, Refused};
use crate::domain::AccountId;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::session::{DEVELOPER_COOKIE, set_cookie};
use crate::pages::state::Pages;
use crate::usecases::{self, UseCaseError};

const FIELDS: [&str; 4] = ["name", "email", "company", "password"];

#[derive(Template)]
#[template(path = "people/sign_up.html")]
struct SignUp {
    banner: bool,
    form: Form,
}

#[derive(Template)]
#[template(path = "people/welcome.html")]
struct Welcome<'a> {
    banner: bool,
    name: &'a str,
    test_key: &'a str,
    live_key: &'a str,
    sends_mail: bool,
    url: &'a str,
}

#[derive(Deserialize)]
struct SignedUp {
    account: NewAccount,
    live_key: String,
    test_key: String,
}

#[derive(Deserialize)]
struct NewAccount {
    id: String,
    name: String,
}

pub async fn show(State(pages): State<Pages>) -> Response {
    let banner = pages.banner();
    ok(&SignUp {
        banner,
        form: Form::new(),
    })
}

/// Opens the account, signs the person in, and shows the keys this once.
pub async fn sign_up(
    State(pages): State<Pages>,
    incoming: Incoming,
    form: Form,
) -> Result<Response, Refused> {
    let mut body = form.texts(&FIELDS);
    // Spaces at the ends of a password count.
    body.insert("password".to_owned(), form.get("password").into());
    let ask = Ask::post("/v1/accounts/sign_up", Value::Object(body)).once(form.key());
    let signed_up: SignedUp = match pages.api.ask(&Asker::Nobody, &incoming, ask).await {
        Ok(signed_up) => signed_up,
        Err(refused) => {
            let (banner, status) = (pages.banner(), refused.status);
            let form = form.refused(&refused, &FIELDS);
            return Ok(page(status, &SignUp { banner, form }));
        }
    };
    let id = AccountId::parse(&signed_up.account.id).ok_or(UseCaseError::AccountNotFound)?;
    let (origin, now) = (incoming.origin(), pages.app.clock.now());
    let opened = pages
        .app
        .store
        .write(move |tx| usecases::sign_in_new_account(tx, id, &origin, now));
    let Some(token) = opened.await? else {
        return Ok(Redirect::to("/sign-in").into_response());
    };
    let welcome = Welcome {
        banner: pages.banner(),
        name: &signed_up.account.name,
        test_key: &signed_up.test_key,
        live_key: &signed_up.live_key,
        sends_mail: pages.app.sends_mail,
        url: pages.app.own_url(),
    };
    let mut response = page(StatusCode::OK, &welcome);
    set_cookie(&mut response, DEVELOPER_COOKIE, &token);
    Ok(response)
}
