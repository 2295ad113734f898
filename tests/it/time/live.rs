//! Live tasks, when their time has come.

use std::time::Duration;

use serde_json::{Value, json};

use super::{history, status};
use crate::support::{Developer, GOOD_CARD, TestApp, Worker, on_both_engines, path, storefront};

on_both_engines!(
    an_unpaid_task_expires,
    a_deadline_that_passed_ends_a_task,
    nobody_accepts_a_task_whose_deadline_has_passed,
    a_task_without_a_deadline_is_open_for_thirty_days,
    an_assignment_that_is_not_started_goes_back,
    work_without_proof_goes_back_and_attempts_stay_used,
    an_unreviewed_proof_is_approved_and_paid,
    an_undecided_dispute_is_refunded,
    a_rejection_is_contested_in_time_or_never,
    a_test_task_stands_still,
    a_changed_deadline_counts,
    a_long_sleep_is_caught_up_with,
    many_processes_move_a_task_once,
);

const HOUR: Duration = Duration::from_secs(60 * 60);
const MOMENT: Duration = Duration::from_millis(1);

/// Nothing happens a moment before, and it happens at the moment itself.
async fn expect_at(app: &TestApp, dev: &Developer, task: &Value, after: Duration, then: &str) {
    let before = status(&dev.live, task).await;
    app.advance(after - MOMENT);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0);
    assert_eq!(status(&dev.live, task).await, before);
    app.advance(MOMENT);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    assert_eq!(status(&dev.live, task).await, then);
}

async fn settled(app: &TestApp) {
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}

async fn begun(app: &TestApp, dev: &Developer) -> (Value, Worker) {
    let task = dev.create_paid_task().await;
    let worker = app.ready_worker().await;
    worker.begin(&task).await;
    (task, worker)
}

async fn an_unpaid_task_expires(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    expect_at(&app, &dev, &task, HOUR * 24, "expired").await;
    let last = history(&dev.live, &task).await.pop().unwrap();
    assert_eq!(
        last,
        (
            "expired".into(),
            "clock".into(),
            "nobody paid in time".into()
        )
    );
    app.jobs.drain().await.unwrap();
    // Who pays now is too late; the processor says so, or gives it back.
    dev.live.pay(&secret, GOOD_CARD).await;
    settled(&app).await;
    assert_eq!(status(&dev.live, &task).await, "expired");
}

/// A live task with this deadline that is paid for, and how it was asked for.
async fn paid_until(dev: &Developer, deadline: &str) -> (Value, Value) {
    let mut body = storefront();
    body["deadline"] = deadline.into();
    let task = dev.live.post("/v1/tasks", &body).await.expect(201);
    dev.live
        .pay(task["payment_client_secret"].as_str().unwrap(), GOOD_CARD)
        .await;
    (body, task)
}

async fn a_deadline_that_passed_ends_a_task(app: TestApp) {
    let dev = app.developer().await;
    let (body, task) = paid_until(&dev, "2025-11-15T18:00:00Z").await;
    let worker = app.ready_worker().await;
    worker.begin(&task).await;
    expect_at(&app, &dev, &task, HOUR * 6, "expired").await;
    let refused = worker.act(&task, "release").await;
    refused.expect_error(409, "INVALID_TASK_STATE");
    settled(&app).await;
    // One that was in the past from the beginning goes at the next look.
    let late = dev.live.post("/v1/tasks", &body).await.expect(201);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    assert_eq!(status(&dev.live, &late).await, "expired");
    // While proof waits for its review, no deadline counts; once it is rejected, it does.
    let (_, task) = paid_until(&dev, "2025-11-15T20:00:00Z").await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "in time").await;
    app.advance(HOUR * 3);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0);
    dev.review(&task, &proof, "reject").await.expect(200);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    assert_eq!(status(&dev.live, &task).await, "expired");
    settled(&app).await;
}

async fn nobody_accepts_a_task_whose_deadline_has_passed(app: TestApp) {
    let dev = app.developer().await;
    let (_, task) = paid_until(&dev, "2025-11-15T18:00:00Z").await;
    let worker = app.ready_worker().await;
    // Nothing has looked at the clock since.
    app.advance(HOUR * 6);
    let refused = worker.act(&task, "accept").await;
    refused.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    assert_eq!(status(&dev.live, &task).await, "expired");
}

async fn a_task_without_a_deadline_is_open_for_thirty_days(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    expect_at(&app, &dev, &task, HOUR * 24 * 30, "expired").await;
    let history = dev.live.get(&format!("{}/history", path(&task))).await;
    let reason = "open for 30 days without being completed";
    assert_eq!(history.expect(200)["data"][3]["reason"], reason);
    settled(&app).await;
}

async fn an_assignment_that_is_not_started_goes_back(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    let worker = app.ready_worker().await;
    worker.act(&task, "accept").await.expect(200);
    expect_at(&app, &dev, &task, HOUR * 24, "posted").await;
    let posted = dev.live.get(&path(&task)).await.expect(200);
    for field in ["worker_id", "assigned_at", "started_at"] {
        assert_eq!(posted[field], json!(null), "{field}");
    }
    worker
        .act(&task, "start")
        .await
        .expect_error(404, "TASK_NOT_FOUND");
    app.ready_worker()
        .await
        .act(&task, "accept")
        .await
        .expect(200);
}

async fn work_without_proof_goes_back_and_attempts_stay_used(app: TestApp) {
    let dev = app.developer().await;
    let (task, _) = begun(&app, &dev).await;
    expect_at(&app, &dev, &task, HOUR * 72, "posted").await;
    let worker = app.ready_worker().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "one").await;
    dev.review(&task, &proof, "reject").await.expect(200);
    expect_at(&app, &dev, &task, HOUR * 72, "posted").await;
    let other = app.ready_worker().await;
    other.begin(&task).await;
    assert_eq!(other.prove(&task, "two").await["attempt_number"], 2);
}

async fn an_unreviewed_proof_is_approved_and_paid(app: TestApp) {
    let dev = app.developer().await;
    let (task, worker) = begun(&app, &dev).await;
    worker.prove(&task, "unseen").await;
    expect_at(&app, &dev, &task, HOUR * 24 * 7, "completed").await;
    let proofs = dev
        .live
        .get(&format!("{}/proofs", path(&task)))
        .await
        .expect(200);
    assert_eq!(proofs["data"][0]["status"], "approved");
    settled(&app).await;
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    assert_eq!(earnings["paid_cents"], 2100);
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(
        (&profile["completed_tasks"], &profile["approval_rate"]),
        (&json!(1), &json!(1.0))
    );
}

async fn an_undecided_dispute_is_refunded(app: TestApp) {
    let dev = app.developer().await;
    let (task, worker) = begun(&app, &dev).await;
    let proof = worker.prove(&task, "contested").await;
    dev.review(&task, &proof, "reject").await.expect(200);
    worker.act(&task, "dispute").await.expect(200);
    expect_at(&app, &dev, &task, HOUR * 24 * 30, "refunded").await;
    settled(&app).await;
    let queue = app
        .admin()
        .await
        .get("/v1/admin/queue?kind=dispute")
        .await
        .expect(200);
    assert_eq!(queue["data"], json!([]), "nobody has to decide any more");
}

async fn a_rejection_is_contested_in_time_or_never(app: TestApp) {
    let dev = app.developer().await;
    for (after, allowed) in [(HOUR * 72, true), (HOUR * 72 + MOMENT, false)] {
        let (task, worker) = begun(&app, &dev).await;
        let proof = worker.prove(&task, &format!("{allowed}")).await;
        dev.review(&task, &proof, "reject").await.expect(200);
        app.advance(after);
        let disputed = worker.act(&task, "dispute").await;
        if allowed {
            disputed.expect(200);
        } else {
            disputed.expect_error(409, "INVALID_TASK_STATE");
        }
    }
}

async fn a_test_task_stands_still(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let advance = format!(
        "/v1/test_helpers/tasks/{}/advance",
        task["id"].as_str().unwrap()
    );
    dev.test
        .post(&advance, &json!({"to": "proof_submitted"}))
        .await
        .expect(200);
    app.advance(HOUR * 24 * 400);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0);
    assert_eq!(status(&dev.test, &task).await, "proof_submitted");
}

async fn a_changed_deadline_counts(app: TestApp) {
    let dev = app.developer().await;
    let mut body = storefront();
    body["deadline"] = "2025-11-15T13:00:00Z".into();
    let task = dev.live.post("/v1/tasks", &body).await.expect(201);
    let later = json!({"deadline": "2025-11-15T14:00:00Z"});
    dev.live.patch(&path(&task), &later).await.expect(200);
    expect_at(&app, &dev, &task, HOUR * 2, "expired").await;
}

async fn a_long_sleep_is_caught_up_with(app: TestApp) {
    let dev = app.developer().await;
    let mut tasks = Vec::new();
    for _ in 0..120 {
        tasks.push(dev.create_live_task().await);
    }
    app.advance(HOUR * 24 * 7);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 120);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0);
    let expired = dev
        .live
        .get("/v1/tasks?status=expired&limit=1")
        .await
        .expect(200);
    assert_eq!(expired["meta"]["total"], 120);
}

async fn many_processes_move_a_task_once(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..20 {
        dev.create_live_task().await;
    }
    let other = TestApp::start(&app.database).await;
    app.advance(HOUR * 24);
    other.clock.move_to(app.clock.now());
    let moved = tokio::join!(app.scheduler.catch_up(), other.scheduler.catch_up());
    assert_eq!(moved.0.unwrap() + moved.1.unwrap(), 20);
    let events = dev
        .live
        .get("/v1/events?type=task.expired&limit=100")
        .await
        .expect(200);
    assert_eq!(events["data"].as_array().unwrap().len(), 20);
}
