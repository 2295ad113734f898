//! Workers take tasks and do them; developers decide; money moves.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Client, TestApp, on_both_engines, path};

on_both_engines!(
    a_task_is_done_from_accept_to_payout,
    of_many_who_accept_one_gets_it,
    who_is_not_eligible_is_told_why,
    a_worker_has_five_tasks_at_most,
    a_task_is_given_back_and_taken_by_another,
    a_rejection_can_be_disputed_in_time,
    others_tasks_are_not_found,
);

async fn status(client: &Client, task: &Value) -> Value {
    client.get(&path(task)).await.expect(200)["status"].clone()
}

async fn a_task_is_done_from_accept_to_payout(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    let accepted = worker.act(&task, "accept").await.expect(200);
    assert_eq!(accepted["status"], "assigned");
    assert_eq!(accepted["location_latitude"], 40.7163);
    worker.act(&task, "start").await.expect(200);
    let proof = worker.prove(&task, "one").await;
    assert_eq!(proof["status"], "pending");
    let approved = dev.review(&task, &proof, "approve").await.expect(200);
    assert_eq!(approved["status"], "approved");
    assert_eq!(approved["task"]["status"], "completed");
    assert_eq!(approved["task"]["completed_at"], TestApp::NOON);
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    assert_eq!(earnings["balance_cents"], 2100);
    assert_eq!(earnings["payouts"][0]["status"], "pending");
    assert_eq!(earnings["payouts"][0]["pending_cents"], 2100);
    app.jobs.drain().await.unwrap();
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    assert_eq!(earnings["balance_cents"], 0);
    assert_eq!(earnings["paid_cents"], 2100);
    assert_eq!(earnings["payouts"][0]["status"], "paid");
    assert_eq!(earnings["payouts"][0]["paid_cents"], 2100);
    assert_eq!(earnings["payouts"][0]["pending_cents"], 0);
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["completed_tasks"], 1);
    assert_eq!(profile["approval_rate"], 1.0);
    let own = worker.client.get("/v1/worker/tasks").await.expect(200);
    assert_eq!(own["meta"]["total"], 1);
    assert_eq!(own["data"][0]["status"], "completed");
    TestApp::expect_settled(&app.verify().await);
}

/// On two servers, each with connections of its own to the database.
async fn of_many_who_accept_one_gets_it(app: TestApp) {
    let dev = app.developer().await;
    let second = TestApp::start(&app.database).await;
    let mut workers = Vec::new();
    for server in [&app, &second, &app, &second, &app, &second] {
        workers.push(server.ready_worker().await);
    }
    for _ in 0..4 {
        let task = dev.create_paid_task().await;
        let tries = workers.iter().flat_map(|worker| [worker, worker]);
        let replies = join_all(tries.map(|worker| worker.act(&task, "accept"))).await;
        let won = replies.iter().filter(|reply| reply.status == 200).count();
        let lost = replies.iter().filter(|reply| reply.status == 409).count();
        assert_eq!((won, lost), (1, 11));
    }
}

async fn who_is_not_eligible_is_told_why(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&["driving"]).await;
    let mut body = crate::support::storefront();
    body["required_skills"] = json!(["driving", "notary"]);
    let created = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, crate::support::GOOD_CARD).await;
    let not_verified = worker.act(&created, "accept").await;
    assert!(not_verified.text.contains("not verified"));
    not_verified.expect_error(403, "WORKER_NOT_ELIGIBLE");
    let verify = format!("/v1/admin/workers/{}/verify", worker.id);
    app.admin()
        .await
        .post(&verify, &json!({}))
        .await
        .expect(200);
    let lacks = worker.act(&created, "accept").await;
    assert!(lacks.text.contains("skill"));
    lacks.expect_error(403, "WORKER_NOT_ELIGIBLE");
    let learn = json!({"skills": ["driving", "notary"]});
    worker.client.patch("/v1/worker", &learn).await.expect(200);
    let unconfirmed = worker.act(&created, "accept").await;
    assert!(unconfirmed.text.contains("not confirmed"));
    unconfirmed.expect_error(403, "WORKER_NOT_ELIGIBLE");
    worker.confirm(&app, &["notary"]).await;
    let unpayable = worker.act(&created, "accept").await;
    assert!(unpayable.text.contains("payout account"));
    unpayable.expect_error(403, "WORKER_NOT_ELIGIBLE");
    worker.onboard(&app).await;
    worker.act(&created, "accept").await.expect(200);
}

async fn a_worker_has_five_tasks_at_most(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let mut tasks = Vec::new();
    for _ in 0..7 {
        tasks.push(dev.create_paid_task().await);
    }
    let replies = join_all(tasks.iter().map(|task| worker.act(task, "accept"))).await;
    let won = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(won, 5);
    let refused = replies.iter().filter(|reply| reply.status == 403).count();
    assert_eq!(refused, 2);
}

async fn a_task_is_given_back_and_taken_by_another(app: TestApp) {
    let dev = app.developer().await;
    let (first, second) = (app.ready_worker().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    first.begin(&task).await;
    let released = first.act(&task, "release").await.expect(200);
    assert_eq!(released["status"], "posted");
    let seen = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(seen["worker_id"], Value::Null);
    assert_eq!(seen["assigned_at"], Value::Null);
    let gone = first.act(&task, "start").await;
    gone.expect_error(404, "TASK_NOT_FOUND");
    second.begin(&task).await;
    let taken = first.act(&task, "accept").await;
    taken.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(status(&dev.live, &task).await, "in_progress");
}

async fn a_rejection_can_be_disputed_in_time(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let (early, late) = (dev.create_paid_task().await, dev.create_paid_task().await);
    for task in [&early, &late] {
        worker.begin(task).await;
        let proof = worker.prove(task, &task["id"].to_string()).await;
        let rejected = dev.review(task, &proof, "reject").await.expect(200);
        assert_eq!(rejected["task"]["attempts_remaining"], 2);
    }
    app.set_time("2025-11-18T12:00:00.000Z");
    let dispute =
        |task: &Value| format!("/v1/worker/tasks/{}/dispute", task["id"].as_str().unwrap());
    let statement = json!({"statement": "It is bright enough."});
    let disputed = worker.client.post(&dispute(&early), &statement).await;
    assert_eq!(disputed.expect(200)["status"], "disputed");
    app.set_time("2025-11-18T12:00:00.001Z");
    let refused = worker.client.post(&dispute(&late), &statement).await;
    refused.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(status(&dev.live, &late).await, "proof_rejected");
    let queue = app.admin().await.get("/v1/admin/queue?kind=dispute").await;
    let queue = queue.expect(200);
    let item = format!(
        "/v1/admin/queue/{}",
        queue["data"][0]["id"].as_str().unwrap()
    );
    let item = app.admin().await.get(&item).await.expect(200);
    assert_eq!(item["dispute"]["statement"], "It is bright enough.");
    assert_eq!(queue["data"].as_array().unwrap().len(), 1);
}

async fn others_tasks_are_not_found(app: TestApp) {
    let dev = app.developer().await;
    let (owner, other) = (app.ready_worker().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    let pending = dev.create_live_task().await;
    let test = dev.create_task().await;
    owner.begin(&task).await;
    for action in ["start", "release", "dispute"] {
        let reply = other.act(&task, action).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
    for hidden in [&pending, &test] {
        let reply = other.act(hidden, "accept").await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
    let own = format!("/v1/worker/tasks/{}", task["id"].as_str().unwrap());
    owner.client.get(&own).await.expect(200);
    other
        .client
        .get(&own)
        .await
        .expect_error(404, "TASK_NOT_FOUND");
}
