//! Test helpers: a test task is walked through its life.

use serde_json::{Value, json};

use crate::support::{Developer, Reply, TestApp, on_both_engines, path, photo};

on_both_engines!(
    a_test_task_is_walked_to_its_end,
    every_status_can_be_reached,
    a_helper_that_cannot_advance_says_where_it_can,
    the_simulated_worker_is_nobody_else,
    proof_is_submitted_as_the_simulated_worker,
    live_keys_get_no_help,
);

async fn advance(dev: &Developer, task: &Value, body: Value) -> Reply {
    let id = task["id"].as_str().unwrap();
    let path = format!("/v1/test_helpers/tasks/{id}/advance");
    dev.test.post(&path, &body).await
}

async fn a_test_task_is_walked_to_its_end(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    for status in ["posted", "assigned", "in_progress", "proof_submitted"] {
        let moved = advance(&dev, &task, json!({})).await.expect(200);
        assert_eq!(moved["status"], status);
    }
    let stuck = advance(&dev, &task, json!({})).await;
    stuck.expect_error(409, "INVALID_TASK_STATE");
    let list = dev
        .test
        .get(&format!("{}/proofs", path(&task)))
        .await
        .expect(200);
    let proof = &list["data"][0];
    assert_eq!(proof["geo_valid"], true);
    let approve = format!(
        "{}/proofs/{}/approve",
        path(&task),
        proof["id"].as_str().unwrap()
    );
    dev.test.post(&approve, &json!({})).await.expect(200);
    let done = dev.test.get(&path(&task)).await.expect(200);
    assert_eq!(done["status"], "completed");
    let ledger = dev.test.get(&format!("{}/ledger", path(&task))).await;
    assert_eq!(ledger.expect(200)["meta"]["total"], 2);
    assert_eq!(app.jobs.drain().await.unwrap(), 0);
    TestApp::expect_settled(&app.verify().await);
}

async fn every_status_can_be_reached(app: TestApp) {
    let dev = app.developer().await;
    for status in [
        "posted",
        "assigned",
        "in_progress",
        "proof_submitted",
        "proof_rejected",
        "completed",
        "cancelled",
        "expired",
        "disputed",
        "refunded",
    ] {
        let task = dev.create_task().await;
        let moved = advance(&dev, &task, json!({"to": status}))
            .await
            .expect(200);
        assert_eq!(moved["status"], status);
        let again = advance(&dev, &task, json!({"to": status})).await;
        again.expect_error(409, "INVALID_TASK_STATE");
        let back = advance(&dev, &task, json!({"to": "pending"})).await;
        back.expect_error(409, "INVALID_TASK_STATE");
    }
    let task = dev.create_task().await;
    let faulty = advance(&dev, &task, json!({"to": "done"})).await;
    assert_eq!(faulty.faulty_fields(), ["to"]);
    TestApp::expect_settled(&app.verify().await);
}

async fn a_helper_that_cannot_advance_says_where_it_can(app: TestApp) {
    let dev = app.developer().await;
    let refused = async |task: &Value, body: Value| {
        let reply = advance(&dev, task, body).await;
        let error = reply.expect_error(409, "INVALID_TASK_STATE").body["error"].clone();
        error["message"].as_str().unwrap().to_owned()
    };
    let task = dev.create_task().await;
    let possible = "it can be advanced to posted, expired, cancelled, assigned, in_progress, \
        proof_submitted, completed, proof_rejected, disputed, refunded";
    assert_eq!(
        refused(&task, json!({"to": "funded"})).await,
        format!(
            "a task that is funded cannot be advanced to funded: it is there already; {possible}"
        )
    );
    assert_eq!(
        refused(&task, json!({"to": "pending"})).await,
        format!("a task that is funded cannot be advanced to pending; {possible}")
    );
    advance(&dev, &task, json!({"to": "proof_submitted"}))
        .await
        .expect(200);
    let message = refused(&task, json!({})).await;
    assert!(
        message.starts_with("a task that is proof_submitted has no next step; it can be advanced"),
        "{message}"
    );
    advance(&dev, &task, json!({"to": "completed"}))
        .await
        .expect(200);
    assert_eq!(
        refused(&task, json!({"to": "expired"})).await,
        "a task that is completed cannot be advanced to expired; there is no status that it can be \
         advanced to"
    );
}

async fn the_simulated_worker_is_nobody_else(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let task = dev.create_task().await;
    let moved = advance(&dev, &task, json!({"to": "in_progress"})).await;
    let worker = moved.expect(200)["worker_id"].clone();
    assert_ne!(worker, dev.account_id);
    let next = dev.create_task().await;
    let moved = advance(&dev, &next, json!({"to": "assigned"})).await;
    assert_eq!(moved.expect(200)["worker_id"], worker, "the same one");
    let others = other.create_task().await;
    let moved = advance(&other, &others, json!({"to": "assigned"})).await;
    assert_ne!(moved.expect(200)["worker_id"], worker);
    let submit = format!(
        "/v1/test_helpers/tasks/{}/proofs",
        task["id"].as_str().unwrap()
    );
    let here = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595});
    let sent = dev.test.post(&submit, &here).await.expect(201);
    assert_eq!(sent["data"][0]["worker_id"], worker);
    let moved = advance(&dev, &task, json!({"to": "disputed"})).await;
    moved.expect(200);
    let history = dev.test.get(&format!("{}/history", path(&task))).await;
    let history = history.expect(200)["data"].clone();
    let by = |place: usize| history[place]["by"]["type"].clone();
    assert_eq!((by(0), by(1)), (json!("developer"), json!("processor")));
    for place in 2..history.as_array().unwrap().len() {
        let expected = json!({"type": "simulated_worker", "id": worker});
        assert_eq!(history[place]["by"], expected, "{history}");
    }
}

async fn proof_is_submitted_as_the_simulated_worker(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let id = task["id"].as_str().unwrap();
    let submit = format!("/v1/test_helpers/tasks/{id}/proofs");
    let here = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595});
    let early = dev.test.post(&submit, &here).await;
    early.expect_error(409, "INVALID_TASK_STATE");
    advance(&dev, &task, json!({"to": "in_progress"}))
        .await
        .expect(200);
    let without = dev.test.post(&submit, &json!({})).await;
    assert_eq!(without.faulty_fields(), ["gps_latitude", "gps_longitude"]);
    let far = json!({"gps_latitude": 41, "gps_longitude": -73.9595, "types": ["photo"]});
    let sent = dev.test.post(&submit, &far).await.expect(201);
    assert_eq!(sent["data"][0]["geo_valid"], false);
    let proof = sent["data"][0]["id"].as_str().unwrap();
    let reject = format!("{}/proofs/{proof}/reject", path(&task));
    let reason = json!({"reason": "Wrong place."});
    dev.test.post(&reject, &reason).await.expect(200);
    let photo = photo("mine");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let sent = dev.test.send_form(&submit, &parts).await.expect(201);
    assert_eq!(sent["data"][0]["attempt_number"], 2);
    assert_eq!(sent["data"][0]["geo_valid"], true);
    let queue = app.admin().await.get("/v1/admin/queue").await.expect(200);
    assert_eq!(queue["data"], json!([]), "test proofs are not reviewed");
}

async fn live_keys_get_no_help(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_live_task().await;
    let id = task["id"].as_str().unwrap();
    for what in ["advance", "proofs"] {
        let path = format!("/v1/test_helpers/tasks/{id}/{what}");
        let reply = dev.live.post(&path, &json!({})).await;
        reply.expect_error(403, "TEST_MODE_ONLY");
        let reply = dev.test.post(&path, &json!({})).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
}
