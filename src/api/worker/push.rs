//! /v1/worker/push_subscriptions: where a worker's browsers take notices.

use axum::extract::{Request, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::{body, json};
use crate::api::response::json::Answer;
use crate::domain::{PushSubscriptionId, rules};
use crate::outbound::EndpointUrl;
use crate::store::{PushSubscription, Tx};
use crate::views::examples::WorkerExample;
use crate::views::to_json;

/// A Web Push subscription, as a browser makes it.
#[derive(ToSchema)]
#[schema(example = json!(WorkerExample::Subscribe.value()))]
#[allow(dead_code, reason = "documents the body that `subscribe` reads")]
pub struct Subscribe {
    #[schema(min_length = 1, max_length = 2000)]
    endpoint: String,
    keys: SubscribeKeys,
}

#[derive(ToSchema)]
#[allow(dead_code, reason = "documents the body that `subscribe` reads")]
struct SubscribeKeys {
    #[schema(min_length = 1, max_length = 200)]
    p256dh: String,
    #[schema(min_length = 1, max_length = 200)]
    auth: String,
}

#[derive(ToSchema)]
#[schema(example = json!({"endpoint": "https://push.example.net/4711"}))]
#[allow(dead_code, reason = "documents the body that `unsubscribe` reads")]
pub struct Unsubscribe {
    #[schema(min_length = 1, max_length = 2000)]
    endpoint: String,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::Subscribed.value()))]
pub struct Subscribed {
    id: String,
    endpoint: String,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"public_key": "BNbxGYNMhEIi9zrneh7mqV4oUanjLUK3m-mYZBc62frMKrEoMk88r3Lk596T0ck9xlT-aok0fO1KXBLV4-XqxYM"}))]
pub struct PushKey {
    /// The `applicationServerKey` with which a browser subscribes.
    public_key: String,
}

/// Get the key for push notices
#[utoipa::path(
    get, path = "/v1/worker/push_key", tag = "Workers", operation_id = "getPushKey",
    responses((status = 200, description = "The key", body = PushKey), errors::Common)
)]
pub async fn key(State(app): State<App>, _: WorkerCaller) -> Result<Answer, ApiError> {
    Answer::ok(&PushKey {
        public_key: app.push_key.clone(),
    })
}

/// Subscribe to push notices
#[utoipa::path(
    post, path = "/v1/worker/push_subscriptions", tag = "Workers", operation_id = "subscribe",
    params(IdempotencyKeyHeader), request_body = Subscribe,
    responses((status = 201, description = "The subscription", body = Subscribed),
        errors::Common, errors::Body, errors::Idempotency)
)]
pub async fn subscribe(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<Answer, ApiError> {
    let key = |text: &str| rules::text(text, 1, 200);
    let mut fields = Fields::of(&post.body);
    let given = fields.text("endpoint", EndpointUrl::rule);
    let keys = fields.object("keys", |keys| {
        let p256dh = keys.text("p256dh", key);
        let auth = keys.text("auth", key);
        Some((p256dh?, auth?))
    });
    fields.finish()?;
    let (Some(endpoint), Some((p256dh, auth))) = (given, keys) else {
        return Err(ApiError::invalid(json::BODY, "is incomplete"));
    };
    app.outbound
        .check(&endpoint)
        .await
        .map_err(|fault| ApiError::invalid("endpoint", &fault))?;
    let endpoint = endpoint.as_str().to_owned();
    let (worker, random) = (caller.worker.id, ambient::random());
    let subscribe = move |tx: &mut Tx<'_>, now| {
        let subscription = PushSubscription {
            id: PushSubscriptionId::new(now, &random),
            worker,
            endpoint: endpoint.clone(),
            p256dh: p256dh.clone(),
            auth: auth.clone(),
        };
        let id = tx.subscribe(&subscription, now)?;
        Ok((id, subscription.endpoint))
    };
    let render = |(id, endpoint): &(PushSubscriptionId, String)| {
        to_json(&Subscribed {
            id: id.to_string(),
            endpoint: endpoint.clone(),
        })
    };
    let requester = caller.requester();
    Idempotent::new(&app, requester, post)
        .created()
        .run(subscribe, render)
        .await
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"endpoint": "https://push.example.net/4711", "removed": true}))]
pub struct Unsubscribed {
    endpoint: String,
    /// Whether there was such a subscription.
    removed: bool,
}

/// End a push subscription
#[utoipa::path(
    delete, path = "/v1/worker/push_subscriptions", tag = "Workers", operation_id = "unsubscribe",
    request_body = Unsubscribe,
    responses((status = 200, description = "It is gone", body = Unsubscribed),
        errors::Common, errors::Body)
)]
pub async fn unsubscribe(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<Answer, ApiError> {
    let object = body::object(request, app.timeouts).await?;
    let mut fields = Fields::of(&object);
    let given = fields.text("endpoint", |text| rules::text(text, 1, 2_000));
    fields.finish()?;
    let endpoint = given.ok_or_else(|| ApiError::invalid(json::BODY, "is incomplete"))?;
    let (worker, gone) = (caller.worker.id, endpoint.clone());
    let removed = app
        .store
        .write(move |tx| tx.unsubscribe(worker, &gone))
        .await?;
    Answer::ok(&Unsubscribed { endpoint, removed })
}
