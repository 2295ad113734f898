//! The clock of the test environment.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::api::inside::{Ask, Refused};
use crate::domain::Timestamp;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::tasks::consequence;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::{When, duration};
use crate::usecases::{self, UseCaseError};

#[derive(Template)]
#[template(path = "dashboard/clock.html")]
struct ShowClock {
    shell: Shell,
    base: String,
    time: String,
    ahead: Option<String>,
    form: Form,
    /// What falls due next; none if too many tasks are open to tell.
    due: Option<Vec<Due>>,
}

struct Due {
    at: When,
    what: &'static str,
    task: String,
    title: String,
}

/// As many are shown.
const SHOWN: usize = 10;
/// With more open tasks, finding the next ones would take too long.
const MOST_OPEN: i64 = 1_000;

#[derive(Deserialize)]
struct TestClock {
    now: String,
    ahead_seconds: u64,
}

pub async fn show(desk: Desk) -> Result<Response, Refused> {
    let clock = desk.ask(Ask::get("/v1/test_helpers/clock")).await?;
    shown(&desk, clock, Form::new(), StatusCode::OK, None).await
}

async fn shown(
    desk: &Desk,
    clock: TestClock,
    form: Form,
    status: StatusCode,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let due = due(desk, &clock).await?;
    let shell = desk.shell("Clock", Place::Clock).notice(notice);
    let when = shell.when(&clock.now);
    Ok(page(
        status,
        &ShowClock {
            base: desk.path(""),
            time: when.exact,
            ahead: (clock.ahead_seconds > 0).then(|| duration(clock.ahead_seconds)),
            shell,
            form,
            due,
        },
    ))
}

async fn due(desk: &Desk, clock: &TestClock) -> Result<Option<Vec<Due>>, Refused> {
    let (owner, windows) = (desk.owner(), *desk.pages.app.scheduler.windows());
    let now = Timestamp::RULE
        .check(&clock.now)
        .unwrap_or_else(|_| desk.now());
    let read = desk.pages.app.store.snapshot(move |tx| {
        if tx.task_counts(owner)?.open() > MOST_OPEN {
            return Ok::<_, UseCaseError>(None);
        }
        let moments = usecases::due_in_test(tx, owner.account, &windows, SHOWN)?;
        let mut due = Vec::new();
        for (_, id) in moments {
            let task = tx.task_of(owner, id)?;
            let next = task.and_then(|task| Some((task.next_by_clock(&windows)?, task)));
            due.extend(next.map(|((at, action), task)| Due {
                at: When::new(at, now),
                what: consequence(action),
                task: task.id.to_string(),
                title: task.title,
            }));
        }
        Ok(Some(due))
    });
    Ok(read.await?)
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
            shown(&desk, clock, Form::new(), StatusCode::OK, Some(notice)).await
        }
        Err(refused) if refused.status.is_client_error() => {
            let (status, form) = (refused.status, form.refused(&refused, &["advance_seconds"]));
            let clock = desk.ask(Ask::get("/v1/test_helpers/clock")).await?;
            shown(&desk, clock, form, status, None).await
        }
        Err(refused) => Err(refused),
    }
}
