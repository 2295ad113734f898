//! /v1/account/webhook/deliveries: deliveries and their attempts.

use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::IdPath;
use crate::api::request::query::DeliveriesQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::domain::{Delivery, DeliveryStatus, EventId, EventType, Timestamp};
use crate::store::StoreError;
use crate::usecases::{self, Recovered, UseCaseError};
use crate::views::{Id, event, examples, to_json};

type DeliveryList = OffsetList<DeliveryBody>;

/// The delivery of an event to the webhook.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery, example = json!(DeliveryBody::example()))]
pub struct DeliveryBody {
    /// The ID of the event, and the `webhook-id` of every attempt.
    #[schema(value_type = Id)]
    id: String,
    event: EventType,
    /// The task of the event. Null for `worker.verified`.
    #[schema(required, value_type = Option<Id>)]
    task_id: Option<String>,
    status: DeliveryStatus,
    /// The last status code of the endpoint.
    #[schema(required)]
    status_code: Option<i64>,
    /// Number of attempts.
    attempts_count: usize,
    /// Every attempt, oldest first. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<AttemptBody>, required = false)]
    attempts: Option<Box<RawValue>>,
    /// The body that is sent. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payload: Option<PayloadBody>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// The body of a webhook.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryPayload)]
struct PayloadBody {
    event: EventType,
    #[schema(value_type = Object)]
    data: Box<RawValue>,
}

/// One attempt to deliver.
#[derive(ToSchema)]
#[schema(as = DeliveryAttempt)]
#[allow(dead_code, reason = "documents what `Attempt` writes")]
struct AttemptBody {
    #[schema(value_type = String, format = DateTime)]
    attempted_at: Timestamp,
    #[schema(required)]
    status_code: Option<u16>,
    duration_ms: u64,
    #[schema(required)]
    error: Option<String>,
    /// The first 4 KiB of the response.
    #[schema(required)]
    response_body: Option<String>,
}

impl DeliveryBody {
    fn of(delivery: Delivery, with_attempts: bool) -> Result<Self, StoreError> {
        let unreadable = |e| StoreError::Failed(format!("delivery of {}: {e}", delivery.event));
        let attempts = with_attempts.then(|| RawValue::from_string(delivery.attempts.clone()));
        let data = delivery.data.clone().map(RawValue::from_string);
        let payload = data
            .transpose()
            .map_err(unreadable)?
            .map(|data| PayloadBody {
                event: delivery.event_type,
                data,
            });
        Ok(Self {
            id: delivery.event.to_string(),
            event: delivery.event_type,
            task_id: delivery.task.map(|id| id.to_string()),
            payload,
            status: delivery.status,
            status_code: delivery.status_code,
            attempts_count: usize::try_from(delivery.attempts_count).unwrap_or(0),
            attempts: attempts.transpose().map_err(unreadable)?,
            next_attempt_at: delivery.due_at,
            created_at: delivery.created_at,
            updated_at: delivery.updated_at,
        })
    }

    fn json(delivery: &Delivery) -> Result<String, StoreError> {
        to_json(&Self::of(delivery.clone(), true)?)
    }

    fn example() -> Value {
        let (attempt, task) = (examples::attempt(), examples::funded().task);
        let event = event::of_task(EventType::TaskFunded, &task, None);
        let delivery = Delivery {
            event: examples::event_id(),
            account: examples::account_id(),
            event_type: EventType::TaskFunded,
            task: Some(task.id),
            data: event.ok().map(|event| event.data),
            status: DeliveryStatus::Delivered,
            status_code: attempt.status_code.map(i64::from),
            attempts: attempt.appended_to("[]").unwrap_or_default(),
            attempts_count: 1,
            due_at: None,
            created_at: attempt.attempted_at,
            updated_at: attempt.attempted_at,
        };
        examples::json(Self::of(delivery, true))
    }
}

/// List deliveries
///
/// Deliveries of events in the key's environment, newest first. The list reaches back 10,000 deliveries,
/// and `meta.total` is at most that. With `event`, those of that type among them.
#[utoipa::path(
    get, path = "/v1/account/webhook/deliveries", tag = "Webhooks",
    operation_id = "listDeliveries",
    params(
        ("status" = inline(Option<DeliveryStatus>), Query, description = "Only with this status"),
        ("event" = inline(Option<EventType>), Query, description = "Only of this type"),
        parameters::OffsetPage,
    ),
    responses((status = 200, description = "A page of deliveries", body = DeliveryList),
        groups::Developer, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    query: DeliveriesQuery,
) -> Result<JsonResponse, ApiError> {
    let DeliveriesQuery { filter, page } = query;
    let owner = caller.owner();
    let (found, total) = app
        .store
        .snapshot(move |tx| tx.deliveries(owner, filter, page.limit, page.offset))
        .await?;
    let data = found
        .into_iter()
        .map(|found| DeliveryBody::of(found, false));
    JsonResponse::ok(&page.list(data.collect::<Result<_, _>>()?, total))
}

/// Get a delivery
///
/// Includes every attempt, and the body that is sent.
#[utoipa::path(
    get, path = "/v1/account/webhook/deliveries/{id}", tag = "Webhooks",
    operation_id = "getDelivery",
    params(("id" = inline(parameters::EventId), Path, description = "Delivery ID, which is the ID of its event")),
    responses((status = 200, description = "The delivery", body = DeliveryBody),
        groups::Developer, errors::DeliveryNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    IdPath(id): IdPath<EventId>,
) -> Result<JsonResponse, ApiError> {
    let (owner, id) = (caller.owner(), id.ok_or(UseCaseError::DeliveryNotFound)?);
    let delivery = app.store.read(move |tx| tx.delivery(owner, id)).await?;
    let delivery = delivery.ok_or(UseCaseError::DeliveryNotFound)?;
    JsonResponse::ok(&DeliveryBody::of(delivery, true)?)
}

/// Redeliver an event
///
/// Delivers the event again at once, whatever its outcome was, and retries if that fails. The
/// `webhook-id` stays the same.
#[utoipa::path(
    post, path = "/v1/account/webhook/deliveries/{id}/redeliver", tag = "Webhooks",
    operation_id = "redeliver",
    params(("id" = inline(parameters::EventId), Path, description = "Delivery ID, which is the ID of its event"), IdempotencyKeyHeader),
    responses((status = 200, description = "The delivery, which is due now", body = DeliveryBody),
        groups::Developer, groups::Body, groups::Idempotency, errors::DeliveryNotFound,
        errors::WebhookNotConfigured,
        errors::WebhookDisabled)
)]
pub async fn redeliver(
    State(app): State<App>,
    caller: Caller,
    IdPath(id): IdPath<EventId>,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let owner = caller.owner();
    Idempotent::new(&app, caller.requester(), post)
        .of_account(owner.account)
        .run(
            move |tx, now| usecases::redeliver(tx, owner, id, now),
            DeliveryBody::json,
        )
        .await
}

/// Since when deliveries have failed.
pub struct RecoverDeliveries {
    since: Timestamp,
}

impl RequestBody for RecoverDeliveries {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let since = fields
            .doc("ISO 8601. Without an offset it is taken as UTC.")
            .text("since", &Timestamp::RULE);
        Some(Self { since: since? })
    }
}

request_bodies! {
    /// Since when deliveries have failed.
    RecoverDeliveries = json!({"since": "2026-11-15T09:30:00Z"});
}

/// What is sent again.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(RecoveredDeliveries { recovered: 12, more: false }))]
pub struct RecoveredDeliveries {
    /// How many deliveries are due now.
    recovered: u64,
    /// There are so many that the rest follows in the background. Until it is done, further requests change
    /// nothing and answer the same with 0.
    more: bool,
}

impl RecoveredDeliveries {
    fn json(recovered: &Recovered) -> Result<String, StoreError> {
        to_json(&Self {
            recovered: recovered.deliveries,
            more: recovered.more,
        })
    }
}

/// Redeliver what failed
///
/// Delivers all events of the key's environment again, oldest first, whose delivery has failed since
/// that time, by the clock of the environment. What was given up because the endpoint was removed or disabled
/// has failed, too. One such request is worked on at a time.
#[utoipa::path(
    post, path = "/v1/account/webhook/deliveries/recover", tag = "Webhooks",
    operation_id = "recoverDeliveries", params(IdempotencyKeyHeader),
    request_body = RecoverDeliveries,
    responses((status = 200, description = "How many are due now", body = RecoveredDeliveries),
        groups::Developer, groups::Body, groups::Idempotency, errors::WebhookNotConfigured,
        errors::WebhookDisabled)
)]
pub async fn recover(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let RecoverDeliveries { since } = post.read()?;
    let owner = caller.owner();
    if since > caller.holder.time(app.clock.now()) {
        return Err(ApiError::invalid("since", "must not be in the future"));
    }
    Idempotent::new(&app, caller.requester(), post)
        .of_account(owner.account)
        .run(
            move |tx, now| usecases::recover_deliveries(tx, owner, since, now),
            RecoveredDeliveries::json,
        )
        .await
}
