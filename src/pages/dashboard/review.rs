//! One proof at a time: what was sent, where, what speaks against it, and the decision.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::geo::Point;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::events;
use crate::pages::dashboard::models::{Evidence, HistoryEntry, List, Proof, Task, TaskItem};
use crate::pages::dashboard::tasks::how_it_stands;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::layout::Shell;
use crate::pages::kit::map::{self, Places};
use crate::pages::kit::words::segment;

/// How many of the oldest are at hand to go back and forth in.
const AT_HAND: i64 = 20;

/// Reasons that are often given; each can be changed before it is sent.
const TEMPLATES: [&str; 4] = [
    "The photo is too blurred or too dark to see what was asked for.",
    "The photo does not show what the task asks for.",
    "The photo was taken at another place.",
    "A part is missing: please read the description again.",
];

#[derive(Template)]
#[template(path = "dashboard/review.html")]
struct Review {
    shell: Shell,
    base: String,
    latest: String,
    own_url: String,
    total: i64,
    /// None where it came later than those at hand.
    position: Option<usize>,
    previous: Option<String>,
    next: Option<String>,
    task: Task,
    /// The files of the attempt that waits.
    proofs: Vec<(Proof, Evidence)>,
    earlier: Vec<Proof>,
    map: String,
    templates: &'static [&'static str],
    form: Form,
}

#[derive(Template)]
#[template(path = "dashboard/review_empty.html")]
struct NothingWaits {
    shell: Shell,
    base: String,
    latest: String,
}

/// A task of which nothing waits: it was decided elsewhere, or by its deadline.
#[derive(Template)]
#[template(path = "dashboard/review_decided.html")]
struct Decided {
    shell: Shell,
    base: String,
    latest: String,
    task: Task,
    decided: &'static str,
    /// Who did that, and when.
    last: Option<HistoryEntry>,
    reason: Option<String>,
    /// How many others wait.
    waits: i64,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let notice = notice(&desk, &query).await?;
    shown(&desk, query.get("task"), notice, Form::new()).await
}

async fn shown(
    desk: &Desk,
    wanted: &str,
    notice: Option<&'static str>,
    form: Form,
) -> Result<Response, Refused> {
    let latest = events::latest(desk).await?;
    let (waiting, total) = waiting(desk).await?;
    let shell = desk.shell("Review", Place::Review).notice(notice);
    let shell = shell.script("review").script("live");
    let at = match wanted {
        "" => (!waiting.is_empty()).then_some(0),
        _ => waiting.iter().position(|task| task.id == wanted),
    };
    if wanted.is_empty() && at.is_none() {
        return Ok(ok(&NothingWaits {
            shell,
            base: desk.path(""),
            latest,
        }));
    }
    let found = at.and_then(|at| waiting.get(at));
    let id = found.map_or(wanted, |task| task.id.as_str());
    let (task, proofs) = read(desk, &segment(id)).await?;
    // Whoever asked for this task is not to decide about another one.
    if task.status != "proof_submitted" {
        return decided(desk, (shell, latest), task, total).await;
    }
    let link = |task: &TaskItem| desk.path(&format!("/review?task={}", task.id));
    let before = at.and_then(|at| waiting.get(at.checked_sub(1)?));
    // One that came later than those at hand has the oldest after it.
    let after = waiting.get(at.map_or(0, |at| at + 1));
    let (now, earlier): (Vec<_>, Vec<_>) = proofs.into_iter().partition(Proof::is_pending);
    let mut examined = Vec::new();
    for proof in now {
        let path = format!("/v1/tasks/{}/proofs/{}/evidence", task.id, proof.id);
        let evidence = desk.ask(Ask::get(path)).await?;
        examined.push((proof, evidence));
    }
    let status = match form.is_refused() {
        true => StatusCode::BAD_REQUEST,
        false => StatusCode::OK,
    };
    let review = Review {
        own_url: desk.pages.app.own_url().to_owned(),
        position: at.map(|at| at + 1),
        map: map::draw(&places(&task, &examined), desk.pages.tiles()),
        proofs: examined,
        templates: &TEMPLATES,
        shell,
        base: desk.path(""),
        previous: before.map(link),
        next: after.map(link),
        latest,
        total,
        task,
        earlier,
        form,
    };
    Ok(page(status, &review))
}

/// What became of a task that somebody wants to review, and the way to what waits.
async fn decided(
    desk: &Desk,
    (shell, latest): (Shell, String),
    task: Task,
    waits: i64,
) -> Result<Response, Refused> {
    let history = Ask::get(format!("/v1/tasks/{}/history?limit=100", task.id));
    let history: List<HistoryEntry> = desk.ask(history).await?;
    let mut last = history.data.into_iter().next_back();
    Ok(ok(&Decided {
        base: desk.path(""),
        decided: how_it_stands(desk, &task).await?,
        reason: last.as_mut().and_then(|last| last.reason.take()),
        last,
        waits,
        shell,
        latest,
        task,
    }))
}

/// The tasks that have waited longest, and how many wait in all.
async fn waiting(desk: &Desk) -> Result<(Vec<TaskItem>, i64), Refused> {
    let list = |limit: i64, offset: i64| {
        Ask::get(format!(
            "/v1/tasks?status=proof_submitted&limit={limit}&offset={offset}"
        ))
    };
    let first: List<TaskItem> = desk.ask(list(AT_HAND, 0)).await?;
    let total = first.meta.total.unwrap_or(0);
    let mut oldest = match total > AT_HAND {
        true => {
            desk.ask::<List<TaskItem>>(list(AT_HAND, total - AT_HAND))
                .await?
                .data
        }
        false => first.data,
    };
    oldest.reverse();
    Ok((oldest, total))
}

async fn read(desk: &Desk, id: &str) -> Result<(Task, Vec<Proof>), Refused> {
    let task = desk.ask(Ask::get(format!("/v1/tasks/{id}"))).await?;
    let proofs = Ask::get(format!("/v1/tasks/{id}/proofs?limit=100"));
    let proofs: List<Proof> = desk.ask(proofs).await?;
    Ok((task, proofs.data))
}

fn places(task: &Task, proofs: &[(Proof, Evidence)]) -> Places {
    let point = |latitude: Option<f64>, longitude: Option<f64>| {
        let (latitude, longitude) = (latitude?, longitude?);
        Some(Point {
            latitude,
            longitude,
        })
    };
    let sent = proofs
        .iter()
        .find_map(|(proof, _)| point(proof.gps_latitude, proof.gps_longitude));
    let exif = proofs
        .iter()
        .find_map(|(_, evidence)| point(evidence.exif.latitude, evidence.exif.longitude));
    Places {
        task: Point {
            latitude: task.location_latitude,
            longitude: task.location_longitude,
        },
        sent: sent.map(|sent| (sent, None)),
        exif,
    }
}

type Chosen = Path<(String, String, String)>;

pub async fn approve(desk: Desk, Path(path): Chosen, form: Form) -> Result<Response, Refused> {
    decide(&desk, path, "approve", Value::Object(Map::new()), form).await
}

/// The reason comes from a button with a template, or from the field.
pub async fn reject(desk: Desk, Path(path): Chosen, form: Form) -> Result<Response, Refused> {
    let template = form
        .get("template")
        .parse()
        .ok()
        .and_then(|at: usize| TEMPLATES.get(at));
    let reason = template
        .copied()
        .unwrap_or(form.get("reason"))
        .trim()
        .to_owned();
    decide(&desk, path, "reject", json!({"reason": reason}), form).await
}

async fn decide(
    desk: &Desk,
    (_, task, proof): (String, String, String),
    what: &str,
    body: Value,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!(
        "/v1/tasks/{}/proofs/{}/{what}",
        segment(&task),
        segment(&proof)
    );
    let of = segment(&task);
    let next = segment(form.get("next"));
    let to = match desk
        .ask::<Value>(Ask::post(path, body).once(form.key()))
        .await
    {
        Ok(_) => format!("/review?done={what}&of={of}&task={next}"),
        // The page of this task says what was decided, and goes on from there.
        Err(refused) if was_decided(&refused) => format!("/review?done=elsewhere&task={of}"),
        Err(refused) if refused.status == 400 => {
            let form = form.refused(&refused, &["reason"]);
            return shown(desk, &task, None, form).await;
        }
        Err(refused) => return Err(refused),
    };
    Ok(Redirect::to(&desk.path(&to)).into_response())
}

/// Whether somebody else, or the deadline, was faster. A request that is still under way is refused with 409 too, and has
/// decided nothing yet.
fn was_decided(refused: &Refused) -> bool {
    refused.is("INVALID_TASK_STATE")
}

/// What was just done, if the task that it was done to agrees.
async fn notice(desk: &Desk, query: &Form) -> Result<Option<&'static str>, Refused> {
    let (is_approved, told) = match query.get("done") {
        "approve" => (true, "Approved. The worker is paid."),
        "reject" => (false, "Rejected. The worker has been told why."),
        "elsewhere" => return Ok(Some("That proof was decided elsewhere in the meantime.")),
        _ => return Ok(None),
    };
    let task = Ask::get(format!("/v1/tasks/{}", segment(query.get("of"))));
    match desk.ask::<Task>(task).await {
        // After a rejection the worker goes on, or contests it, perhaps at once.
        Ok(task) => Ok(((task.status == "completed") == is_approved).then_some(told)),
        Err(refused) if refused.status == StatusCode::NOT_FOUND => Ok(None),
        Err(refused) => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usecases::UseCaseError;

    #[test]
    fn not_every_conflict_means_that_a_proof_was_decided() {
        let told = [UseCaseError::ProofReviewed, UseCaseError::EmailTaken].map(Refused::from);
        assert!(told.iter().all(|refused| refused.status == 409));
        assert_eq!(told.each_ref().map(was_decided), [true, false]);
    }
}
