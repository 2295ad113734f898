//! A worker is suspended: what others take over, and what was earned.

use legwork::domain::{Actor, Worker as Person, WorkerId};
use legwork::usecases;
use legwork::usecases::UseCaseError;
use serde_json::{Value, json};

use super::{found, ids};
use crate::support::{Client, TestApp, Worker, on_both_engines, path};

on_both_engines!(
    open_tasks_go_to_others_and_earnings_are_held,
    a_rejected_proof_is_not_tried_again,
    a_worker_becomes_what_it_was,
    accepts_that_race_leave_no_task_behind,
);

async fn suspend(app: &TestApp, worker: &Worker) -> Value {
    let path = format!("/v1/admin/workers/{}/suspend", worker.id);
    let suspended = app.admin().await.post(&path, &json!({})).await.expect(200);
    assert_eq!(suspended["status"], "suspended");
    suspended
}

async fn restore(app: &TestApp, worker: &Worker) -> Result<Person, UseCaseError> {
    let (id, now) = (WorkerId::parse(&worker.id).unwrap(), app.clock.now());
    app.store
        .write(move |tx| usecases::restore_worker(tx, id, &Actor::COMMAND_LINE, now))
        .await
}

async fn status(client: &Client, task: &Value) -> Value {
    client.get(&path(task)).await.expect(200)["status"].clone()
}

async fn open_tasks_go_to_others_and_earnings_are_held(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let (worker, heir) = (app.ready_worker().await, app.ready_worker().await);
    let assigned = other.create_paid_task().await;
    let begun = dev.create_paid_task().await;
    let rejected = dev.create_paid_task().await;
    let submitted = dev.create_paid_task().await;
    let disputed = dev.create_paid_task().await;
    worker.act(&assigned, "accept").await.expect(200);
    for task in [&begun, &rejected, &submitted, &disputed] {
        worker.begin(task).await;
    }
    for task in [&rejected, &disputed] {
        let proof = worker.prove(task, &task["id"].to_string()).await;
        dev.review(task, &proof, "reject").await.expect(200);
    }
    worker.act(&disputed, "dispute").await.expect(200);
    let proof = worker.prove(&submitted, "good").await;
    suspend(&app, &worker).await;
    assert_eq!(status(&other.live, &assigned).await, "posted");
    for (task, expected) in [
        (&begun, "posted"),
        (&rejected, "posted"),
        (&submitted, "proof_submitted"),
        (&disputed, "disputed"),
    ] {
        assert_eq!(status(&dev.live, task).await, expected);
    }
    let reasons = "SELECT made_by || ': ' || reason FROM task_moves
        WHERE to_status = 'posted' AND reason IS NOT NULL";
    assert_eq!(
        ids(&app, reasons).await,
        ["admin: the worker was suspended"; 3]
    );
    assert_eq!(found(&heir).await.len(), 3);
    heir.begin(&rejected).await;
    // The worker still sees what was earned, which is held; and takes nothing more.
    let signed_out = worker.client.get("/v1/worker").await;
    signed_out.expect_error(401, "UNAUTHORIZED");
    let worker = worker.signed_in_again(&app).await;
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["status"], "suspended");
    let refused = worker.act(&begun, "accept").await;
    refused.expect_error(403, "ACCOUNT_SUSPENDED");
    let refused = worker.act(&begun, "start").await;
    refused.expect_error(404, "TASK_NOT_FOUND");
    dev.review(&submitted, &proof, "approve").await.expect(200);
    app.jobs.drain().await.unwrap();
    let earnings = async || worker.client.get("/v1/worker/earnings").await.expect(200);
    let held = earnings().await;
    assert_eq!(
        (&held["paid_cents"], &held["balance_cents"]),
        (&json!(0), &json!(2100))
    );
    assert_eq!(held["payouts"][0]["status"], "held");
    assert_eq!(held["payouts"][0]["held_reason"], "worker_suspended");
    restore(&app, &worker).await.unwrap();
    app.jobs.drain().await.unwrap();
    let paid = earnings().await;
    assert_eq!(
        (&paid["paid_cents"], &paid["balance_cents"]),
        (&json!(2100), &json!(0))
    );
    TestApp::expect_settled(&app.verify().await);
}

async fn a_rejected_proof_is_not_tried_again(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "one").await;
    suspend(&app, &worker).await;
    let worker = worker.signed_in_again(&app).await;
    dev.review(&task, &proof, "reject").await.expect(200);
    let photo = crate::support::photo("two");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let refused = worker.send_proof(&task, &parts).await;
    refused.expect_error(403, "ACCOUNT_SUSPENDED");
    // That it was not good enough can still be contested, and the task given back.
    worker.act(&task, "release").await.expect(200);
    assert_eq!(status(&dev.live, &task).await, "posted");
}

async fn a_worker_becomes_what_it_was(app: TestApp) {
    let (verified, new) = (app.ready_worker().await, app.sign_up(&[]).await);
    let refused = restore(&app, &new).await;
    assert!(matches!(
        refused,
        Err(UseCaseError::InvalidWorkerState { .. })
    ));
    let profile = async |worker: &Worker| worker.client.get("/v1/worker").await.expect(200);
    let since = "SELECT CAST(verified_at AS TEXT) FROM workers WHERE verified_at IS NOT NULL";
    let before = ids(&app, since).await;
    app.advance(std::time::Duration::from_secs(60));
    for worker in [&verified, &new] {
        suspend(&app, worker).await;
        restore(&app, worker).await.unwrap();
    }
    let verified = verified.signed_in_again(&app).await;
    let new = new.signed_in_again(&app).await;
    assert_eq!(profile(&verified).await["status"], "verified");
    assert_eq!(ids(&app, since).await, before);
    assert_eq!(profile(&new).await["status"], "unverified");
    let task = app.developer().await.create_paid_task().await;
    let refused = new.act(&task, "accept").await;
    refused.expect_error(403, "WORKER_NOT_ELIGIBLE");
    verified.act(&task, "accept").await.expect(200);
}

/// On two servers, with tasks of two developers.
async fn accepts_that_race_leave_no_task_behind(app: TestApp) {
    let developers = [app.developer().await, app.developer().await];
    let second = TestApp::start(&app.database).await;
    let mut worker = app.ready_worker().await;
    let in_hand = "SELECT id FROM tasks WHERE worker_id IS NOT NULL";
    for round in 0..15 {
        let first = developers[0].create_paid_task().await;
        let wanted = developers[1].create_paid_task().await;
        worker.act(&first, "accept").await.expect(200);
        let (accepted, started, _) = tokio::join!(
            worker.act(&wanted, "accept"),
            worker.act(&first, "start"),
            suspend(&second, &worker),
        );
        // The suspension also revokes the token.
        if accepted.status != 200 && accepted.status != 401 {
            accepted.expect_error(403, "ACCOUNT_SUSPENDED");
        }
        if started.status != 200 && started.status != 401 {
            started.expect_error(404, "TASK_NOT_FOUND");
        }
        assert_eq!(ids(&app, in_hand).await, Vec::<String>::new(), "{round}");
        restore(&second, &worker).await.unwrap();
        worker = worker.signed_in_again(&app).await;
    }
    assert_eq!(app.verify().await.differences, Vec::<String>::new());
}
