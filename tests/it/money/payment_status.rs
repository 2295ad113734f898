//! What a payment says of itself while it is being charged, cancelled and refunded.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Developer, GOOD_CARD, InjectedFault, TestApp, on_both_engines, path, storefront,
};

on_both_engines!(
    a_cancel_during_a_charge_is_processing_until_it_is_known,
    a_cancel_during_a_charge_that_is_declined_ends_cancelled,
    a_cancelled_task_is_processing_until_its_payment_is_cancelled,
    a_refund_is_a_change_of_the_payment,
    the_page_names_what_is_paid_for_and_how_it_stands,
);

async fn payment(dev: &Developer, task: &Value) -> Value {
    let path = format!("{}/payment", path(task));
    dev.live.get(&path).await.expect(200)
}

async fn cancel(dev: &Developer, task: &Value) {
    let cancel = format!("{}/cancel", path(task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
}

/// Charges a method, and cancels the task before the request arrives; returns what the payment has become.
async fn cancel_during_charge(app: &TestApp, method: &str) -> (TestApp, Value) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let dev = app.developer().await;
    dev.charge_to(method).await;
    let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    processor.set(InjectedFault::ArrivesLate);
    let meanwhile = processor.before_late_arrival(async {
        processor.set(InjectedFault::None);
        assert_eq!(payment(&dev, &task).await["status"], "processing");
        cancel(&dev, &task).await;
        assert_eq!(payment(&dev, &task).await["status"], "processing");
        // The job that cancels the payment must not say what it cannot know.
        app.jobs.drain().await.unwrap();
        assert_eq!(payment(&dev, &task).await["status"], "processing");
    });
    let (drained, ()) = futures_util::join!(app.jobs.drain(), meanwhile);
    drained.unwrap();
    let shown = payment(&dev, &task).await;
    assert_eq!(shown["payment_client_secret"], Value::Null);
    let task = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(task["status"], "cancelled");
    TestApp::expect_settled(&app.verify().await);
    let left = "SELECT kind FROM jobs";
    assert_eq!(app.database.column(left).await, Vec::<String>::new());
    (app, shown)
}

async fn a_cancel_during_a_charge_is_processing_until_it_is_known(app: TestApp) {
    let (_app, payment) = cancel_during_charge(&app, "pm_card_visa").await;
    assert_eq!(payment["status"], "succeeded");
    assert_eq!(payment["refunded_cents"], 2500);
    assert_eq!(payment["refund_pending_cents"], 0);
}

async fn a_cancel_during_a_charge_that_is_declined_ends_cancelled(app: TestApp) {
    let (_app, payment) = cancel_during_charge(&app, "pm_card_chargeDeclined").await;
    assert_eq!(payment["status"], "cancelled");
    assert_eq!(payment["refund"], Value::Null);
}

async fn a_cancelled_task_is_processing_until_its_payment_is_cancelled(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_live_task().await;
    app.advance(Duration::from_secs(60));
    cancel(&dev, &task).await;
    let shown = payment(&dev, &task).await;
    assert_eq!(shown["status"], "processing");
    assert_eq!(shown["updated_at"], "2025-11-15T12:01:00.000Z");
    app.jobs.drain().await.unwrap();
    assert_eq!(payment(&dev, &task).await["status"], "cancelled");
}

async fn a_refund_is_a_change_of_the_payment(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    assert_eq!(payment(&dev, &task).await["updated_at"], TestApp::NOON);
    app.advance(Duration::from_secs(60));
    cancel(&dev, &task).await;
    let owed = payment(&dev, &task).await;
    assert_eq!(owed["updated_at"], "2025-11-15T12:01:00.000Z");
    app.advance(Duration::from_secs(60));
    app.jobs.drain().await.unwrap();
    let refunded = payment(&dev, &task).await;
    assert_eq!(refunded["refunded_cents"], 2500);
    assert_eq!(refunded["updated_at"], "2025-11-15T12:02:00.000Z");
}

async fn the_page_names_what_is_paid_for_and_how_it_stands(app: TestApp) {
    let dev = app.developer().await;
    let mut body = storefront();
    body["title"] = "Count <b>chairs</b>".into();
    let title = "Count &#60;b&#62;chairs&#60;/b&#62;";
    let task = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = task["payment_client_secret"].as_str().unwrap();
    let address = format!("/pay/{secret}");
    let shown = async || app.client().get(&address).await.text;
    for text in ["Pay Legwork", title, "$25.00", "<form"] {
        assert!(shown().await.contains(text), "{}", shown().await);
    }
    let declined = app.client().pay(secret, "4000000000000002").await;
    assert!(declined.text.contains(title) && declined.text.contains("declined"));
    let paid = app.client().pay(secret, GOOD_CARD).await;
    let thanks = format!("You paid $25.00 to Legwork for “{title}”.");
    assert!(paid.text.contains(&thanks), "{}", paid.text);
    assert!(shown().await.contains(&thanks) && !shown().await.contains("<form"));
    cancel(&dev, &task).await;
    assert!(shown().await.contains("$25.00 of it are on their way back"));
    app.jobs.drain().await.unwrap();
    assert!(shown().await.contains("$25.00 of it were refunded"));
    // One whose charge is under way.
    let (task, secret) = dev.create_payable_task().await;
    let charging = format!(
        "UPDATE payments SET status = 'processing' WHERE task_id = '{}'",
        task["id"].as_str().unwrap()
    );
    app.database.execute(&charging).await;
    let page = app.client().get(&format!("/pay/{secret}")).await;
    assert!(page.text.contains("is being made") && !page.text.contains("<form"));
    assert_eq!(app.client().pay(&secret, GOOD_CARD).await.status, 409);
    // One that nobody has paid.
    let (task, secret) = dev.create_payable_task().await;
    cancel(&dev, &task).await;
    let page = app.client().get(&format!("/pay/{secret}")).await;
    assert!(page.text.contains("nothing to pay") && !page.text.contains("<form"));
    assert_eq!(app.client().pay(&secret, GOOD_CARD).await.status, 409);
}
