//! The mandate of a key as a form. People enter dollars and lists with commas; the API takes cents and arrays.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::inside::Refused;
use crate::domain::accounts::mandate::Permission;
use crate::domain::tasks::{Category, TaskType};
use crate::pages::kit::form::{Form, cents, number};
use crate::pages::kit::words::{dollars, spaced};

/// The names on the form, and the API's where people enter something else.
const FIELDS: [&str; 21] = [
    "name",
    "current_password",
    "permissions",
    "max_task_cents",
    "spending_limits",
    "day",
    "month",
    "total",
    "max_open_tasks",
    "max_tasks_per_day",
    "categories",
    "task_types",
    "area",
    "latitude",
    "longitude",
    "radius_km",
    "states",
    "approval_above_cents",
    "review_up_to_cents",
    "expires_at",
    "paused",
];

/// Amounts that people enter in dollars.
const AMOUNTS: [&str; 3] = [
    "max_task_cents",
    "approval_above_cents",
    "review_up_to_cents",
];
const INTERVALS: [&str; 3] = ["day", "month", "total"];
const COUNTS: [&str; 2] = ["max_open_tasks", "max_tasks_per_day"];
const PLACE: [&str; 3] = ["latitude", "longitude", "radius_km"];

#[derive(Clone, Debug, Deserialize)]
pub struct Mandate {
    pub permissions: Vec<String>,
    max_task_cents: Option<i64>,
    spending_limits: Vec<SpendingLimit>,
    max_open_tasks: Option<i64>,
    max_tasks_per_day: Option<i64>,
    categories: Vec<String>,
    task_types: Vec<String>,
    area: Option<Area>,
    states: Vec<String>,
    approval_above_cents: Option<i64>,
    review_up_to_cents: Option<i64>,
    pub expires_at: String,
    pub paused: bool,
    pub usage: Vec<Use>,
    pub last_refused: Option<LastRefused>,
}

#[derive(Clone, Debug, Deserialize)]
struct SpendingLimit {
    interval: String,
    cents: i64,
}

#[derive(Clone, Debug, Deserialize)]
struct Area {
    latitude: f64,
    longitude: f64,
    radius_km: f64,
}

/// How much of a limit is used.
#[derive(Clone, Debug, Deserialize)]
pub struct Use {
    field: String,
    limit: i64,
    used: i64,
    left: i64,
    pub resets_at: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct LastRefused {
    pub field: String,
    pub at: String,
}

impl Use {
    fn is_money(&self) -> bool {
        self.field.starts_with("spending_limits")
    }

    fn told(&self, amount: i64) -> String {
        match self.is_money() {
            true => dollars(amount),
            false => amount.to_string(),
        }
    }

    pub fn name(&self) -> &'static str {
        match self.field.as_str() {
            "spending_limits.day" => "Spent today",
            "spending_limits.month" => "Spent this month",
            "spending_limits.total" => "Spent in all",
            "max_open_tasks" => "Open tasks",
            "max_tasks_per_day" => "Tasks today",
            _ => "Used",
        }
    }

    pub fn used(&self) -> String {
        self.told(self.used)
    }

    pub fn limit(&self) -> String {
        self.told(self.limit)
    }

    pub fn left(&self) -> String {
        self.told(self.left)
    }
}

impl Mandate {
    /// What it says, in a few words.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        let mut limit = |text: &str, cents: Option<i64>| {
            limits.extend(cents.map(|cents| format!("{text} {}", dollars(cents))));
        };
        limit("a task up to", self.max_task_cents);
        limit("asks above", self.approval_above_cents);
        limit("reviews up to", self.review_up_to_cents);
        for list in [&self.categories, &self.task_types] {
            if !list.is_empty() {
                limits.push(
                    list.iter()
                        .map(|one| spaced(one))
                        .collect::<Vec<_>>()
                        .join(", "),
                );
            }
        }
        if !self.states.is_empty() {
            limits.push(format!("in {}", self.states.join(", ")));
        }
        if let Some(area) = &self.area {
            limits.push(format!(
                "within {} km of {}, {}",
                area.radius_km, area.latitude, area.longitude
            ));
        }
        limits
    }

    /// The form as it would be filled in to grant it.
    pub fn form(&self) -> Form {
        let mut form = Form::new();
        for (name, list) in [
            ("permissions", &self.permissions),
            ("categories", &self.categories),
            ("task_types", &self.task_types),
        ] {
            for value in list {
                form.add(name, value.clone());
            }
        }
        let amounts = [
            self.max_task_cents,
            self.approval_above_cents,
            self.review_up_to_cents,
        ];
        for (name, cents) in AMOUNTS.into_iter().zip(amounts) {
            form.fill(name, cents.map(entered));
        }
        for limit in &self.spending_limits {
            form.add(&limit.interval, entered(limit.cents));
        }
        form.fill("max_open_tasks", self.max_open_tasks);
        form.fill("max_tasks_per_day", self.max_tasks_per_day);
        if let Some(area) = &self.area {
            form.fill("latitude", Some(area.latitude));
            form.fill("longitude", Some(area.longitude));
            form.fill("radius_km", Some(area.radius_km));
        }
        form.add("states", self.states.join(", "));
        form.add(
            "expires_at",
            self.expires_at.get(..16).unwrap_or_default().to_owned(),
        );
        if self.paused {
            form.add("paused", "true".to_owned());
        }
        form
    }
}

/// Cents as people enter dollars.
fn entered(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// What the API takes. What is no number stays a text, so that the API says what is wrong with it.
pub fn body(form: &Form) -> Value {
    let mut body = Map::new();
    for name in ["permissions", "categories", "task_types"] {
        let chosen: Vec<_> = form.all(name).filter(|value| !value.is_empty()).collect();
        body.insert(name.to_owned(), json!(chosen));
    }
    for name in AMOUNTS {
        insert(&mut body, form, name, |text| cents(text).map(Value::from));
    }
    for name in COUNTS {
        insert(&mut body, form, name, |text| {
            text.parse::<i64>().ok().map(Value::from)
        });
    }
    let limits = limits(form).map(|(interval, given)| {
        let amount = cents(given).map_or_else(|| given.into(), Value::from);
        json!({"interval": interval, "cents": amount})
    });
    body.insert("spending_limits".to_owned(), limits.collect());
    let mut area = Map::new();
    for name in PLACE {
        insert(&mut area, form, name, number);
    }
    if !area.is_empty() {
        body.insert("area".to_owned(), Value::Object(area));
    }
    let states = form.get("states").split([',', ' ']).map(str::trim);
    let states: Vec<_> = states.filter(|state| !state.is_empty()).collect();
    body.insert("states".to_owned(), json!(states));
    if let Some(moment) = form.moment("expires_at") {
        body.insert("expires_at".to_owned(), moment.into());
    }
    body.insert("paused".to_owned(), form.has("paused", "true").into());
    Value::Object(body)
}

/// The intervals that have a limit on the form, in the order in which the API gets them.
fn limits(form: &Form) -> impl Iterator<Item = (&'static str, &str)> {
    let given = INTERVALS
        .into_iter()
        .map(|name| (name, form.get(name).trim()));
    given.filter(|(_, given)| !given.is_empty())
}

fn insert(
    object: &mut Map<String, Value>,
    form: &Form,
    name: &str,
    read: impl Fn(&str) -> Option<Value>,
) {
    let text = form.get(name).trim();
    if !text.is_empty() {
        let value = read(text).unwrap_or_else(|| text.into());
        object.insert(name.to_owned(), value);
    }
}

/// What the API found wrong, beside the fields that people have filled in.
pub fn refused(form: Form, refused: &Refused) -> Form {
    let given: Vec<_> = limits(&form).map(|(interval, _)| interval).collect();
    let mut named = refused.clone();
    for fault in &mut named.fields {
        // `mandate.spending_limits[1].cents` is the second of the limits that were entered.
        let place = fault.field.split("spending_limits[").nth(1);
        let place = place.and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
        if let Some(interval) = place.and_then(|place| given.get(place)) {
            fault.field = (*interval).to_owned();
        }
        if fault.field.ends_with("_cents") && fault.message.contains("integer") {
            fault.message = "must be an amount of dollars, such as 25.00".to_owned();
        }
    }
    form.refused(&named, &FIELDS)
}

/// What can be chosen.
pub struct Choices {
    pub permissions: Vec<(&'static str, &'static str)>,
    pub categories: Vec<&'static str>,
    pub task_types: Vec<&'static str>,
}

impl Choices {
    pub fn new() -> Self {
        Self {
            permissions: Permission::ALL
                .iter()
                .map(|one| (one.as_str(), means(*one)))
                .collect(),
            categories: Category::ALL.iter().map(|one| one.as_str()).collect(),
            task_types: TaskType::ALL.iter().map(|one| one.as_str()).collect(),
        }
    }
}

fn means(permission: Permission) -> &'static str {
    match permission {
        Permission::Read => "see tasks, proofs, payments and events",
        Permission::Create => "create tasks and ask for quotes",
        Permission::Review => "approve and reject proofs: approving is paying",
        Permission::Cancel => "cancel tasks",
        Permission::Test => "use the test helpers",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_becomes_a_mandate_and_a_mandate_the_same_form() {
        let form = Form::parse(
            b"permissions=read&permissions=create&max_task_cents=30&day=100.5&total=900&max_open_tasks=3\
            &categories=photography&latitude=40.7&longitude=-73.9&radius_km=5&states=&expires_at=2027-01-31T00:00",
        );
        let body = body(&form);
        assert_eq!(body["permissions"], json!(["read", "create"]));
        assert_eq!(body["max_task_cents"], 3_000);
        assert_eq!(
            body["spending_limits"],
            json!([{"interval": "day", "cents": 10_050}, {"interval": "total", "cents": 90_000}])
        );
        assert_eq!(
            body["area"],
            json!({"latitude": 40.7, "longitude": -73.9, "radius_km": 5.0})
        );
        assert_eq!(body["expires_at"], "2027-01-31T00:00:00Z");
        let mut whole = body.clone();
        for (name, value) in [
            ("max_tasks_per_day", Value::Null),
            ("approval_above_cents", Value::Null),
            ("review_up_to_cents", Value::Null),
            ("usage", json!([])),
            ("last_refused", Value::Null),
        ] {
            whole[name] = value;
        }
        let mandate: Mandate = serde_json::from_value(whole).unwrap();
        assert_eq!(super::body(&mandate.form()), body);
    }

    #[test]
    fn what_is_no_number_is_left_for_the_api_to_refuse() {
        let body = body(&Form::parse(
            b"max_task_cents=much&day=some&radius_km=far&max_open_tasks=x",
        ));
        assert_eq!(body["max_task_cents"], "much");
        assert_eq!(body["spending_limits"][0]["cents"], "some");
        assert_eq!(body["area"]["radius_km"], "far");
        assert_eq!(body["max_open_tasks"], "x");
    }
}
