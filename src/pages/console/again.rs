//! /admin/again: the key or a passkey again, before something dangerous.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::pages::console::office::Office;
use crate::pages::console::sign_in::{HOME, credentials, not_passed, own_path};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::passkeys::{Button, FOR_ADMINS, Words, enter};
use crate::sign_in::SignInError;

#[derive(Template)]
#[template(path = "console/again.html")]
struct Again {
    banner: bool,
    form: Form,
    /// Whether the key has an app.
    needs_code: bool,
    words: &'static Words,
    /// For whoever has a passkey.
    passkey: Option<Button>,
}

pub async fn show(office: Office, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let form = Form::with([("next", query.get("next").to_owned())]);
    shown(&office, StatusCode::OK, form).await
}

async fn shown(office: &Office, status: StatusCode, form: Form) -> Result<Response, Refused> {
    let again = Again {
        banner: office.pages.banner(),
        form,
        needs_code: office.has_app().await?,
        words: &FOR_ADMINS,
        passkey: Button::again(&office.pages, office.visitor.session.person).await?,
    };
    Ok(page(status, &again))
}

pub async fn check(office: Office, mut form: Form) -> Result<Response, Refused> {
    let Some(given) = credentials(&form) else {
        form.add_fault("key", "Enter your admin key.");
        return shown(&office, StatusCode::BAD_REQUEST, form).await;
    };
    let (sign_ins, client) = (&office.pages.sign_ins, office.incoming.client);
    let checked = sign_ins.admin_again(&office.visitor, given, client).await;
    go_on(&office, form, checked).await
}

/// For the script.
pub async fn options(office: Office) -> Result<Response, Refused> {
    enter::options_again(&office.pages, office.visitor.session.person).await
}

/// What a passkey has answered. The session was opened with the key, so the key is known.
pub async fn passkey(office: Office, form: Form) -> Result<Response, Refused> {
    let (session, client) = (&office.visitor.session, office.incoming.client);
    let checked = enter::again(&office.pages, session, (&form, client)).await;
    go_on(&office, form, checked).await
}

async fn go_on(
    office: &Office,
    mut form: Form,
    checked: Result<(), SignInError>,
) -> Result<Response, Refused> {
    match checked {
        Ok(()) => {
            let next = own_path(form.get("next")).unwrap_or(HOME);
            Ok(Redirect::to(next).into_response())
        }
        Err(error) => {
            let not = not_passed(&office.pages, error)?;
            form.problem = Some(not.problem);
            shown(office, not.status, form).await
        }
    }
}
