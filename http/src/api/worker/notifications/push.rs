//! /v1/worker/push_subscriptions: where a worker's browsers take notifications.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, groups};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::PushSubscriptionId;
use crate::domain::rules::TextRule;
use crate::outbound::EndpointUrl;
use crate::push::Subscription;
use crate::store::{PushSubscription, Tx};
use crate::usecases;
use crate::views::{Id, examples, to_json};

/// A Web Push subscription, as a browser makes it.
pub struct Subscribe {
    endpoint: EndpointUrl,
    p256dh: String,
    auth: String,
}

const ENDPOINT: TextRule = TextRule::plain(1, EndpointUrl::RULE.max);

impl RequestBody for Subscribe {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let endpoint = fields.text("endpoint", &EndpointUrl::RULE);
        let keys = fields.object("keys", |keys| {
            let p256dh = keys.text("p256dh", &Subscription::P256DH);
            let auth = keys.text("auth", &Subscription::AUTH);
            Some((p256dh?, auth?))
        });
        let (p256dh, auth) = keys?;
        Some(Self {
            endpoint: endpoint?,
            p256dh,
            auth,
        })
    }
}

pub struct Unsubscribe {
    endpoint: String,
}

impl RequestBody for Unsubscribe {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let endpoint = fields.text("endpoint", &ENDPOINT);
        Some(Self {
            endpoint: endpoint?,
        })
    }
}

request_bodies! {
    /// A Web Push subscription, as a browser makes it.
    Subscribe = json!({
        "endpoint": "https://push.example.net/4711",
        "keys": {
            "p256dh": "BFcxTvjVJEpKG29g6EraEJ3gVoXqLy-H05geaaYVNrGDHGmxDH2j6VeePTR2c8SGI2HFuF5eyU2Nc5Wq7pTZC2s",
            "auth": "UPQizpaRapjUncv9Que8qA",
        },
    });
    Unsubscribe = json!({"endpoint": "https://push.example.net/4711"});
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Subscribed::example()))]
pub struct Subscribed {
    #[schema(value_type = Id)]
    id: String,
    endpoint: String,
}

impl Subscribed {
    fn of(id: PushSubscriptionId, endpoint: String) -> Self {
        Self {
            id: id.to_string(),
            endpoint,
        }
    }

    fn example() -> Self {
        let endpoint = "https://push.example.net/4711".to_owned();
        Self::of(examples::subscription_id(), endpoint)
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"public_key": "BNbxGYNMhEIi9zrneh7mqV4oUanjLUK3m-mYZBc62frMKrEoMk88r3Lk596T0ck9xlT-aok0fO1KXBLV4-XqxYM"}))]
pub struct PushKey {
    /// The `applicationServerKey` with which a browser subscribes.
    public_key: String,
}

/// Get the key for push notifications
#[utoipa::path(
    get, path = "/v1/worker/push_key", tag = "Workers", operation_id = "getPushKey",
    responses((status = 200, description = "The key", body = PushKey), groups::Worker)
)]
pub async fn key(State(app): State<App>, _: WorkerCaller) -> Result<JsonResponse, ApiError> {
    JsonResponse::ok(&PushKey {
        public_key: app.push_key.clone(),
    })
}

/// Subscribe to push notifications
///
/// The subscription ends with the token that made it. You can have 20: one more replaces the oldest.
#[utoipa::path(
    post, path = "/v1/worker/push_subscriptions", tag = "Workers", operation_id = "subscribe",
    params(IdempotencyKeyHeader), request_body = Subscribe,
    responses((status = 201, description = "The subscription", body = Subscribed),
        groups::Worker, groups::Body, groups::Idempotency)
)]
pub async fn subscribe(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let Subscribe {
        endpoint,
        p256dh,
        auth,
    } = post.read()?;
    app.outbound
        .check(&endpoint)
        .await
        .map_err(|message| ApiError::invalid("endpoint", &message))?;
    let endpoint = endpoint.as_str().to_owned();
    let (worker, random) = (caller.worker.id, ambient::random());
    let token = caller.token.clone();
    let subscribe = move |tx: &mut Tx<'_>, now| {
        let subscription = PushSubscription {
            id: PushSubscriptionId::new(now, &random),
            worker,
            endpoint: endpoint.clone(),
            p256dh: p256dh.clone(),
            auth: auth.clone(),
        };
        let id = usecases::subscribe_worker(tx, &subscription, &token, now)?;
        Ok((id, subscription.endpoint))
    };
    let render = |(id, endpoint): &(PushSubscriptionId, String)| {
        to_json(&Subscribed::of(*id, endpoint.clone()))
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

/// Remove a push subscription
#[utoipa::path(
    delete, path = "/v1/worker/push_subscriptions", tag = "Workers", operation_id = "unsubscribe",
    request_body = Unsubscribe,
    responses((status = 200, description = "The outcome", body = Unsubscribed),
        groups::Worker, groups::Body)
)]
pub async fn unsubscribe(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let Unsubscribe { endpoint } = body::json(request, &app).await?;
    let (worker, gone) = (caller.worker.id, endpoint.clone());
    let removed = app
        .store
        .write(move |tx| tx.unsubscribe(worker, &gone))
        .await?;
    JsonResponse::ok(&Unsubscribed { endpoint, removed })
}
