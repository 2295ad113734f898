//! Payments with Stripe: through our server, against localstripe and Stripe's documentation.

mod adapter;
mod connect;
mod documentation;
mod exchange;
mod money_back;
mod paying;
mod peers;
mod processor_events;
mod program;
mod repeating;

use legwork::ambient::Clock;
use legwork::api::Timeouts;
use legwork::domain::Secret;
use legwork::payments::{Payments, Stripe, StripeSettings};
use serde_json::Value;

use crate::support::{Client, Developer, TestApp, eventually, path};
use adapter::Adapter;

const WEBHOOK_SECRET: &str = "whsec_payments";
/// Of the endpoint for what happens to the accounts of others.
const CONNECT_SECRET: &str = "whsec_connect";

/// A server on the same store whose payments go through Stripe, and which Stripe does not tell
/// anything.
async fn untold(app: &TestApp) -> (TestApp, Adapter) {
    let stripe = Adapter::start().await;
    let base_url = format!("http://{}", stripe.address);
    let payments = |_: &_, _: &_, url: &str| {
        let settings = StripeSettings {
            key: Secret::presented(adapter::KEY),
            webhook_secret: Secret::presented(&format!("{WEBHOOK_SECRET},{CONNECT_SECRET}")),
            base_url,
            return_url: url.to_owned(),
        };
        Payments::with(Stripe::new(settings).unwrap())
    };
    let (store, timeouts) = (app.store.clone(), Timeouts::default());
    let app = TestApp::start_paid_by(store, &app.database, timeouts, payments).await;
    // localstripe has no clock that can be set.
    app.clock.move_to(Clock::system().now());
    (app, stripe)
}

/// The same, and it gets notices.
async fn start(app: &TestApp) -> (TestApp, Adapter) {
    let (app, stripe) = untold(app).await;
    let hook = format!("http://{}/hooks/stripe", app.address);
    stripe.send_notices_to(&hook, WEBHOOK_SECRET).await;
    (app, stripe)
}

/// What was said to Stripe is right by its documentation, and what it remembers is in our ledger.
async fn expect_all_well(app: &TestApp, stripe: &Adapter) {
    TestApp::expect_settled(&app.verify().await);
    assert!(stripe.expect_as_documented() > 3);
}

async fn payment(dev: &Developer, task: &Value) -> Value {
    let path = format!("{}/payment", path(task));
    dev.live.get(&path).await.expect(200)
}

async fn status(dev: &Developer, task: &Value) -> Value {
    dev.live.get(&path(task)).await.expect(200)["status"].clone()
}

async fn cancel(dev: &Developer, task: &Value) {
    let cancel = format!("{}/cancel", path(task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
}

/// Waits for what a notice brings about.
async fn until_it_is(expected: &str, dev: &Developer, task: &Value) {
    until_shown(&dev.live, &path(task), "status", &expected.into()).await;
}

/// Looks until a field is as it should be. Whoever has looked too often is told to wait, and looks again.
async fn until_shown(client: &Client, path: &str, field: &str, expected: &Value) {
    eventually(&format!("{path}: {field} {expected}"), async || {
        let reply = client.get(path).await;
        reply.status != 429 && reply.expect(200)[field] == *expected
    })
    .await;
}

/// A task that somebody has paid for, and of which the notice has arrived.
async fn paid_task(dev: &Developer, stripe: &Adapter) -> Value {
    let (task, secret) = dev.create_payable_task().await;
    stripe.pay(&secret, "pm_card_visa").await;
    until_it_is("posted", dev, &task).await;
    task
}

/// The name of a task's payment at Stripe.
fn intent_of(client_secret: &str) -> &str {
    client_secret.split_once("_secret_").unwrap().0
}
