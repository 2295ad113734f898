//! The second factor: codes of an authenticator app.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{Factor, RecoveryCodes, Setup};
use crate::pages::worker::visit::Visit;

const PATH: &str = "/v1/worker/second_factor";

#[derive(Template)]
#[template(path = "worker/factor.html")]
struct ShowFactor {
    frame: Frame,
    factor: Factor,
    form: Form,
    /// Shown once, right after they were made.
    setup: Option<Setup>,
    codes: Vec<String>,
}

/// What is shown beside how the factor stands.
#[derive(Default)]
struct More {
    form: Form,
    setup: Option<Setup>,
    codes: Vec<String>,
}

pub async fn show(visit: Visit) -> Result<Response, Refused> {
    shown(&visit, StatusCode::OK, More::default()).await
}

async fn shown(visit: &Visit, status: StatusCode, more: More) -> Result<Response, Refused> {
    let factor: Factor = visit.ask(Ask::get(PATH)).await?;
    let shown = ShowFactor {
        frame: visit.frame(visit.t.me.factor, Place::Me),
        factor,
        form: more.form,
        setup: more.setup,
        codes: more.codes,
    };
    Ok(page(status, &shown))
}

async fn refused(visit: &Visit, form: Form, refused: Refused) -> Result<Response, Refused> {
    if refused.is("SIGN_IN_AGAIN") {
        return Ok(visit.sign_in_again("/worker/me/factor"));
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

/// Makes a secret, and shows it as a picture and as text.
pub async fn begin(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post(PATH, json!({})).once(form.key());
    match visit.ask(ask).await {
        Ok(setup) => {
            let more = More {
                setup: Some(setup),
                ..More::default()
            };
            shown(&visit, StatusCode::OK, more).await
        }
        Err(error) => refused(&visit, form, error).await,
    }
}

/// Turns it on with a first code.
pub async fn confirm(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post(format!("{PATH}/confirm"), code(&form)).once(form.key());
    with_codes(&visit, form, ask).await
}

pub async fn new_codes(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post(format!("{PATH}/recovery_codes"), code(&form)).once(form.key());
    with_codes(&visit, form, ask).await
}

fn code(form: &Form) -> Value {
    json!({"code": form.get("code").trim()})
}

async fn with_codes(visit: &Visit, form: Form, ask: Ask) -> Result<Response, Refused> {
    match visit.ask::<RecoveryCodes>(ask).await {
        Ok(made) => {
            let more = More {
                codes: made.recovery_codes,
                ..More::default()
            };
            shown(visit, StatusCode::OK, more).await
        }
        Err(error) => refused(visit, form, error).await,
    }
}

pub async fn turn_off(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::delete(PATH).with(code(&form));
    match visit.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to("/worker/me?done=factor_off").into_response()),
        Err(error) => refused(&visit, form, error).await,
    }
}
