//! The second factor: codes of an authenticator app.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::Person;
use crate::pages::kit::factor::{Begun, begun};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{Factor, RecoveryCodes};
use crate::pages::worker::visit::Visit;

const PATH: &str = "/v1/worker/second_factor";
const HERE: &str = "/worker/me/factor";

#[derive(Template)]
#[template(path = "worker/factor.html")]
struct ShowFactor {
    frame: Frame,
    factor: Factor,
    form: Form,
    begun: Option<Begun>,
    /// Shown once, right after they were made.
    codes: Vec<String>,
}

/// What is shown beside how the factor stands.
#[derive(Default)]
struct More {
    form: Form,
    codes: Vec<String>,
}

pub async fn show(visit: Visit) -> Result<Response, Refused> {
    shown(&visit, StatusCode::OK, More::default()).await
}

async fn shown(visit: &Visit, status: StatusCode, more: More) -> Result<Response, Refused> {
    let factor: Factor = visit.ask(Ask::get(PATH)).await?;
    let (holder, label) = (Person::Worker(visit.worker.id), &visit.worker.email);
    let begun = begun(&visit.pages, holder, label, visit.is_recent()).await?;
    let shown = ShowFactor {
        frame: visit.frame(visit.t.me.factor, Place::Me),
        factor,
        form: more.form,
        begun,
        codes: more.codes,
    };
    Ok(page(status, &shown))
}

async fn refused(visit: &Visit, form: Form, refused: Refused) -> Result<Response, Refused> {
    if refused.is("SIGN_IN_AGAIN") {
        return Ok(visit.sign_in_again(HERE));
    }
    if !refused.status.is_client_error() {
        return Err(refused);
    }
    let mut form = visit.refused(form, &refused, &["code"]);
    if refused.is("INVALID_CODE") {
        let problem = form.problem.take().unwrap_or_default();
        form.add_fault("code", problem);
    }
    let more = More {
        form,
        ..More::default()
    };
    shown(visit, refused.status, more).await
}

/// Makes a secret, which the page then shows. To load that page anew makes no other one.
pub async fn begin(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post(PATH, json!({})).once(form.key());
    match visit.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to(HERE).into_response()),
        Err(error) => refused(&visit, form, error).await,
    }
}

/// Turns it on with a first code.
pub async fn confirm(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post(format!("{PATH}/confirm"), code(&form)).once(form.key());
    match visit.ask::<RecoveryCodes>(ask).await {
        Ok(made) => with_codes(&visit, made).await,
        // The page with the recovery codes was loaded anew.
        Err(_) if is_on(&visit).await? => codes_are_gone(&visit).await,
        Err(error) => refused(&visit, form, error).await,
    }
}

async fn is_on(visit: &Visit) -> Result<bool, Refused> {
    Ok(visit.ask::<Factor>(Ask::get(PATH)).await?.enabled)
}

async fn codes_are_gone(visit: &Visit) -> Result<Response, Refused> {
    let mut form = Form::new();
    form.problem = Some(visit.t.me.factor_codes_gone.to_owned());
    let more = More {
        form,
        ..More::default()
    };
    shown(visit, StatusCode::CONFLICT, more).await
}

pub async fn new_codes(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post(format!("{PATH}/recovery_codes"), code(&form)).once(form.key());
    match visit.ask::<RecoveryCodes>(ask).await {
        Ok(made) => with_codes(&visit, made).await,
        Err(error) => refused(&visit, form, error).await,
    }
}

fn code(form: &Form) -> Value {
    json!({"code": form.get("code").trim()})
}

async fn with_codes(visit: &Visit, made: RecoveryCodes) -> Result<Response, Refused> {
    let more = More {
        codes: made.recovery_codes,
        ..More::default()
    };
    shown(visit, StatusCode::OK, more).await
}

pub async fn turn_off(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::delete(PATH).with(code(&form));
    match visit.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to("/worker/me?done=factor_off").into_response()),
        Err(error) => refused(&visit, form, error).await,
    }
}
