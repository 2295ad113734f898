//! What a task has come to: both sides read what was really paid, and a form that comes too late shows how it stands.

use std::time::Duration;

use legwork::domain::Environment;
use serde_json::{Value, json};

use super::worker::browser_of;
use super::{Browser, between};
use crate::support::{
    Client, Developer, InjectedFault, TestApp, Worker, on_both_engines, storefront,
};

on_both_engines!(
    a_split_is_told_to_both_sides,
    what_ends_without_the_whole_pay_says_so,
    cancelling_says_what_it_costs,
    a_form_that_comes_too_late_shows_how_the_task_stands,
    a_payout_that_failed_is_not_on_its_way,
    whoever_has_paid_goes_on_to_the_task,
);

/// A developer who has programs and a browser.
pub(super) async fn developer(app: &TestApp) -> (Developer, Browser) {
    let mut browser = Browser::signed_up(app, "ada@example.com").await;
    let mut keys = Vec::new();
    for environment in [Environment::Test, Environment::Live] {
        let path = format!("/dashboard/{environment}/keys");
        let made = browser.post(&path, &[("name", "Bot")]).await.text;
        keys.push(between(&made, "data-copy>", "<"));
    }
    let [test, live] = [0, 1].map(|at: usize| Client::new(app.address, Some(&keys[at])));
    let account = live.get("/v1/account").await.expect(200);
    let developer = Developer {
        account_id: account["id"].as_str().unwrap().to_owned(),
        test_key: keys[0].clone(),
        live_key: keys[1].clone(),
        test,
        live,
    };
    (developer, browser)
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

/// The page of a live task, for its developer.
fn page(task: &Value) -> String {
    format!("/dashboard/live/tasks/{}", id(task))
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

/// What the worker reads of a task, on its page and in the list.
async fn worker_reads(app: &TestApp, worker: &Worker, task: &Value) -> (String, String) {
    let mut browser = browser_of(app, worker).await;
    let page = browser.get(&format!("/worker/tasks/{}", id(task))).await;
    (page.text, browser.get("/worker/tasks").await.text)
}

async fn a_split_is_told_to_both_sides(app: TestApp) {
    let ((dev, mut browser), worker) = (developer(&app).await, app.ready_worker().await);
    let task = crate::admin::disputed_task(&app, &dev, &worker).await;
    let split = json!({"decision": "split", "paid_cents": 1000, "note": "Half of it is there."});
    decide(&app, &task, split).await;
    let own = format!("/v1/worker/tasks/{}", id(&task));
    let own = worker.client.get(&own).await.expect(200);
    assert_eq!(
        [&own["worker_payout_cents"], &own["earned_cents"]],
        [2100, 840]
    );
    let (shown, list) = worker_reads(&app, &worker, &task).await;
    let said = [
        "You earned</span> $8.40",
        "the pay is split, and $8.40 of it is yours",
    ];
    expect(&shown, &said, &["$21.00", "The pay is yours"]);
    expect(&list, &["$8.40"], &["$21.00"]);
    let mut spanish = browser_of(&app, &worker).await;
    spanish.language = Some("es");
    let shown = spanish.get(&format!("/worker/tasks/{}", id(&task))).await;
    expect(
        &shown.text,
        &["Ganaste</span> $8.40", "el pago se divide"],
        &["$21.00"],
    );
    let shown = browser.get(&page(&task)).await.text;
    let said = [
        "The dispute is decided: the worker gets a part",
        "Worker gets</dt><dd class=\"num\">$8.40",
        "Platform fee</dt><dd class=\"num\">$1.60",
        "$15.00",
    ];
    expect(&shown, &said, &["$21.00", "$4.00", "ou approved"]);
}

async fn what_ends_without_the_whole_pay_says_so(app: TestApp) {
    let ((dev, mut browser), worker) = (developer(&app).await, app.ready_worker().await);
    let lost = crate::admin::disputed_task(&app, &dev, &worker).await;
    decide(&app, &lost, json!({"decision": "refund", "note": "No."})).await;
    let (shown, list) = worker_reads(&app, &worker, &lost).await;
    expect(&shown, &["$0.00", "over without pay"], &["$21.00"]);
    expect(&list, &["$0.00"], &["$21.00"]);
    let shown = browser.get(&page(&lost)).await.text;
    let said = [
        "decided: you get your money back",
        "Worker gets</dt><dd class=\"num\">$0.00",
    ];
    expect(&shown, &said, &["$21.00"]);
    let won = crate::admin::disputed_task(&app, &dev, &worker).await;
    decide(&app, &won, json!({"decision": "pay", "note": "Yes."})).await;
    let (shown, _) = worker_reads(&app, &worker, &won).await;
    expect(&shown, &["$21.00", "The pay is yours"], &[]);
    let shown = browser.get(&page(&won)).await.text;
    let said = ["The dispute is decided: the worker is paid", "$21.00"];
    expect(&shown, &said, &["ou approved"]);
    // Its time runs out while somebody works on it.
    let mut late = storefront();
    late["deadline"] = json!("2025-11-16T12:00:00Z");
    dev.charge_to("pm_card_visa").await;
    let late = dev.live.post("/v1/tasks", &late).await.expect(201);
    app.jobs.drain().await.unwrap();
    worker.begin(&late).await;
    app.advance(Duration::from_secs(25 * 60 * 60));
    app.scheduler.catch_up().await.unwrap();
    let worker = worker.signed_in_again(&app).await;
    let (shown, _) = worker_reads(&app, &worker, &late).await;
    expect(&shown, &["$0.00", "It pays nothing"], &["$21.00"]);
}

async fn cancelling_says_what_it_costs(app: TestApp) {
    let ((dev, mut browser), worker) = (developer(&app).await, app.ready_worker().await);
    let unpaid = dev.create_live_task().await;
    let shown = browser.get(&page(&unpaid)).await.text;
    expect(&shown, &["nothing was charged"], &["back.</p>"]);
    let task = dev.create_paid_task().await;
    let shown = browser.get(&page(&task)).await.text;
    let seen = "name=\"expected_refund_cents\" value=\"2500\"";
    expect(&shown, &["You get $25.00 back.", seen], &[]);
    worker.act(&task, "accept").await.expect(200);
    let shown = browser.get(&page(&task)).await.text;
    let costs = "A worker has accepted it and gets $10.50. Our fee is $2.00. You get $12.50 back.";
    expect(&shown, &[costs], &[]);
    // Whoever has not seen that yet cancels nothing.
    let cancel = format!("{}/cancel", page(&task));
    let seen = [("expected_refund_cents", "2500")];
    let late = browser.post(&cancel, &seen).await;
    assert_eq!(late.status, 409);
    expect(&late.text, &["has changed meanwhile", costs], &[]);
    let seen = [("expected_refund_cents", "1250")];
    let cancelled = browser.post(&cancel, &seen).await;
    let shown = browser.follow(&cancelled).await.text;
    let said = [
        "Worker gets</dt><dd class=\"num\">$10.50",
        "Platform fee</dt><dd class=\"num\">$2.00",
        "$12.50",
    ];
    expect(&shown, &said, &["$21.00", "Cancel the task"]);
    let (shown, list) = worker_reads(&app, &worker, &task).await;
    let said = ["You earned</span> $10.50", "$10.50 of the pay is yours"];
    expect(&shown, &said, &["$21.00"]);
    expect(&list, &["$10.50"], &["$21.00"]);
}

async fn a_form_that_comes_too_late_shows_how_the_task_stands(app: TestApp) {
    let ((dev, mut browser), worker) = (developer(&app).await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let late = browser.post(&format!("{}/cancel", page(&task)), &[]).await;
    assert_eq!(late.status, 409);
    let said = [
        "has changed meanwhile",
        "In progress</span>",
        "The worker is on it",
        "href=\"/dashboard/live/tasks\"",
    ];
    // The page is not read again by itself: that would send the form again.
    expect(&late.text, &said, &["Cancel the task", "/live."]);
    let test = dev.create_task().await;
    let test = format!("/dashboard/test/tasks/{}", id(&test));
    let advance = format!("{test}/advance");
    let fields = [("to", "completed")];
    browser.post(&advance, &fields).await.expect(303);
    let late = browser.post(&advance, &fields).await;
    assert_eq!(late.status, 409);
    expect(&late.text, &["has changed meanwhile", "Completed"], &[]);
    // What was entered is kept beside what is wrong with it.
    let disputed = crate::admin::disputed_task(&app, &dev, &worker).await;
    let long = "x".repeat(5_001);
    let side = format!("{}/dispute", page(&disputed));
    let wrong = browser.post(&side, &[("statement", &long)]).await;
    assert_eq!(wrong.status, 400);
    expect(&wrong.text, &["statement-fault", &long], &[]);
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

async fn whoever_has_paid_goes_on_to_the_task(app: TestApp) {
    let (dev, mut browser) = developer(&app).await;
    let (task, secret) = dev.create_payable_task().await;
    let pay = format!("/pay/{secret}");
    let shown = browser.get(&page(&task)).await.text;
    expect(&shown, &[&format!("href=\"{pay}\"")], &[]);
    let card = [("card", crate::support::GOOD_CARD)];
    let paid = browser.post(&pay, &card).await;
    assert_eq!(paid.status, 200);
    let link = format!("href=\"{}\"", page(&task));
    expect(&paid.text, &["Thank you", &link], &[]);
    // Somebody else who pays has no page of the task.
    let other = Browser::of(&app).get(&pay).await;
    expect(&other.text, &["You paid"], &["/dashboard"]);
}
