//! Decisions about an item, sent by the forms of its page.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::{JobKind, QueueItem, QueueItemId, QueueKind, QueueStatus};
use crate::pages::console::office::Office;
use crate::pages::console::queue::item::render;
use crate::pages::console::queue::next::claim_next;
use crate::pages::console::sign_in::{credentials, not_passed};
use crate::pages::kit::form::Form;
use crate::usecases::{self, UseCaseError};

/// The fields of the forms.
const FIELDS: &[&str] = &["note", "decision", "paid_cents", "confirmed"];

/// What a form asks for.
struct Step {
    ask: Ask,
    /// Whether it closes the item, so that the next one comes.
    closes: bool,
    /// Whether it needs the key again.
    dangerous: bool,
    /// For the page that comes after.
    done: &'static str,
}

pub async fn act(
    office: Office,
    Path((id, action)): Path<(String, String)>,
    mut form: Form,
) -> Result<Response, Refused> {
    let number = QueueItemId::parse(&id).ok_or(UseCaseError::ItemNotFound)?;
    let store = &office.pages.app.store;
    let item = store.read(move |tx| tx.queue_item(number)).await;
    let item = item.map_err(UseCaseError::from)?;
    let item = item.ok_or(UseCaseError::ItemNotFound)?;
    let step = step(&item, &action, &form).ok_or_else(Refused::not_found)?;
    if let Some(problem) = not_as_proposed(&office, &item, &form).await? {
        form.problem = Some(problem.to_owned());
        return render(&office, &id, form, StatusCode::CONFLICT, "").await;
    }
    if action == "refuse" && form.get("note").trim().is_empty() {
        form.add_fault("note", NO_REASON);
        return render(&office, &id, form, StatusCode::BAD_REQUEST, "").await;
    }
    if step.dangerous && !office.is_recent() {
        let checked = give_key_again(&office, &form).await?;
        if let Err((status, problem)) = checked {
            form.problem = Some(problem);
            return render(&office, &id, form, status, "").await;
        }
    }
    match office.ask::<Value>(step.ask.once(form.key())).await {
        Ok(answer) => {
            let proposed = answer["status"] == "proposed" && answer["proposed_by"].is_string();
            let to = match (step.closes, proposed) {
                (true, false) => claim_next(&office, form.get("filter"), step.done).await?,
                (true, true) if action != "withdraw" => format!("/admin/queue/{id}?done=proposed"),
                _ => format!("/admin/queue/{id}?done={}", step.done),
            };
            Ok(Redirect::to(&to).into_response())
        }
        Err(refused) if refused.status.is_server_error() => Err(refused),
        Err(refused) => {
            let status = refused.status;
            let mut form = form.refused(&refused, FIELDS);
            if refused.is("PROPOSAL_PENDING") {
                form.problem = Some(REPLACED.to_owned());
            }
            render(&office, &id, form, status, "").await
        }
    }
}

/// The API allows a refusal without one. The page of the worker has nothing else to say.
const NO_REASON: &str = "Write why you refuse: the worker reads it, and sends other documents.";
const WITHDRAWN: &str = "The proposal was withdrawn in the meantime, so nothing was confirmed.";
const REPLACED: &str =
    "Another decision was proposed in the meantime. Read it before you confirm it.";

/// Whoever confirms a proposal agrees to that one. Without it, the same words would make a new one.
async fn not_as_proposed(
    office: &Office,
    item: &QueueItem,
    form: &Form,
) -> Result<Option<&'static str>, Refused> {
    let confirmed = form.get("proposed_at");
    if confirmed.is_empty() || item.status != QueueStatus::Open {
        return Ok(None);
    }
    let (store, item) = (&office.pages.app.store, item.clone());
    let proposal = store.read(move |tx| usecases::proposal_about(tx, &item));
    Ok(match proposal.await? {
        None => Some(WITHDRAWN),
        Some(waits) if waits.proposed_at.to_string() != confirmed => Some(REPLACED),
        Some(_) => None,
    })
}

/// What stands in the way, if anything does.
async fn give_key_again(
    office: &Office,
    form: &Form,
) -> Result<Result<(), (StatusCode, String)>, Refused> {
    let Some(given) = credentials(form) else {
        let problem = "Enter your admin key again: your sign-in is older than 10 minutes.";
        return Ok(Err((StatusCode::FORBIDDEN, problem.to_owned())));
    };
    let (sign_ins, client) = (&office.pages.sign_ins, office.incoming.client);
    match sign_ins.admin_again(&office.visitor, given, client).await {
        Ok(()) => Ok(Ok(())),
        Err(error) => {
            let not = not_passed(&office.pages, error)?;
            Ok(Err((not.status, not.problem)))
        }
    }
}

fn step(item: &QueueItem, action: &str, form: &Form) -> Option<Step> {
    let (task, worker) = (item.task, item.worker);
    let of_item = |verb: &str, body| Ask::post(format!("/v1/admin/queue/{}/{verb}", item.id), body);
    let of_task = |place: &str, verb: &str, body| {
        task.map(|task| Ask::post(format!("/v1/admin/{place}/{task}/{verb}"), body))
    };
    let of_worker = |verb: &str, body| {
        worker.map(|worker| Ask::post(format!("/v1/admin/workers/{worker}/{verb}"), body))
    };
    let note = || Value::Object(form.texts(&["note"]));
    let (ask, closes, done) = match action {
        "claim" => (of_item("claim", json!({})), false, "claimed"),
        "release" => (of_item("release", json!({})), false, "released"),
        "note" => (of_item("note", note()), false, "noted"),
        "clear" => (of_item("clear", note()), true, "clear"),
        "verify" => (of_worker("verify", note())?, true, "verify"),
        "refuse" => (of_worker("refuse", note())?, true, "refuse"),
        "skills" => (of_worker("skills", skills(form))?, true, "skills"),
        "decide" => (
            of_task("disputes", "decide", decision(form))?,
            true,
            "decide",
        ),
        "retry" => (retry(item, form)?, true, "retry"),
        "write-off" => (of_task("payouts", "write_off", note())?, true, "write-off"),
        "settle" => (of_task("refunds", "settle", note())?, true, "settle"),
        "withdraw" => (withdraw(item)?, false, "withdraw"),
        _ => return None,
    };
    Some(Step {
        ask,
        closes,
        dangerous: matches!(action, "write-off" | "settle"),
        done,
    })
}

fn skills(form: &Form) -> Value {
    let mut body = form.texts(&["note"]);
    body.insert("confirmed".to_owned(), form.all("confirmed").collect());
    Value::Object(body)
}

/// The amount is sent only with a split: the slider always has one.
fn decision(form: &Form) -> Value {
    let mut body: Map<String, Value> = form.texts(&["decision", "note"]);
    if form.get("decision") == "split" {
        let text = form.get("paid_cents").trim();
        let amount = text.parse::<i64>().map_or(json!(text), Value::from);
        if !text.is_empty() {
            body.insert("paid_cents".to_owned(), amount);
        }
    }
    Value::Object(body)
}

fn retry(item: &QueueItem, form: &Form) -> Option<Ask> {
    let task = item.task?;
    let mut body = form.texts(&["note"]);
    let to = match item.kind {
        QueueKind::RefundFailed => {
            body.insert("kind".to_owned(), json!(JobKind::Refund));
            body.insert("subject".to_owned(), json!(task.to_string()));
            "/v1/admin/jobs/retry".to_owned()
        }
        _ => format!("/v1/admin/payouts/{task}/retry"),
    };
    Some(Ask::post(to, Value::Object(body)))
}

fn withdraw(item: &QueueItem) -> Option<Ask> {
    let place = match item.kind {
        QueueKind::Dispute => "disputes",
        QueueKind::RefundFailed => "refunds",
        _ => "payouts",
    };
    let task = item.task?;
    Some(Ask::delete(format!("/v1/admin/{place}/{task}/proposal")))
}
