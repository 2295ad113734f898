//! One proof at a time: what was sent, where, what speaks against it, and the decision.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::geo::Point;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::events;
use crate::pages::dashboard::models::{Evidence, List, Proof, Task, TaskItem};
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
    position: usize,
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

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    shown(
        &desk,
        query.get("task"),
        notice(query.get("done")),
        Form::new(),
    )
    .await
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
    let base = desk.path("");
    let at = waiting
        .iter()
        .position(|task| task.id == wanted)
        .unwrap_or(0);
    let Some(current) = waiting.get(at) else {
        return Ok(ok(&NothingWaits {
            shell,
            base,
            latest,
        }));
    };
    let link = |task: &TaskItem| format!("{base}/review?task={}", task.id);
    let (previous, next) = (
        at.checked_sub(1)
            .and_then(|before| waiting.get(before))
            .map(link),
        waiting.get(at + 1).map(link),
    );
    let (task, proofs) = read(desk, &current.id).await?;
    let (now, earlier): (Vec<_>, Vec<_>) = proofs.into_iter().partition(Proof::is_pending);
    let mut examined = Vec::new();
    for proof in now {
        let path = format!("/v1/tasks/{}/proofs/{}/evidence", task.id, proof.id);
        let evidence = desk.ask(Ask::get(path)).await?;
        examined.push((proof, evidence));
    }
    let status = if form.problem.is_some() || form.fault("reason").is_some() {
        400
    } else {
        200
    };
    let review = Review {
        own_url: desk.pages.app.own_url().to_owned(),
        position: at + 1,
        map: map::draw(&places(&task, &examined), desk.pages.tiles()),
        proofs: examined,
        templates: &TEMPLATES,
        shell,
        base,
        latest,
        total,
        previous,
        next,
        task,
        earlier,
        form,
    };
    let status = axum::http::StatusCode::from_u16(status).unwrap_or_default();
    Ok(page(status, &review))
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

type Decided = Path<(String, String, String)>;

pub async fn approve(desk: Desk, Path(path): Decided, form: Form) -> Result<Response, Refused> {
    decide(&desk, path, "approve", Value::Object(Map::new()), form).await
}

/// The reason comes from a button with a template, or from the field.
pub async fn reject(desk: Desk, Path(path): Decided, form: Form) -> Result<Response, Refused> {
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
    let done = match desk
        .ask::<Value>(Ask::post(path, body).once(form.key()))
        .await
    {
        Ok(_) => what,
        Err(refused) if refused.status == 409 => "elsewhere",
        Err(refused) if refused.status == 400 => {
            let form = form.refused(&refused, &["reason"]);
            return shown(desk, &task, None, form).await;
        }
        Err(refused) => return Err(refused),
    };
    let next = segment(form.get("next"));
    let to = desk.path(&format!("/review?done={done}&task={next}"));
    Ok(Redirect::to(&to).into_response())
}

fn notice(done: &str) -> Option<&'static str> {
    Some(match done {
        "approve" => "Approved. The worker is paid.",
        "reject" => "Rejected. The worker has been told why.",
        "elsewhere" => "That proof was decided elsewhere in the meantime. Here is what waits now.",
        _ => return None,
    })
}
