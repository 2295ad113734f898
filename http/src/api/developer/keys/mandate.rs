//! /v1/account/keys/{id}/mandate and /v1/mandate

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::path::KeyPath;
use crate::api::response::json::JsonResponse;
use crate::domain::accounts::mandate::spending::{Interval, SpendingLimits};
use crate::domain::accounts::mandate::{self, Area, Mandate};
use crate::domain::geo::{self, Point};
use crate::domain::rules::ListRule;
use crate::domain::tasks::field;
use crate::domain::{ApiKeyId, Timestamp};
use crate::usecases::{self, ManagedKey, UseCaseError};
use crate::views::mandate::MandateBody;
use crate::views::{Id, examples};

/// Get the mandate of a key
///
/// What the key may do, what it has used, and what is left.
#[utoipa::path(
    get, path = "/v1/account/keys/{id}/mandate", tag = "Account", operation_id = "getKeyMandate",
    params(("id" = inline(parameters::KeyId), Path, description = "ID of the key record, not the key")),
    responses((status = 200, description = "The mandate", body = MandateBody), groups::Developer,
        errors::KeyNotFound, errors::MandateNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: KeyPath,
) -> Result<JsonResponse, ApiError> {
    shown(&app, &caller, path.id()?).await
}

/// Get the mandate of the key you call with
///
/// It answers even while the mandate is paused or has expired.
#[utoipa::path(
    get, path = "/v1/mandate", tag = "Account", operation_id = "getMandate",
    responses((status = 200, description = "The mandate", body = MandateBody), groups::Developer,
        errors::MandateNotFound)
)]
pub async fn own(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    shown(&app, &caller, caller.holder.key).await
}

async fn shown(app: &App, caller: &Caller, id: ApiKeyId) -> Result<JsonResponse, ApiError> {
    record_refusals(app).await;
    let (account, now) = (caller.owner().account, app.clock.now());
    let found = app.store.read(move |tx| {
        let key = tx.api_key(account, id)?.ok_or(UseCaseError::KeyNotFound)?;
        let mandate = tx.mandate(id)?.ok_or(UseCaseError::MandateNotFound)?;
        Ok::<_, UseCaseError>((mandate, tx.time_of(key.owner(), now)?))
    });
    let (mandate, now) = found.await?;
    JsonResponse::ok(&MandateBody::of(id, &mandate, now))
}

/// Without it, the last refusal that is told is a second old.
async fn record_refusals(app: &App) {
    if let Err(error) = app.key_use.flush(&app.store).await {
        tracing::warn!(%error, "cannot record what mandates have refused");
    }
}

/// Set the mandate of a key
///
/// Replaces the one it has, and takes effect with the next request. What was spent under a mandate of
/// this key stays counted.
#[utoipa::path(
    put, path = "/v1/account/keys/{id}/mandate", tag = "Account", operation_id = "putKeyMandate",
    params(("id" = inline(parameters::KeyId), Path, description = "ID of the key record, not the key")),
    request_body = PutMandate,
    responses((status = 200, description = "The mandate", body = MandateBody), groups::Developer,
        groups::Body, errors::KeyNotFound, errors::LastUnlimitedKey)
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    path: KeyPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let PutMandate(mandate) = body::json(request, &app).await?;
    let (key, by, now) = (managed(&caller, &path)?, caller.by(), app.clock.now());
    record_refusals(&app).await;
    let put = app
        .store
        .write(move |tx| usecases::put_mandate(tx, key, mandate.clone(), &by, now));
    let (mandate, now) = put.await?;
    JsonResponse::ok(&MandateBody::of(key.key, &mandate, now))
}

/// Lift the mandate of a key
///
/// From the next request on, the key may do everything.
#[utoipa::path(
    delete, path = "/v1/account/keys/{id}/mandate", tag = "Account",
    operation_id = "deleteKeyMandate",
    params(("id" = inline(parameters::KeyId), Path, description = "ID of the key record, not the key")),
    responses((status = 200, description = "The key has no mandate", body = LiftedMandate),
        groups::Developer, errors::KeyNotFound, errors::MandateNotFound)
)]
pub async fn delete(
    State(app): State<App>,
    caller: Caller,
    path: KeyPath,
) -> Result<JsonResponse, ApiError> {
    let (key, by, now) = (managed(&caller, &path)?, caller.by(), app.clock.now());
    app.store
        .write(move |tx| usecases::lift_mandate(tx, key, &by, now))
        .await?;
    JsonResponse::ok(&LiftedMandate::of(key.key, now))
}

fn managed(caller: &Caller, path: &KeyPath) -> Result<ManagedKey, UseCaseError> {
    Ok(ManagedKey {
        account: caller.owner().account,
        key: path.id()?,
        only_test: caller.holder.is_confined,
    })
}

/// A key that is not limited any more.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(LiftedMandate::of(examples::key_id(), examples::REVIEWED)))]
pub struct LiftedMandate {
    #[schema(value_type = Id)]
    key_id: String,
    #[schema(value_type = String, format = DateTime)]
    lifted_at: Timestamp,
}

impl LiftedMandate {
    fn of(key: ApiKeyId, lifted_at: Timestamp) -> Self {
        Self {
            key_id: key.to_string(),
            lifted_at,
        }
    }
}

/// What a limited key may do and spend.
pub struct PutMandate(Mandate);

impl RequestBody for PutMandate {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        self::fields(fields).map(Self)
    }
}

/// The fields of a mandate.
pub fn fields(fields: &mut Fields<'_>) -> Option<Mandate> {
    let permissions = fields
        .doc("What is not named is refused. No permission opens the account, its keys, its webhook or its payment method.")
        .choices("permissions", &mandate::PERMISSIONS);
    let max_task_cents = fields
        .doc("For one task.")
        .optional_integer("max_task_cents", &mandate::TASK_CENTS);
    let spending_limits = fields
        .doc("For all tasks of a day, of a month (UTC) and in all. What is refunded comes back.")
        .optional_objects("spending_limits", Interval::ALL.len(), spending_limit);
    let spending_limits = by_interval(fields, spending_limits.unwrap_or_default());
    let max_open_tasks = fields
        .doc("Tasks that are not over.")
        .optional_integer("max_open_tasks", &mandate::TASKS);
    let max_tasks_per_day = fields.optional_integer("max_tasks_per_day", &mandate::TASKS);
    let categories = fields
        .doc("All when left out or empty.")
        .optional_choices("categories", &ListRule::ANY);
    let task_types = fields
        .doc("All when left out or empty.")
        .optional_choices("task_types", &ListRule::ANY);
    let area = fields
        .doc("Where tasks may be.")
        .optional_object("area", area);
    let states = fields
        .doc("State codes in which tasks may be; not together with an area.")
        .optional_texts("states", mandate::MAX_STATES, &field::STATE);
    let approval_above_cents = fields
        .doc("A task with a larger budget waits for a person's yes. 0 lets every task wait.")
        .optional_integer("approval_above_cents", &mandate::CENTS);
    let review_up_to_cents = fields
        .doc("A person reviews the proof of a task with a larger budget.")
        .optional_integer("review_up_to_cents", &mandate::CENTS);
    let expires_at = fields
        .doc("In 90 days when left out.")
        .optional_text("expires_at", &Timestamp::RULE);
    let paused = fields
        .doc("`true` stops the key until you set it to false again.")
        .optional_boolean("paused");
    Some(Mandate {
        permissions: permissions?.into_iter().collect(),
        max_task_cents,
        spending_limits,
        max_open_tasks,
        max_tasks_per_day,
        categories: categories.unwrap_or_default(),
        task_types: task_types.unwrap_or_default(),
        area,
        states: states.unwrap_or_default(),
        approval_above_cents,
        review_up_to_cents,
        expires_at,
        paused: paused.unwrap_or(false),
    })
}

fn spending_limit(fields: &mut Fields<'_>) -> Option<(Interval, i64)> {
    let interval = fields.choice("interval");
    let cents = fields.integer("cents", &mandate::CENTS);
    Some((interval?, cents?))
}

fn by_interval(fields: &mut Fields<'_>, given: Vec<(Interval, i64)>) -> SpendingLimits {
    let mut limits = SpendingLimits::default();
    for (index, (interval, cents)) in given.into_iter().enumerate() {
        if limits.set(interval, cents).is_some() {
            let field = format!("spending_limits[{index}].interval");
            fields.refuse(&field, "is given more than once");
        }
    }
    limits
}

fn area(fields: &mut Fields<'_>) -> Option<Area> {
    let latitude = fields.number("latitude", &geo::LATITUDE);
    let longitude = fields.number("longitude", &geo::LONGITUDE);
    let radius_km = fields.number("radius_km", &mandate::RADIUS_KM);
    Some(Area {
        center: Point {
            latitude: latitude?,
            longitude: longitude?,
        },
        radius_km: radius_km?,
    })
}

request_bodies! {
    /// What a limited key may do and spend.
    PutMandate = json!({
        "permissions": ["read", "create", "cancel"],
        "max_task_cents": 3000,
        "spending_limits": [{"interval": "day", "cents": 10000}, {"interval": "month", "cents": 100000}],
        "max_open_tasks": 10,
        "categories": ["photography", "retail_audit"],
        "states": ["NY", "NJ"],
        "expires_at": "2027-01-31T00:00:00Z",
    });
}
