//! A new task.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::maps;
use crate::api::inside::{Ask, Refused};
use crate::domain::tasks::pricing::{fee_percent, split};
use crate::domain::tasks::{Category, ProofType, Skill, TaskType};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::form::{Form, cents, number};
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

/// The names on the form, which are the API's.
const FIELDS: [&str; 17] = [
    "title",
    "description",
    "instructions",
    "category",
    "required_skills",
    "address",
    "city",
    "state",
    "latitude",
    "longitude",
    "budget_cents",
    "task_type",
    "priority",
    "deadline",
    "proof_types",
    "metadata",
    "budget",
];

#[derive(Template)]
#[template(path = "dashboard/tasks/new.html")]
struct NewTask {
    shell: Shell,
    base: String,
    form: Form,
    /// Whether nothing was refused yet.
    is_new: bool,
    categories: Vec<&'static str>,
    skills: Vec<&'static str>,
    proof_types: Vec<&'static str>,
    fee_percent: i64,
    bounty_percent: i64,
    example: i64,
    example_fee: i64,
    example_payout: i64,
    map: Option<String>,
    /// For the script, which asks for the map of another place.
    map_url: String,
}

#[derive(Deserialize)]
struct Created {
    id: String,
}

pub async fn show(desk: Desk) -> Response {
    let form = Form::with([
        ("category", "photography".to_owned()),
        ("proof_types", "photo".to_owned()),
        ("budget", "25.00".to_owned()),
    ]);
    shown(&desk, form, StatusCode::OK)
}

fn shown(desk: &Desk, form: Form, status: StatusCode) -> Response {
    let tier = desk.visitor.account.tier;
    let percent = fee_percent(tier, TaskType::Standard);
    let example = cents(form.get("budget")).unwrap_or(2_500);
    let parts = split(example, percent);
    let shell = desk.shell("New task", Place::Tasks);
    let form = NewTask {
        shell: shell.script("keep_form").script("new_task"),
        is_new: status == StatusCode::OK,
        base: desk.path("/tasks"),
        map: maps::of_form(desk, &form),
        map_url: desk.path("/tasks/map"),
        form,
        categories: Category::ALL.iter().map(|one| one.as_str()).collect(),
        skills: Skill::ALL.iter().map(|one| one.as_str()).collect(),
        proof_types: ProofType::ALL.iter().map(|one| one.as_str()).collect(),
        fee_percent: percent,
        bounty_percent: fee_percent(tier, TaskType::Bounty),
        example,
        example_fee: parts.fee_cents,
        example_payout: parts.payout_cents,
    };
    page(status, &form)
}

pub async fn create(desk: Desk, form: Form) -> Result<Response, Refused> {
    // Without scripts, a button shows the place. Nothing is created.
    if form.has("preview", "map") {
        return Ok(shown(&desk, form, StatusCode::OK));
    }
    let ask = Ask::post("/v1/tasks", body(&form)).once(form.key());
    match desk.ask::<Created>(ask).await {
        Ok(created) => Ok(
            Redirect::to(&desk.path(&format!("/tasks/{}?done=created", created.id)))
                .into_response(),
        ),
        Err(refused) => {
            let mut form = form.refused(&refused, &FIELDS);
            // People enter dollars.
            let amount = "must be an amount from 5.00 to 999,999.99, such as 25 or 1,234.50";
            form.say_of("budget_cents", "budget", amount);
            Ok(shown(&desk, form, refused.status))
        }
    }
}

/// The first test task, with one click.
pub async fn create_first(desk: Desk, form: Form) -> Result<Response, Refused> {
    let body = json!({
        "title": "Photograph a storefront",
        "description": "Front of the shop with the door and the opening hours in view.",
        "category": "photography", "budget_cents": 2500,
        "location": {"address": "240 Bedford Ave", "city": "Brooklyn", "state": "NY",
            "latitude": 40.7163, "longitude": -73.9595},
    });
    let ask = Ask::post("/v1/tasks", body).once(form.key());
    let created: Created = desk.ask(ask).await?;
    let path = desk.path(&format!("/tasks/{}?done=created", created.id));
    Ok(Redirect::to(&path).into_response())
}

/// What the API takes. What is no number stays a text, so that the API says what is wrong with it.
fn body(form: &Form) -> Value {
    let mut body = form.texts(&[
        "title",
        "description",
        "instructions",
        "category",
        "task_type",
        "priority",
    ]);
    let mut location = form.texts(&["address", "city", "state"]);
    for name in ["latitude", "longitude"] {
        let text = form.get(name).trim();
        if !text.is_empty() {
            let value = number(text).unwrap_or_else(|| text.into());
            location.insert(name.to_owned(), value);
        }
    }
    body.insert("location".to_owned(), Value::Object(location));
    let budget = form.get("budget");
    if !budget.trim().is_empty() {
        body.insert(
            "budget_cents".to_owned(),
            cents(budget).map_or_else(|| budget.into(), Value::from),
        );
    }
    for name in ["proof_types", "required_skills"] {
        let chosen: Vec<_> = form.all(name).filter(|value| !value.is_empty()).collect();
        if !chosen.is_empty() {
            body.insert(name.to_owned(), json!(chosen));
        }
    }
    if let Some(deadline) = form.moment("deadline") {
        body.insert("deadline".to_owned(), deadline.into());
    }
    let metadata = form.get("metadata").trim();
    if !metadata.is_empty() {
        let parsed = serde_json::from_str(metadata);
        body.insert(
            "metadata".to_owned(),
            parsed.unwrap_or_else(|_| metadata.into()),
        );
    }
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_left_for_the_api_to_refuse() {
        let form =
            Form::parse(b"budget=x&latitude=north&longitude=-73.9&proof_types=photo&metadata=%7B");
        let body = body(&form);
        assert_eq!(body["budget_cents"], "x");
        assert_eq!(body["location"]["latitude"], "north");
        assert_eq!(body["location"]["longitude"], -73.9);
        assert_eq!(body["metadata"], "{");
        assert_eq!(body["proof_types"], json!(["photo"]));
    }
}
