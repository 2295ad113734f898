//! What a task has come to: both sides read what was really paid, and a form that comes too late shows how it stands.

use serde_json::{Value, json};

use super::Browser;
use super::worker::browser_of;
use crate::support::{InjectedFault, TestApp, on_both_engines};

on_both_engines!(a_payout_that_failed_is_not_on_its_way,);

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

async fn decide(app: &TestApp, task: &Value, decision: Value) {
    let path = format!("/v1/admin/disputes/{}/decide", id(task));
    app.admin().await.post(&path, &decision).await.expect(200);
}

fn expect(page: &str, said: &[&str], unsaid: &[&str]) {
    for text in said {
        assert!(page.contains(text), "{text}: {page}");
    }
    for text in unsaid {
        assert!(!page.contains(text), "{text}: {page}");
    }
}

async fn a_payout_that_failed_is_not_on_its_way(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = crate::admin::disputed_task(&app, &dev, &worker).await;
    decide(
        &app,
        &task,
        json!({"decision": "split", "paid_cents": 1000}),
    )
    .await;
    let mut browser = browser_of(&app, &worker).await;
    let shown = browser.get("/worker/earnings").await.text;
    expect(&shown, &["On its way"], &["could not send you"]);
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    assert_eq!(earnings["payouts"][0]["status"], "failed");
    let shown = browser.get("/worker/earnings").await.text;
    let said = [
        "Failed</span>",
        "Could not be sent",
        "href=\"/worker/payout\"",
    ];
    expect(&shown, &said, &["On its way"]);
    let account = browser.get("/worker/payout").await.text;
    expect(
        &account,
        &["could not send you a payout", "details of your bank"],
        &["Your pay can be sent"],
    );
    browser.language = Some("es");
    let shown = browser.get("/worker/earnings").await.text;
    expect(&shown, &["Fallido</span>", "No se pudo enviar"], &[]);
    // An admin reads what was not sent, and not what the task could have paid.
    let admin = app.admin().await;
    let queue = admin.get("/v1/admin/queue?kind=failed_payout").await;
    let item = queue.expect(200)["data"][0]["id"].clone();
    let mut console = Browser::of(&app);
    console
        .post("/admin/sign-in", &[("key", admin.key())])
        .await;
    let item = format!("/admin/queue/{}", item.as_str().unwrap());
    let shown = console.get(&item).await.text;
    let said = [
        "Not sent</dt><dd class=\"num\">$8.40",
        "It is about $8.40",
        "Pay in full</dt><dd class=\"num\">$21.00",
    ];
    expect(&shown, &said, &[]);
    processor.set(InjectedFault::None);
    let retry = format!("/v1/admin/payouts/{}/retry", id(&task));
    admin.post(&retry, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    browser.language = None;
    let shown = browser.get("/worker/payout").await.text;
    expect(&shown, &["Your pay can be sent"], &["could not send"]);
}
