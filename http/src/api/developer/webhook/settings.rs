//! /v1/account/webhook: URL, event types and secret.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::rules::ListRule;
use crate::domain::{Attempt, EventId, EventType, Owner, Timestamp, WebhookSecret};
use crate::outbound::EndpointUrl;
use crate::store::{Endpoint, StoreError, Tx};
use crate::views::examples::{self, Story};
use crate::views::{event, to_json};
use crate::{ambient, usecases};

pub struct PutWebhook {
    url: EndpointUrl,
    events: Vec<EventType>,
}

impl RequestBody for PutWebhook {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let url = fields
            .doc("Where events are sent. Must be HTTPS and lead to a public address.")
            .text("url", &EndpointUrl::RULE);
        let events = fields
            .doc("The event types to send. All when left out or empty.")
            .optional_choices("events", &EVENTS);
        Some(Self {
            url: url?,
            events: events.unwrap_or_default(),
        })
    }
}

/// Stored in the order of the enum; a repeated type counts once.
const EVENTS: ListRule<EventType> = ListRule {
    min: 0,
    unique: false,
    check: |events| {
        let wanted = EventType::ALL.iter().filter(|event| events.contains(event));
        Ok(wanted.copied().collect())
    },
};

request_bodies! {
    PutWebhook = json!({
        "url": "https://example.com/hooks/legwork",
        "events": ["task.completed", "task.proof_submitted"],
    });
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WebhookWithSecret::example()))]
pub struct WebhookWithSecret {
    webhook_url: String,
    /// Empty for all.
    webhook_events: Vec<EventType>,
    /// Signs every delivery.
    webhook_secret: String,
}

impl WebhookWithSecret {
    fn of(endpoint: &Endpoint) -> Self {
        Self {
            webhook_url: endpoint.url.clone(),
            webhook_events: endpoint.events.clone(),
            webhook_secret: endpoint.secret.clone(),
        }
    }

    fn example() -> Self {
        Self::of(&examples::endpoint())
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WebhookState::example()))]
pub struct WebhookState {
    #[schema(required)]
    webhook_url: Option<String>,
    webhook_events: Vec<EventType>,
    /// Whether events are delivered.
    enabled: bool,
    /// Since when deliveries have been failing.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    failing_since: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    disabled_at: Option<Timestamp>,
    #[schema(required)]
    disabled_reason: Option<String>,
}

impl WebhookState {
    fn example() -> Self {
        Some(examples::endpoint()).into()
    }
}

impl From<Option<Endpoint>> for WebhookState {
    fn from(endpoint: Option<Endpoint>) -> Self {
        let enabled = endpoint.as_ref().is_some_and(|e| e.disabled.is_none());
        let failing_since = endpoint.as_ref().and_then(|e| e.failing_since);
        let disabled = endpoint.as_ref().and_then(|e| e.disabled.clone());
        let (webhook_url, webhook_events) = endpoint.map(|e| (e.url, e.events)).unzip();
        Self {
            webhook_url,
            webhook_events: webhook_events.unwrap_or_default(),
            enabled,
            failing_since,
            disabled_at: disabled.as_ref().map(|disabled| disabled.at),
            disabled_reason: disabled.map(|disabled| disabled.because),
        }
    }
}

/// Get the webhook
///
/// Does not include the secret: only PUT and rotation return it.
#[utoipa::path(
    get, path = "/v1/account/webhook", tag = "Webhooks", operation_id = "getWebhook",
    responses((status = 200, description = "The webhook", body = WebhookState),
        groups::Developer)
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let account = caller.owner().account;
    let endpoint = app.store.read(move |tx| tx.endpoint(account)).await?;
    JsonResponse::ok(&WebhookState::from(endpoint))
}

/// Set the webhook
///
/// An account has one URL for both environments. The secret stays the same. Setting the webhook
/// again enables one that was disabled.
#[utoipa::path(
    put, path = "/v1/account/webhook", tag = "Webhooks", operation_id = "putWebhook",
    request_body = PutWebhook,
    responses((status = 200, description = "The webhook", body = WebhookWithSecret),
        groups::Developer, groups::Body)
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let PutWebhook { url, events } = body::json(request, &app).await?;
    app.outbound
        .check(&url)
        .await
        .map_err(|message| ApiError::invalid("url", &message))?;
    let (account, clock) = (caller.owner().account, app.clock.clone());
    let url = url.as_str().to_owned();
    let (set_url, set_events) = (url.clone(), events.clone());
    let (new, by) = (WebhookSecret::new(&ambient::random()), caller.by());
    let set = app.store.write_for(account, move |tx| {
        let (secret, now) = (new.expose(), clock.now());
        usecases::put_webhook(tx, account, &set_url, &set_events, secret, &by, now)
    });
    JsonResponse::ok(&WebhookWithSecret {
        webhook_secret: set.await?,
        webhook_url: url,
        webhook_events: events,
    })
}

/// Remove the webhook
///
/// Pending deliveries are dropped. You can still read the events.
#[utoipa::path(
    delete, path = "/v1/account/webhook", tag = "Webhooks", operation_id = "deleteWebhook",
    responses((status = 200, description = "The webhook is removed", body = WebhookState),
        groups::Developer)
)]
pub async fn delete(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let (account, clock) = (caller.owner().account, app.clock.clone());
    let by = caller.by();
    app.store
        .write_for(account, move |tx| {
            usecases::remove_webhook(tx, account, &by, clock.now())
        })
        .await?;
    JsonResponse::ok(&WebhookState::from(None))
}

/// Rotate the webhook secret
///
/// For 24 hours, deliveries are signed with the old secret too: `v1=<new>,v1=<old>`. Up to three old
/// secrets sign at a time.
#[utoipa::path(
    post, path = "/v1/account/webhook/rotate_secret", tag = "Webhooks",
    operation_id = "rotateWebhookSecret", params(IdempotencyKeyHeader),
    responses((status = 200, description = "The webhook", body = WebhookWithSecret),
        groups::Developer, groups::Body, groups::Idempotency, errors::WebhookNotConfigured,
        errors::RotatedRecently)
)]
pub async fn rotate_secret(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let (account, by) = (caller.owner().account, caller.by());
    let new = WebhookSecret::new(&ambient::random());
    let rotate = move |tx: &mut Tx<'_>, now| {
        usecases::rotate_webhook_secret(tx, account, new.expose(), &by, now)
    };
    let render = |endpoint: &Endpoint| to_json(&WebhookWithSecret::of(endpoint));
    Idempotent::new(&app, caller.requester(), post)
        .sealed()
        .of_account(account)
        .run(rotate, render)
        .await
}

/// How many samples an account sends at once.
const MAX_TESTS: usize = 4;

/// The outcome of a sample delivery.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(TestDelivery::example()))]
pub struct TestDelivery {
    event: EventType,
    delivered: bool,
    #[schema(required)]
    status_code: Option<u16>,
    duration_ms: u64,
    #[schema(required)]
    error: Option<String>,
}

impl TestDelivery {
    fn of(attempt: &Attempt) -> Self {
        Self {
            event: EventType::TaskCreated,
            delivered: attempt.delivered(),
            status_code: attempt.status_code,
            duration_ms: attempt.duration_ms,
            error: attempt.error.clone(),
        }
    }

    fn json(attempt: &Attempt) -> Result<String, StoreError> {
        to_json(&Self::of(attempt))
    }

    fn example() -> Self {
        Self::of(&examples::attempt())
    }
}

/// Send a sample event
///
/// Sends a signed `task.created` of a task that does not exist, once and at once.
#[utoipa::path(
    post, path = "/v1/account/webhook/test", tag = "Webhooks", operation_id = "testWebhook",
    params(IdempotencyKeyHeader),
    responses((status = 200, description = "The outcome", body = TestDelivery),
        groups::Developer, groups::Body, groups::Idempotency, errors::WebhookNotConfigured)
)]
pub async fn test(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let owner = caller.owner();
    // A receiver may take its time, and each test holds a connection meanwhile.
    let place = app.webhook_tests.take(owner.account, MAX_TESTS);
    let _place = place.ok_or(ApiError::RateLimited {
        retry_after_seconds: 5,
    })?;
    let send = async {
        let endpoint = app
            .store
            .read(move |tx| usecases::endpoint_of(tx, owner.account))
            .await?;
        let message = EventId::new(app.clock.now(), &ambient::random());
        let (event, data) = (EventType::TaskCreated, sample(owner)?);
        Ok(app.webhooks.send(&endpoint, message, event, &data).await)
    };
    let tell = |_: &mut Tx<'_>, _, attempt: &Attempt| Ok(attempt.clone());
    let json = TestDelivery::json;
    Idempotent::new(&app, caller.requester(), post)
        .prepare(send)
        .run(tell, json)
        .await
}

/// The task of all examples, as a task of this account.
fn sample(owner: Owner) -> Result<String, StoreError> {
    let task = Story::of(owner).task;
    Ok(event::of_task(EventType::TaskCreated, &task, None)?.data)
}
