//! The clock of the test environment.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::duration;

#[derive(Template)]
#[template(path = "dashboard/clock.html")]
struct ShowClock {
    shell: Shell,
    base: String,
    time: String,
    ahead: Option<String>,
    form: Form,
}

#[derive(Deserialize)]
struct TestClock {
    now: String,
    ahead_seconds: u64,
}

pub async fn show(desk: Desk) -> Result<Response, Refused> {
    let clock = desk.ask(Ask::get("/v1/test_helpers/clock")).await?;
    Ok(shown(&desk, clock, Form::new(), StatusCode::OK, None))
}

fn shown(
    desk: &Desk,
    clock: TestClock,
    form: Form,
    status: StatusCode,
    notice: Option<&'static str>,
) -> Response {
    let shell = desk.shell("Clock", Place::Clock).notice(notice);
    let when = shell.when(&clock.now);
    page(
        status,
        &ShowClock {
            base: desk.path(""),
            time: when.exact,
            ahead: (clock.ahead_seconds > 0).then(|| duration(clock.ahead_seconds)),
            shell,
            form,
        },
    )
}

/// Advances by what was chosen, or sets the clock back to the time of the machine.
pub async fn advance(desk: Desk, form: Form) -> Result<Response, Refused> {
    let ask = match form.get("reset") {
        "1" => Ask::delete("/v1/test_helpers/clock"),
        _ => {
            let given = form.get("advance_seconds");
            let seconds = given
                .parse::<i64>()
                .map_or_else(|_| json!(given), |seconds| json!(seconds));
            let body = json!({"advance_seconds": seconds});
            Ask::post("/v1/test_helpers/clock", body).once(form.key())
        }
    };
    match desk.ask(ask).await {
        Ok(clock) => {
            let notice = "The clock is set. What was due by then has happened.";
            Ok(shown(
                &desk,
                clock,
                Form::new(),
                StatusCode::OK,
                Some(notice),
            ))
        }
        Err(refused) if refused.status.is_client_error() => {
            let (status, form) = (refused.status, form.refused(&refused, &["advance_seconds"]));
            let clock = desk.ask(Ask::get("/v1/test_helpers/clock")).await?;
            Ok(shown(&desk, clock, form, status, None))
        }
        Err(refused) => Err(refused),
    }
}
