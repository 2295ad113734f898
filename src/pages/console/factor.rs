//! /admin/factor: the second factor of an admin's key.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::Person;
use crate::pages::console::office::{Office, Place};
use crate::pages::kit::factor::{Begun, CODES_ARE_GONE, begun};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

const PATH: &str = "/v1/admin/second_factor";

#[derive(Template)]
#[template(path = "console/factor.html")]
struct Factor {
    shell: Shell,
    status: Status,
    form: Form,
    begun: Option<Begun>,
    /// Shown once, right after they were made.
    codes: Vec<String>,
}

#[derive(Deserialize)]
struct Status {
    enabled: bool,
    recovery_codes_left: i64,
    required: bool,
}

#[derive(Deserialize)]
struct Codes {
    recovery_codes: Vec<String>,
}

/// What is shown beside how the factor stands.
#[derive(Default)]
struct More {
    form: Option<Form>,
    /// Whoever has just begun sees the secret, whenever they signed in.
    is_new: bool,
    codes: Vec<String>,
}

pub async fn show(office: Office) -> Result<Response, Refused> {
    shown(&office, StatusCode::OK, More::default()).await
}

async fn shown(office: &Office, status: StatusCode, more: More) -> Result<Response, Refused> {
    let key = &office.visitor.key;
    // The name of the entry as the API gives it.
    let label = format!("admin {}", key.name);
    let is_shown = more.is_new || office.is_recent();
    let begun = begun(&office.pages, Person::Admin(key.id), &label, is_shown).await?;
    let factor = Factor {
        shell: office.shell("Second factor", Place::Factor),
        status: office.ask(Ask::get(PATH)).await?,
        form: more.form.unwrap_or_else(|| Form::with([])),
        begun,
        codes: more.codes,
    };
    Ok(page(status, &factor))
}

/// Makes a secret, and shows it as a picture and as text. Sent again with its key, it is the same one.
pub async fn begin(office: Office, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post(PATH, json!({})).once(form.key());
    office.ask::<Value>(ask).await?;
    let more = More {
        is_new: true,
        ..More::default()
    };
    shown(&office, StatusCode::OK, more).await
}

pub async fn confirm(office: Office, form: Form) -> Result<Response, Refused> {
    codes(&office, "confirm", form).await
}

pub async fn new_codes(office: Office, form: Form) -> Result<Response, Refused> {
    codes(&office, "recovery_codes", form).await
}

/// What is answered with new recovery codes.
async fn codes(office: &Office, what: &str, form: Form) -> Result<Response, Refused> {
    let body = json!({"code": form.get("code").trim()});
    let ask = Ask::post(format!("{PATH}/{what}"), body).once(form.key());
    match office.ask::<Codes>(ask).await {
        Ok(made) => {
            let more = More {
                codes: made.recovery_codes,
                ..More::default()
            };
            shown(office, StatusCode::OK, more).await
        }
        // The page with the recovery codes was loaded anew.
        Err(_) if what == "confirm" && office.has_app().await? => codes_are_gone(office).await,
        Err(refused) => wrong(office, form, refused).await,
    }
}

async fn codes_are_gone(office: &Office) -> Result<Response, Refused> {
    let mut form = Form::new();
    form.problem = Some(CODES_ARE_GONE.to_owned());
    let more = More {
        form: Some(form),
        ..More::default()
    };
    shown(office, StatusCode::CONFLICT, more).await
}

/// All sessions of the key end with it.
pub async fn turn_off(office: Office, form: Form) -> Result<Response, Refused> {
    let body = json!({"code": form.get("code").trim()});
    match office.ask::<Value>(Ask::delete(PATH).with(body)).await {
        Ok(_) => Ok(Redirect::to("/admin/factor").into_response()),
        Err(refused) => wrong(&office, form, refused).await,
    }
}

async fn wrong(office: &Office, form: Form, refused: Refused) -> Result<Response, Refused> {
    if !refused.status.is_client_error() {
        return Err(refused);
    }
    let status = refused.status;
    let mut form = form.refused(&refused, &["code"]);
    if let Some(problem) = form.problem.take() {
        form.add_fault("code", problem);
    }
    let more = More {
        form: Some(form),
        ..More::default()
    };
    shown(office, status, more).await
}
