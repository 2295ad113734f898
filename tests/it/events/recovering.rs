//! What a delivery shows, and sending again what failed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Developer, Response, TestApp, on_both_engines, path};

on_both_engines!(
    a_delivery_shows_its_task_and_what_is_sent,
    what_failed_since_a_time_is_sent_again,
    a_great_many_failures_are_recovered_by_a_job,
    what_was_given_up_is_recovered_by_the_time_of_that,
    what_failed_by_the_test_clock_is_recovered_by_it,
    what_failed_before_the_test_clock_was_set_back_is_recovered,
    what_a_test_clock_has_left_is_given_up_with_the_webhook,
);

const LIST: &str = "/v1/account/webhook/deliveries";

async fn deliveries(dev: &Developer, query: &str) -> Vec<Value> {
    let page = dev.test.get(&format!("{LIST}{query}")).await.expect(200);
    page["data"].as_array().unwrap().clone()
}

/// The clock is set back only when no task is open.
async fn cancel(dev: &Developer, task: &Value) {
    let cancel = format!("{}/cancel", path(task));
    dev.test.post(&cancel, &json!({})).await.expect(200);
}

async fn a_delivery_shows_its_task_and_what_is_sent(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    let task = dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    let listed = deliveries(&dev, "").await[0].clone();
    assert_eq!(listed["task_id"], task["id"]);
    assert_eq!(listed.get("payload"), None);
    let shown = {
        let id = listed["id"].as_str().unwrap();
        dev.test.get(&format!("{LIST}/{id}")).await.expect(200)
    };
    assert_eq!(shown["task_id"], task["id"]);
    let sent: Value = serde_json::from_slice(&receiver.received()[0].body).unwrap();
    assert_eq!(shown["payload"], sent);
}

async fn what_failed_since_a_time_is_sent_again(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let recover = format!("{LIST}/recover");
    let since = |since: &str| json!({ "since": since });
    let none = dev.test.post(&recover, &since(TestApp::NOON)).await;
    none.expect_error(409, "WEBHOOK_NOT_CONFIGURED");
    receiver.answer(|_| Response::status(500));
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    for faulty in [
        json!({}),
        json!({"since": "yesterday"}),
        json!({"since": 7}),
    ] {
        let reply = dev.test.post(&recover, &faulty).await;
        assert_eq!(reply.faulty_fields(), ["since"]);
    }
    // Three failures, and one of the other environment.
    let hour = Duration::from_secs(60 * 60);
    for _ in 0..3 {
        dev.create_task().await;
        app.advance(hour * 2);
    }
    dev.create_paid_task().await;
    for _ in 0..4 {
        app.webhooks.drain().await.unwrap();
        app.advance(hour * 2);
    }
    assert_eq!(deliveries(&dev, "?status=failed").await.len(), 3);
    receiver.answer(|_| Response::status(200));
    let future = dev
        .test
        .post(&recover, &since("2030-01-01T00:00:00Z"))
        .await;
    assert_eq!(future.faulty_fields(), ["since"]);
    // All of them failed after that time; the first was created before it.
    let key = [("idempotency-key", "again")];
    let body = since("2025-11-15T13:00:00Z");
    let first = dev.test.post_with(&recover, &key, &body).await.expect(200);
    assert_eq!(first, json!({"recovered": 3, "more": false}));
    let pending = deliveries(&dev, "?status=pending").await;
    assert_eq!(pending.len(), 3);
    app.webhooks.drain().await.unwrap();
    assert_eq!(deliveries(&dev, "?status=delivered").await.len(), 3);
    let again = dev.test.post_with(&recover, &key, &body).await.expect(200);
    assert_eq!(again, first);
    let nothing = dev.test.post(&recover, &body).await.expect(200);
    assert_eq!(nothing, json!({"recovered": 0, "more": false}));
    let live = dev.live.get(&format!("{LIST}?status=failed")).await;
    assert_eq!(live.expect(200)["meta"]["total"], 1, "left alone");
}

async fn a_great_many_failures_are_recovered_by_a_job(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    let column = async |sql: &str| app.database.column(sql).await;
    let count = "SELECT CAST(COUNT(*) AS TEXT) FROM deliveries WHERE status = 'pending'";
    for number in 0..1_100 {
        let copy = format!(
            "INSERT INTO deliveries (event_id, account_id, environment, number, type, task_id, status,
                tries, due_at, attempts, status_code, created_at, updated_at)
            SELECT '{number:032}', account_id, environment, number + 1 + {number}, type, task_id,
                'failed', 4, NULL, '[]', NULL, created_at, updated_at
            FROM deliveries WHERE status = 'delivered'"
        );
        app.database.execute(&copy).await;
    }
    let recover = format!("{LIST}/recover");
    let body = json!({"since": TestApp::NOON});
    let reply = dev.test.post(&recover, &body).await.expect(200);
    assert_eq!(reply, json!({"recovered": 500, "more": true}));
    assert_eq!(column(count).await, ["500"]);
    // One at a time: a second request is about the same.
    let again = dev.test.post(&recover, &body).await.expect(200);
    assert_eq!(again, json!({"recovered": 0, "more": true}));
    let jobs = "SELECT CAST(COUNT(*) AS TEXT) FROM jobs WHERE kind = 'recover_deliveries'";
    assert_eq!(column(jobs).await, ["1"]);
    let live = dev.live.post(&recover, &body).await.expect(200);
    assert_eq!(live, json!({"recovered": 0, "more": false}));
    let first = "SELECT CAST(MAX(number) AS TEXT) FROM deliveries WHERE status = 'pending'";
    assert_eq!(column(first).await, ["502"], "oldest first");
    // Those that fail after the question are not asked for.
    let late = "UPDATE deliveries SET updated_at = updated_at + 1 WHERE number = 1102";
    app.database.execute(late).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(column(count).await, ["1099"]);
    app.advance(Duration::from_millis(1));
    let done = dev.test.post(&recover, &body).await.expect(200);
    assert_eq!(done, json!({"recovered": 1, "more": false}));
}

async fn what_was_given_up_is_recovered_by_the_time_of_that(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let subscribe = json!(["task.funded"]);
    dev.put_webhook(&receiver.url("/"), subscribe.clone()).await;
    dev.create_task().await;
    app.advance(Duration::from_secs(2 * 60 * 60));
    let removed = dev
        .test
        .send("DELETE", "/v1/account/webhook", &[], "")
        .await;
    removed.expect(200);
    app.jobs.drain().await.unwrap();
    assert_eq!(deliveries(&dev, "?status=failed").await.len(), 1);
    dev.put_webhook(&receiver.url("/"), subscribe).await;
    let recover = format!("{LIST}/recover");
    let body = json!({"since": "2025-11-15T13:00:00Z"});
    let recovered = dev.test.post(&recover, &body).await.expect(200);
    assert_eq!(recovered, json!({"recovered": 1, "more": false}));
    app.webhooks.drain().await.unwrap();
    assert_eq!(receiver.received().len(), 1);
}

async fn what_failed_by_the_test_clock_is_recovered_by_it(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    receiver.answer(|_| Response::status(500));
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    dev.create_task().await;
    // Ten days pass in the test environment, and no moment elsewhere.
    let advance = json!({"advance_seconds": 10 * 24 * 60 * 60});
    let clock = "/v1/test_helpers/clock";
    dev.test.post(clock, &advance).await.expect(200);
    assert_eq!(deliveries(&dev, "?status=failed").await.len(), 1);
    receiver.answer(|_| Response::status(200));
    let recover = format!("{LIST}/recover");
    // It failed within the first day.
    for (since, recovered) in [("2025-11-18T12:00:00Z", 0), ("2025-11-15T12:30:00Z", 1)] {
        let body = json!({ "since": since });
        let reply = dev.test.post(&recover, &body).await.expect(200);
        assert_eq!(reply["recovered"], recovered, "{since}");
    }
    let future = json!({"since": "2025-11-26T12:00:00Z"});
    let refused = dev.test.post(&recover, &future).await;
    assert_eq!(refused.faulty_fields(), ["since"]);
}

async fn what_failed_before_the_test_clock_was_set_back_is_recovered(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    receiver.answer(|_| Response::status(500));
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    let clock = "/v1/test_helpers/clock";
    for advance in [24 * 60 * 60, 2 * 60 * 60] {
        let task = dev.create_task().await;
        let advance = json!({"advance_seconds": advance});
        dev.test.post(clock, &advance).await.expect(200);
        cancel(&dev, &task).await;
    }
    assert_eq!(deliveries(&dev, "?status=failed").await.len(), 2);
    dev.test.delete(clock).await.expect(200);
    let body = json!({"since": TestApp::NOON});
    let recover = format!("{LIST}/recover");
    let recovered = dev.test.post(&recover, &body).await.expect(200);
    assert_eq!(recovered, json!({"recovered": 2, "more": false}));
}

/// The clock is ahead, or was set back since.
async fn what_a_test_clock_has_left_is_given_up_with_the_webhook(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let clock = "/v1/test_helpers/clock";
    for set_back in [false, true] {
        let (dev, subscribe) = (app.developer().await, json!(["task.funded"]));
        dev.put_webhook(&receiver.url("/"), subscribe.clone()).await;
        let advance = json!({"advance_seconds": 24 * 60 * 60});
        dev.test.post(clock, &advance).await.expect(200);
        let task = dev.create_task().await;
        if set_back {
            cancel(&dev, &task).await;
            dev.test.delete(clock).await.expect(200);
        }
        dev.test.delete("/v1/account/webhook").await.expect(200);
        // What comes after is another webhook's.
        dev.put_webhook(&receiver.url("/"), subscribe).await;
        let later = dev.create_task().await;
        app.jobs.drain().await.unwrap();
        for (status, task) in [("failed", &task), ("pending", &later)] {
            let listed = deliveries(&dev, &format!("?status={status}")).await;
            let tasks: Vec<_> = listed.iter().map(|one| &one["task_id"]).collect();
            assert_eq!(tasks, [&task["id"]], "{status}");
        }
    }
}
