//! What Stripe tells us of its own accord.

use hmac::{Hmac, KeyInit, Mac};
use legwork::ambient;
use legwork::domain::accounts::api_key::hex;
use serde_json::{Value, json};
use sha2::Sha256;

use super::adapter::Adapter;
use super::{
    CONNECT_SECRET, WEBHOOK_SECRET, expect_all_well, intent_of, payment, peers, status, untold,
};
use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines!(
    a_notice_counts_once_however_often_it_comes,
    a_notice_that_is_not_stripes_is_refused,
    a_cancelled_intent_is_told_of,
    a_notice_of_somebody_elses_payment_changes_nothing,
    the_sandbox_takes_no_notices,
);

const HOOK: &str = "/hooks/stripe";

pub fn event(kind: &str, object: &Value) -> Value {
    json!({
        "id": format!("evt_{}", hex(&ambient::random::<8>())),
        "object": "event",
        "api_version": "2024-06-20",
        "created": 1_763_200_000,
        "data": {"object": object},
        "livemode": false,
        "pending_webhooks": 1,
        "request": {"id": null, "idempotency_key": null},
        "type": kind,
    })
}

fn signature(secret: &str, seconds: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{seconds}.{body}").as_bytes());
    format!("t={seconds},v1={}", hex(&mac.finalize().into_bytes()))
}

async fn send(app: &TestApp, signature: &str, body: &str) -> Reply {
    let headers = [
        ("stripe-signature", signature),
        ("content-type", "application/json; charset=utf-8"),
    ];
    let client = app.client();
    client.send("POST", HOOK, &headers, body.to_owned()).await
}

pub async fn tell(app: &TestApp, secret: &str, event: &Value) -> Reply {
    let body = event.to_string();
    let seconds = app.clock.now().as_millis() / 1_000;
    send(app, &signature(secret, seconds, &body), &body).await
}

/// A worker completes an account, and Stripe tells, with the secret of its other endpoint.
pub async fn account_updated(app: &TestApp, stripe: &Adapter, account: &str) {
    let account = stripe.complete_account(account);
    let event = event("account.updated", &account);
    for (schema, value) in [("account", &account), ("event", &event)] {
        let faults = peers::faults(&json!({"schema": schema, "value": value}));
        assert_eq!(faults, Vec::<String>::new());
    }
    tell(app, CONNECT_SECRET, &event).await.expect(200);
}

async fn a_notice_counts_once_however_often_it_comes(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    stripe.pay(&secret, "pm_card_visa").await;
    let intent = stripe.intent(intent_of(&secret)).await;
    let notice = event("payment_intent.succeeded", &intent);
    for _ in 0..2 {
        let taken = tell(&app, WEBHOOK_SECRET, &notice).await.expect(200);
        assert_eq!(taken["received"], true);
        assert_eq!(status(&dev, &task).await, "posted");
    }
    // Also when it comes under another name, or when an older one comes after it.
    let again = event("payment_intent.succeeded", &intent);
    tell(&app, WEBHOOK_SECRET, &again).await.expect(200);
    let late = event("payment_intent.payment_failed", &intent);
    tell(&app, WEBHOOK_SECRET, &late).await.expect(200);
    assert_eq!(status(&dev, &task).await, "posted");
    assert_eq!(payment(&dev, &task).await["escrow_cents"], 2500);
    expect_all_well(&app, &stripe).await;
}

async fn a_notice_that_is_not_stripes_is_refused(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    let intent = stripe.intent(intent_of(&secret)).await;
    let body = event("payment_intent.succeeded", &intent).to_string();
    let now = app.clock.now().as_millis() / 1_000;
    let right = signature(WEBHOOK_SECRET, now, &body);

    let unsigned = app.client().send("POST", HOOK, &[], body.clone()).await;
    unsigned.expect_error(400, "VALIDATION_ERROR");
    for (signature, body) in [
        (String::new(), body.clone()),
        (signature("whsec_guessed", now, &body), body.clone()),
        (signature(WEBHOOK_SECRET, now - 600, &body), body.clone()),
        (signature(WEBHOOK_SECRET, now + 600, &body), body.clone()),
        (right.clone(), body.replace("2500", "2501")),
        (right.clone(), String::new()),
        (signature(WEBHOOK_SECRET, now, "{"), "{".to_owned()),
    ] {
        let refused = send(&app, &signature, &body).await;
        refused.expect_error(400, "VALIDATION_ERROR");
        assert_eq!(status(&dev, &task).await, "pending");
    }
    send(&app, &right, &body).await.expect(200);
    assert_eq!(
        status(&dev, &task).await,
        "posted",
        "the right one was not spoilt"
    );
}

async fn a_cancelled_intent_is_told_of(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    let intent = stripe.intent(intent_of(&secret)).await;
    let notice = event("payment_intent.canceled", &intent);
    tell(&app, WEBHOOK_SECRET, &notice).await.expect(200);
    assert_eq!(payment(&dev, &task).await["status"], "cancelled");
}

async fn a_notice_of_somebody_elses_payment_changes_nothing(app: TestApp) {
    let (app, _) = untold(&app).await;
    for kind in [
        "payment_intent.succeeded",
        "payment_intent.canceled",
        "account.updated",
        "charge.refunded",
    ] {
        let notice = event(kind, &json!({"id": "pi_of_somebody_else"}));
        tell(&app, WEBHOOK_SECRET, &notice).await.expect(200);
    }
    TestApp::expect_settled(&app.verify().await);
}

async fn the_sandbox_takes_no_notices(app: TestApp) {
    let body = event("payment_intent.succeeded", &json!({"id": "pi_1"})).to_string();
    let now = app.clock.now().as_millis() / 1_000;
    let refused = send(&app, &signature(WEBHOOK_SECRET, now, &body), &body).await;
    assert_eq!(refused.status, 404);
}
