//! The records of workers and developers: what counts, and what others are shown of it.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Developer, TestApp, Worker, on_both_engines, path};

on_both_engines!(
    outcomes_count_and_rejections_that_the_worker_won_do_not,
    a_rejection_that_the_worker_leaves_standing_counts,
    completions_at_once_are_all_counted,
    what_waits_for_others_is_not_in_hand,
    a_search_tells_attempts_left_and_when_a_task_is_due,
    a_search_tells_the_record_of_the_developer,
);

async fn decide(app: &TestApp, task: &Value, decision: Value) {
    let path = format!("/v1/admin/disputes/{}/decide", task["id"].as_str().unwrap());
    let decided = app.admin().await.post(&path, &decision).await;
    decided.expect(200);
}

async fn record(worker: &Worker) -> (Value, Value) {
    let profile = worker.client.get("/v1/worker").await.expect(200);
    (
        profile["completed_tasks"].clone(),
        profile["approval_rate"].clone(),
    )
}

async fn rejected(dev: &Developer, worker: &Worker) -> Value {
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, &task["id"].to_string()).await;
    dev.review(&task, &proof, "reject").await.expect(200);
    task
}

async fn disputed(dev: &Developer, worker: &Worker) -> Value {
    let task = rejected(dev, worker).await;
    worker.act(&task, "dispute").await.expect(200);
    task
}

async fn approved(dev: &Developer, worker: &Worker) {
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, &task["id"].to_string()).await;
    dev.review(&task, &proof, "approve").await.expect(200);
}

async fn outcomes_count_and_rejections_that_the_worker_won_do_not(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    assert_eq!(record(&worker).await, (json!(0), Value::Null));
    let task = disputed(&dev, &worker).await;
    assert_eq!(record(&worker).await, (json!(0), Value::Null), "undecided");
    decide(&app, &task, json!({"decision": "pay"})).await;
    assert_eq!(record(&worker).await, (json!(1), json!(1.0)));
    let task = disputed(&dev, &worker).await;
    let split = json!({"decision": "split", "paid_cents": 1000});
    decide(&app, &task, split).await;
    assert_eq!(record(&worker).await, (json!(2), json!(1.0)));

    // Approved at the second attempt.
    let task = rejected(&dev, &worker).await;
    let proof = worker.prove(&task, "again").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    assert_eq!(record(&worker).await, (json!(3), json!(1.0)));

    let task = disputed(&dev, &worker).await;
    decide(&app, &task, json!({"decision": "refund"})).await;
    assert_eq!(record(&worker).await, (json!(3), json!(0.75)));
}

async fn a_rejection_that_the_worker_leaves_standing_counts(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    approved(&dev, &worker).await;
    let unjudged = dev.create_paid_task().await;
    worker.begin(&unjudged).await;
    worker.act(&unjudged, "release").await.expect(200);
    assert_eq!(record(&worker).await, (json!(1), json!(1.0)), "not judged");
    let task = rejected(&dev, &worker).await;
    assert_eq!(record(&worker).await, (json!(1), json!(1.0)), "not final");
    worker.act(&task, "release").await.expect(200);
    assert_eq!(record(&worker).await, (json!(1), json!(0.5)));
    // Who takes the task over has a record of their own.
    let other = app.ready_worker().await;
    other.begin(&task).await;
    let proof = other.prove(&task, "other").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    assert_eq!(record(&other).await, (json!(1), json!(1.0)));
    assert_eq!(record(&worker).await, (json!(1), json!(0.5)));
}

async fn completions_at_once_are_all_counted(app: TestApp) {
    let second = TestApp::start(&app.database).await;
    let worker = app.ready_worker().await;
    let mut reviews = Vec::new();
    for server in [&app, &second, &app, &second, &app] {
        let dev = server.developer().await;
        let task = dev.create_paid_task().await;
        worker.begin(&task).await;
        let proof = worker.prove(&task, &task["id"].to_string()).await;
        reviews.push((dev, task, proof));
    }
    let replies = reviews.iter().enumerate().map(|(number, review)| {
        let (dev, task, proof) = review;
        let verdict = if number == 0 { "reject" } else { "approve" };
        dev.review(task, proof, verdict)
    });
    for reply in join_all(replies).await {
        reply.expect(200);
    }
    worker.act(&reviews[0].1, "release").await.expect(200);
    assert_eq!(record(&worker).await, (json!(4), json!(0.8)));
}

async fn what_waits_for_others_is_not_in_hand(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    // Three that wait for the developer, and one that waits for an admin.
    disputed(&dev, &worker).await;
    let mut submitted = Vec::new();
    for seed in ["one", "two", "three"] {
        let task = dev.create_paid_task().await;
        worker.begin(&task).await;
        submitted.push((worker.prove(&task, seed).await, task));
    }
    for _ in 0..5 {
        let task = dev.create_paid_task().await;
        worker.act(&task, "accept").await.expect(200);
    }
    let sixth = dev.create_paid_task().await;
    let refused = worker.act(&sixth, "accept").await;
    assert!(refused.text.contains("5 open tasks"), "{}", refused.text);
    refused.expect_error(403, "WORKER_NOT_ELIGIBLE");
    // A rejected proof waits for the worker again.
    let own = worker.client.get("/v1/worker/tasks").await.expect(200);
    let tasks = own["data"].as_array().unwrap().iter();
    let mut accepted = tasks.filter(|task| task["status"] == "assigned");
    let first = accepted.next().unwrap();
    worker.act(first, "release").await.expect(200);
    let (proof, task) = &submitted[0];
    dev.review(task, proof, "reject").await.expect(200);
    let refused = worker.act(&sixth, "accept").await;
    refused.expect_error(403, "WORKER_NOT_ELIGIBLE");
    worker.act(task, "dispute").await.expect(200);
    worker.act(&sixth, "accept").await.expect(200);
}

async fn available(worker: &Worker) -> Vec<Value> {
    let found = worker.client.get("/v1/worker/available_tasks").await;
    found.expect(200)["data"].as_array().unwrap().clone()
}

async fn a_search_tells_attempts_left_and_when_a_task_is_due(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = rejected(&dev, &worker).await;
    worker.act(&task, "release").await.expect(200);
    let found = available(&app.ready_worker().await).await;
    assert_eq!(found[0]["id"], task["id"]);
    assert_eq!(found[0]["attempts_left"], 2);
    assert_eq!(found[0]["due_at"], "2025-12-15T12:00:00.000Z");
    let mut body = crate::support::storefront();
    body["deadline"] = json!("2025-11-20T18:00:00.000Z");
    let created = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, crate::support::GOOD_CARD).await;
    let found = available(&worker).await;
    let found = found.iter().find(|found| found["id"] == created["id"]);
    let found = found.unwrap();
    assert_eq!(found["attempts_left"], 3);
    assert_eq!(found["due_at"], "2025-11-20T18:00:00.000Z");
}

async fn a_search_tells_the_record_of_the_developer(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let told = async |dev: &Developer| {
        let task = dev.create_paid_task().await;
        let found = available(&worker).await;
        let found = found.iter().find(|found| found["id"] == task["id"]);
        let found = found.unwrap().clone();
        dev.live
            .post(&format!("{}/cancel", path(&task)), &json!({}))
            .await
            .expect(200);
        found
    };
    for _ in 0..3 {
        approved(&dev, &worker).await;
    }
    let lost = disputed(&dev, &worker).await;
    let before = told(&dev).await;
    assert_eq!(before["developer"], Value::Null, "too little to tell");
    decide(&app, &lost, json!({"decision": "pay"})).await;
    // This one waits for its review for 30 hours, and its rejection stands.
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "slow").await;
    app.set_time("2025-11-16T18:00:00.000Z");
    dev.review(&task, &proof, "reject").await.expect(200);
    worker.act(&task, "release").await.expect(200);
    let after = told(&dev).await;
    let expected = json!({"tasks_completed": 4, "approval_share": 0.6, "median_review_hours": 1});
    assert_eq!(after["developer"], expected);
    assert!(!after.to_string().contains(&dev.account_id));
    // Another developer has another record, and test tasks count for none.
    let new = app.developer().await;
    assert_eq!(told(&new).await["developer"], Value::Null);
    for _ in 0..6 {
        let task = new.create_task().await;
        let id = task["id"].as_str().unwrap();
        let advance = format!("/v1/test_helpers/tasks/{id}/advance");
        let body = json!({"to": "completed"});
        new.test.post(&advance, &body).await.expect(200);
    }
    assert_eq!(told(&new).await["developer"], Value::Null);
}
