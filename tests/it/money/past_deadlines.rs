//! A live task whose deadline has passed charges nobody.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Developer, GOOD_CARD, InjectedFault, TestApp, on_both_engines, path, storefront,
};

on_both_engines!(
    a_default_method_is_not_charged_after_the_deadline,
    no_payment_is_created_after_the_deadline,
    a_deadline_that_was_moved_in_time_is_charged,
    the_page_takes_no_payment_after_the_deadline,
    a_payment_after_the_deadline_is_refunded,
    a_charge_that_the_deadline_overtakes_is_refunded,
);

const PAST: &str = "2025-11-15T11:59:59Z";
const SOON: &str = "2025-11-15T12:00:10Z";

async fn create(dev: &Developer, deadline: &str) -> Value {
    let mut body = storefront();
    body["deadline"] = deadline.into();
    dev.live.post("/v1/tasks", &body).await.expect(201)
}

async fn payment(dev: &Developer, task: &Value) -> Value {
    let path = format!("{}/payment", path(task));
    dev.live.get(&path).await.expect(200)
}

/// What happened to a task, as its events tell it.
async fn events(dev: &Developer, task: &Value) -> Vec<String> {
    let path = format!("/v1/events?task_id={}", task["id"].as_str().unwrap());
    let events = dev.live.get(&path).await.expect(200);
    let events = events["data"].as_array().unwrap().iter().rev();
    events
        .map(|event| event["event"].as_str().unwrap().to_owned())
        .collect()
}

async fn expect_expired(app: &TestApp, dev: &Developer, task: &Value) {
    let events = events(dev, task).await;
    assert_eq!(events[..2], ["task.created", "task.expired"]);
    assert!(!events.contains(&"task.funded".to_owned()), "{events:?}");
    let history = dev.live.get(&format!("{}/history", path(task))).await;
    let last = history.expect(200)["data"][1].clone();
    assert_eq!(
        (&last["from"], &last["to"]),
        (&json!("pending"), &json!("expired"))
    );
    assert_eq!(last["by"]["type"], "clock");
    assert_eq!(last["reason"], "the deadline passed");
    TestApp::expect_settled(&app.verify().await);
}

async fn a_default_method_is_not_charged_after_the_deadline(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let task = create(&dev, PAST).await;
    assert_eq!(task["status"], "pending");
    app.jobs.drain().await.unwrap();
    expect_expired(&app, &dev, &task).await;
    assert_eq!(payment(&dev, &task).await["status"], "cancelled");
    let made = "SELECT CAST(COUNT(*) AS TEXT) FROM sandbox_payments";
    assert_eq!(app.database.column(made).await, ["0"]);
    // A deadline that passes while the charge waits.
    let task = create(&dev, SOON).await;
    app.advance(Duration::from_secs(10));
    app.jobs.drain().await.unwrap();
    expect_expired(&app, &dev, &task).await;
    assert_eq!(app.database.column(made).await, ["0"]);
}

async fn no_payment_is_created_after_the_deadline(app: TestApp) {
    let dev = app.developer().await;
    let task = create(&dev, PAST).await;
    assert_eq!(task.get("payment_client_secret"), None);
    let before = payment(&dev, &task).await;
    assert_eq!(before["payment_client_secret"], Value::Null);
    app.jobs.drain().await.unwrap();
    expect_expired(&app, &dev, &task).await;
    assert_eq!(payment(&dev, &task).await["status"], "cancelled");
    let made = "SELECT CAST(COUNT(*) AS TEXT) FROM sandbox_payments";
    assert_eq!(app.database.column(made).await, ["0"]);
}

async fn a_deadline_that_was_moved_in_time_is_charged(app: TestApp) {
    let dev = app.developer().await;
    let later = json!({ "deadline": SOON });
    let by_hand = create(&dev, PAST).await;
    dev.charge_to("pm_card_visa").await;
    let charged = create(&dev, PAST).await;
    for task in [&by_hand, &charged] {
        dev.live.patch(&path(task), &later).await.expect(200);
    }
    app.jobs.drain().await.unwrap();
    let task = dev.live.get(&path(&charged)).await.expect(200);
    assert_eq!(task["status"], "posted");
    let waiting = payment(&dev, &by_hand).await;
    let secret = waiting["payment_client_secret"].as_str().unwrap();
    assert_eq!(app.client().pay(secret, GOOD_CARD).await.status, 200);
    let task = dev.live.get(&path(&by_hand)).await.expect(200);
    assert_eq!(task["status"], "posted");
    TestApp::expect_settled(&app.verify().await);
}

async fn the_page_takes_no_payment_after_the_deadline(app: TestApp) {
    let dev = app.developer().await;
    let task = create(&dev, SOON).await;
    let secret = task["payment_client_secret"].as_str().unwrap();
    app.advance(Duration::from_millis(9_999));
    assert_eq!(payment(&dev, &task).await["payment_client_secret"], secret);
    app.advance(Duration::from_millis(1));
    let waiting = payment(&dev, &task).await;
    assert_eq!(waiting["payment_client_secret"], Value::Null);
    let page = app.client().get(&format!("/pay/{secret}")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("nothing to pay") && !page.text.contains("<form"));
    assert_eq!(app.client().pay(secret, GOOD_CARD).await.status, 409);
    app.scheduler.catch_up().await.unwrap();
    app.jobs.drain().await.unwrap();
    expect_expired(&app, &dev, &task).await;
    assert_eq!(payment(&dev, &task).await["status"], "cancelled");
}

/// Past our page, as with a processor that takes payments itself.
async fn a_payment_after_the_deadline_is_refunded(app: TestApp) {
    let dev = app.developer().await;
    let task = create(&dev, SOON).await;
    let secret = task["payment_client_secret"].as_str().unwrap();
    app.advance(Duration::from_secs(10));
    app.pay_past_the_page(secret).await;
    app.jobs.drain().await.unwrap();
    expect_expired(&app, &dev, &task).await;
    let refunded = payment(&dev, &task).await;
    assert_eq!(refunded["status"], "succeeded");
    assert_eq!(refunded["refunded_cents"], 2500);
    let page = app.client().get(&format!("/pay/{secret}")).await;
    assert!(
        page.text.contains("$25.00 of it were refunded"),
        "{}",
        page.text
    );
}

async fn a_charge_that_the_deadline_overtakes_is_refunded(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let task = create(&dev, SOON).await;
    processor.set(InjectedFault::ArrivesLate);
    let time_passes = processor.before_late_arrival(async {
        processor.set(InjectedFault::None);
        app.advance(Duration::from_secs(10));
    });
    let (drained, ()) = futures_util::join!(app.jobs.drain(), time_passes);
    drained.unwrap();
    expect_expired(&app, &dev, &task).await;
    let refunded = payment(&dev, &task).await;
    assert_eq!(refunded["status"], "succeeded");
    assert_eq!(refunded["refunded_cents"], 2500);
}
