//! Workers read why their proof was rejected, how many attempts are left, and what time will do.

use serde_json::{Value, json};

use crate::support::{Developer, TestApp, Worker, on_both_engines, path};

on_both_engines!(
    a_worker_reads_why_each_attempt_was_rejected,
    each_worker_sees_their_own_attempts_alone,
    a_task_tells_what_is_due_and_what_happens_then,
    moves_answer_with_what_is_due,
);

fn own(task: &Value) -> String {
    format!("/v1/worker/tasks/{}", task["id"].as_str().unwrap())
}

async fn read(worker: &Worker, task: &Value) -> Value {
    worker.client.get(&own(task)).await.expect(200)
}

async fn own_proofs(worker: &Worker, task: &Value) -> Value {
    let path = format!("{}/proofs", own(task));
    worker.client.get(&path).await.expect(200)
}

async fn reject(dev: &Developer, task: &Value, proof: &Value, reason: &str) {
    let id = proof["id"].as_str().unwrap();
    let reject = format!("{}/proofs/{id}/reject", path(task));
    let body = json!({"reason": reason});
    dev.live.post(&reject, &body).await.expect(200);
}

async fn a_worker_reads_why_each_attempt_was_rejected(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    assert_eq!(own_proofs(&worker, &task).await["data"], json!([]));
    let fresh = read(&worker, &task).await;
    assert_eq!(fresh["attempts_used"], 0);
    assert_eq!(fresh["attempts_left"], 3);
    assert_eq!(fresh["last_rejection_reason"], Value::Null);

    let first = worker.prove(&task, "one").await;
    reject(&dev, &task, &first, "Too dark.").await;
    let second = worker.prove(&task, "two").await;
    let waiting = read(&worker, &task).await;
    assert_eq!(waiting["last_rejection_reason"], "Too dark.");
    reject(&dev, &task, &second, "The door is cut off.").await;

    let seen = read(&worker, &task).await;
    assert_eq!(seen["attempts_used"], 2);
    assert_eq!(seen["attempts_left"], 1);
    assert_eq!(seen["last_rejection_reason"], "The door is cut off.");
    let listed = worker.client.get("/v1/worker/tasks").await.expect(200);
    assert_eq!(listed["data"][0], seen, "the list tells the same");

    let list = own_proofs(&worker, &task).await;
    assert_eq!(list["meta"], json!({"total": 2, "limit": 20, "offset": 0}));
    let told: Vec<_> = list["data"].as_array().unwrap().iter().collect();
    for (proof, (attempt, reason)) in told
        .iter()
        .zip([(1, "Too dark."), (2, "The door is cut off.")])
    {
        assert_eq!(proof["attempt_number"], attempt);
        assert_eq!(proof["status"], "rejected");
        assert_eq!(proof["rejection_reason"], reason);
        assert_eq!(proof["reviewed_at"], TestApp::NOON);
        assert!(proof["file_url"].is_string(), "{proof}");
    }
    let of_developer = dev.live.get(&format!("{}/proofs", path(&task))).await;
    let fields = |proof: &Value| -> Vec<String> {
        let fields = proof.as_object().unwrap().keys();
        fields.cloned().collect()
    };
    let of_developer = of_developer.expect(200);
    assert_eq!(fields(told[0]), fields(&of_developer["data"][0]));
    let page = format!("{}/proofs?limit=1&offset=1", own(&task));
    let page = worker.client.get(&page).await.expect(200);
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    assert_eq!(page["data"][0]["attempt_number"], 2);
    let wrong = format!("{}/proofs?limit=0", own(&task));
    let wrong = worker.client.get(&wrong).await;
    wrong.expect_error(400, "VALIDATION_ERROR");
}

async fn each_worker_sees_their_own_attempts_alone(app: TestApp) {
    let dev = app.developer().await;
    let (first, second) = (app.ready_worker().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    first.begin(&task).await;
    let proof = first.prove(&task, "one").await;
    reject(&dev, &task, &proof, "Too dark.").await;
    let released = first.act(&task, "release").await.expect(200);
    assert_eq!(released["last_rejection_reason"], "Too dark.");
    let accepted = second.act(&task, "accept").await.expect(200);
    assert_eq!(accepted["attempts_left"], 2);
    assert_eq!(accepted["last_rejection_reason"], Value::Null);
    assert_eq!(own_proofs(&second, &task).await["data"], json!([]));
    second.act(&task, "start").await.expect(200);
    second.prove(&task, "two").await;

    let attempts = |list: &Value| -> Vec<Value> {
        let proofs = list["data"].as_array().unwrap().iter();
        proofs
            .map(|proof| proof["attempt_number"].clone())
            .collect()
    };
    assert_eq!(attempts(&own_proofs(&first, &task).await), [json!(1)]);
    assert_eq!(attempts(&own_proofs(&second, &task).await), [json!(2)]);
    let gone = first.client.get(&own(&task)).await;
    gone.expect_error(404, "TASK_NOT_FOUND");
    let stranger = app.ready_worker().await;
    let hidden = stranger.client.get(&format!("{}/proofs", own(&task))).await;
    hidden.expect_error(404, "TASK_NOT_FOUND");
}

async fn a_task_tells_what_is_due_and_what_happens_then(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    let due = async || {
        let task = read(&worker, &task).await;
        (task["due_at"].clone(), task["due_action"].clone())
    };
    let at = |time: &str, action: &str| (json!(time), json!(action));
    worker.act(&task, "accept").await.expect(200);
    assert_eq!(due().await, at("2025-11-16T12:00:00.000Z", "released"));
    worker.act(&task, "start").await.expect(200);
    assert_eq!(due().await, at("2025-11-18T12:00:00.000Z", "released"));
    let proof = worker.prove(&task, "one").await;
    assert_eq!(due().await, at("2025-11-22T12:00:00.000Z", "completed"));
    reject(&dev, &task, &proof, "Too dark.").await;
    worker.act(&task, "dispute").await.expect(200);
    assert_eq!(due().await, at("2025-12-15T12:00:00.000Z", "refunded"));
    let decide = format!("/v1/admin/disputes/{}/decide", task["id"].as_str().unwrap());
    let pay = json!({"decision": "pay"});
    app.admin().await.post(&decide, &pay).await.expect(200);
    assert_eq!(due().await, (Value::Null, Value::Null));
}

async fn moves_answer_with_what_is_due(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let mut body = crate::support::storefront();
    body["deadline"] = json!("2025-11-15T18:00:00.000Z");
    let task = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = task["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, crate::support::GOOD_CARD).await;
    let accepted = worker.act(&task, "accept").await.expect(200);
    assert_eq!(accepted["due_at"], "2025-11-15T18:00:00.000Z");
    assert_eq!(accepted["due_action"], "expired");
}
