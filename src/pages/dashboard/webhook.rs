//! The webhook: where events are sent, and what became of each.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::EventType;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::events::Event;
use crate::pages::dashboard::models::List;
use crate::pages::dashboard::receiving::{Receiver, receivers};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::segment;

#[derive(Template)]
#[template(path = "dashboard/webhook.html")]
struct ShowWebhook {
    shell: Shell,
    base: String,
    webhook: Webhook,
    form: Form,
    types: Vec<&'static str>,
    deliveries: Vec<Delivery>,
    total: i64,
    status: String,
    older: Option<String>,
    /// Shown once, right after it was made.
    secret: Option<String>,
    recent: bool,
    receivers: Vec<Receiver>,
}

#[derive(Deserialize)]
struct Webhook {
    webhook_url: Option<String>,
    webhook_events: Vec<String>,
    failing_since: Option<String>,
    disabled_at: Option<String>,
    disabled_reason: Option<String>,
}

#[derive(Deserialize)]
pub struct Delivery {
    pub id: String,
    pub event: String,
    pub task_id: Option<String>,
    pub status: String,
    pub status_code: Option<i64>,
    pub attempts_count: i64,
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    #[serde(default)]
    pub payload: Value,
    pub next_attempt_at: Option<String>,
    pub created_at: String,
}

/// What was sent about a task, newest first. Only the last events are looked at.
pub async fn about_task(desk: &Desk, task: &str) -> Result<Vec<Delivery>, Refused> {
    let events = Ask::get(format!("/v1/events?task_id={}&limit=15", segment(task)));
    let events: List<Event> = desk.ask(events).await?;
    let mut deliveries = Vec::new();
    for event in events.data {
        let path = format!("/v1/account/webhook/deliveries/{}", segment(&event.id));
        match desk.ask(Ask::get(path)).await {
            Ok(delivery) => deliveries.push(delivery),
            // The endpoint did not want it, or there was none.
            Err(refused) if refused.status == StatusCode::NOT_FOUND => {}
            Err(refused) => return Err(refused),
        }
    }
    Ok(deliveries)
}

#[derive(Deserialize)]
pub struct Attempt {
    pub attempted_at: String,
    pub status_code: Option<i64>,
    pub duration_ms: i64,
    pub error: Option<String>,
    pub response_body: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/delivery.html")]
struct ShowDelivery {
    shell: Shell,
    base: String,
    delivery: Delivery,
    body: String,
    form: Form,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    shown(&desk, &query, None, None).await
}

/// `form` is one that was refused, `secret` one that was just made.
async fn shown(
    desk: &Desk,
    query: &Form,
    form: Option<(Form, StatusCode)>,
    secret: Option<String>,
) -> Result<Response, Refused> {
    let webhook: Webhook = desk.ask(Ask::get("/v1/account/webhook")).await?;
    let status = query.get("status");
    let offset: i64 = query.get("offset").parse().unwrap_or(0).clamp(0, 10_000);
    let mut target = format!("/v1/account/webhook/deliveries?limit=25&offset={offset}");
    if !status.is_empty() {
        target.push_str(&format!("&status={}", segment(status)));
    }
    let list: List<Delivery> = desk.ask(Ask::get(target)).await?;
    let (total, end) = (
        list.meta.total.unwrap_or(0),
        offset + list.data.len() as i64,
    );
    let older = (end < total).then(|| {
        let status = segment(status);
        desk.path(&format!("/webhook?status={status}&offset={end}"))
    });
    let (form, code) = form.unwrap_or_else(|| (begun(&webhook), StatusCode::OK));
    let notice = match query.get("done") {
        "removed" if webhook.webhook_url.is_some() => None,
        done => notice(done),
    };
    let shell = desk.shell("Webhook", Place::Webhook);
    Ok(page(
        code,
        &ShowWebhook {
            shell: shell.notice(notice).script("draft"),
            receivers: receivers(),
            base: desk.path(""),
            types: EventType::ALL.iter().map(|one| one.as_str()).collect(),
            status: status.to_owned(),
            deliveries: list.data,
            recent: desk.is_recent(),
            webhook,
            form,
            total,
            older,
            secret,
        },
    ))
}

fn begun(webhook: &Webhook) -> Form {
    let url = webhook.webhook_url.clone().unwrap_or_default();
    let events = webhook
        .webhook_events
        .iter()
        .map(|event| ("events", event.clone()));
    Form::with([("url", url)].into_iter().chain(events))
}

#[derive(Deserialize)]
struct WithSecret {
    webhook_secret: String,
}

/// Sets the URL. The answer has the secret, so it needs the password of a moment ago.
pub async fn put(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(form.clone()).await? {
        return Ok(again);
    }
    let events: Vec<_> = form.all("events").collect();
    let body = json!({"url": form.get("url").trim(), "events": events});
    match desk
        .ask::<WithSecret>(Ask::put("/v1/account/webhook", body))
        .await
    {
        Ok(made) => shown(&desk, &Form::new(), None, Some(made.webhook_secret)).await,
        Err(refused) if refused.status.is_client_error() => {
            let status = refused.status;
            let form = form.refused(&refused, &["url", "events"]);
            shown(&desk, &Form::new(), Some((form, status)), None).await
        }
        Err(refused) => Err(refused),
    }
}

pub async fn rotate(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(form.clone()).await? {
        return Ok(again);
    }
    let ask = Ask::post(
        "/v1/account/webhook/rotate_secret",
        Value::Object(Map::new()),
    );
    let made: WithSecret = desk.ask(ask.once(form.key())).await?;
    shown(&desk, &Form::new(), None, Some(made.webhook_secret)).await
}

pub async fn remove(desk: Desk) -> Result<Response, Refused> {
    let _: Value = desk.ask(Ask::delete("/v1/account/webhook")).await?;
    Ok(back(&desk, "removed"))
}

pub async fn test(desk: Desk, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post("/v1/account/webhook/test", Value::Object(Map::new()));
    match desk.ask::<Value>(ask.once(form.key())).await {
        Ok(answer) if answer["success"] == true || answer["delivered"] == true => {
            Ok(back(&desk, "tested"))
        }
        Ok(answer) => {
            let mut form = Form::new();
            let why = answer["error"].as_str().map(str::to_owned);
            let why =
                why.unwrap_or_else(|| format!("your endpoint answered {}", answer["status_code"]));
            let why = why.trim_end_matches('.');
            form.problem = Some(format!("The test event did not arrive: {why}."));
            let webhook: Webhook = desk.ask(Ask::get("/v1/account/webhook")).await?;
            let mut kept = begun(&webhook);
            kept.problem = form.problem;
            shown(&desk, &Form::new(), Some((kept, StatusCode::OK)), None).await
        }
        Err(refused) => Err(refused),
    }
}

/// Sends again what has failed since a day.
pub async fn recover(desk: Desk, form: Form) -> Result<Response, Refused> {
    let since = form.get("since").trim();
    let since = if since.len() == 16 {
        format!("{since}:00Z")
    } else {
        since.to_owned()
    };
    let ask = Ask::post(
        "/v1/account/webhook/deliveries/recover",
        json!({"since": since}),
    );
    match desk.ask::<Value>(ask.once(form.key())).await {
        Ok(_) => Ok(back(&desk, "recovered")),
        Err(refused) if refused.status == 400 => {
            let form = form.refused(&refused, &["since"]);
            shown(
                &desk,
                &Form::new(),
                Some((form, StatusCode::BAD_REQUEST)),
                None,
            )
            .await
        }
        Err(refused) => Err(refused),
    }
}

/// They are listed with the webhook.
pub async fn to_deliveries(desk: Desk) -> Response {
    Redirect::to(&desk.path("/webhook#deliveries")).into_response()
}

pub async fn delivery(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let path = format!("/v1/account/webhook/deliveries/{}", segment(&id));
    let delivery: Delivery = desk.ask(Ask::get(path)).await?;
    Ok(ok(&ShowDelivery {
        shell: desk
            .shell("Delivery", Place::Webhook)
            .notice(notice(query.get("done"))),
        base: desk.path(""),
        body: serde_json::to_string_pretty(&delivery.payload).unwrap_or_default(),
        form: Form::new(),
        delivery,
    }))
}

pub async fn redeliver(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!("/v1/account/webhook/deliveries/{}/redeliver", segment(&id));
    let ask = Ask::post(path, Value::Object(Map::new())).once(form.key());
    let _: Value = desk.ask(ask).await?;
    let to = desk.path(&format!(
        "/webhook/deliveries/{}?done=redelivered",
        segment(&id)
    ));
    Ok(Redirect::to(&to).into_response())
}

fn back(desk: &Desk, done: &str) -> Response {
    Redirect::to(&desk.path(&format!("/webhook?done={done}"))).into_response()
}

fn notice(done: &str) -> Option<&'static str> {
    Some(match done {
        "removed" => "The webhook is removed. Nothing is sent any more.",
        "tested" => "The test event arrived.",
        "recovered" => "What had failed is sent again, oldest first.",
        "redelivered" => "It is sent again now.",
        _ => return None,
    })
}
