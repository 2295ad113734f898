//! Names of submissions: each counts once, and belongs to the worker who chose it.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::proving::{begun, posted, proofs};
use super::uploads::proofs_of;
use crate::support::{Reply, TestApp, Worker, on_both_engines, photo, storefront};

on_both_engines!(
    a_second_worker_with_the_same_id_has_an_attempt_of_their_own,
    what_was_recorded_before_is_found,
    either_name_of_a_submission_finds_it_again,
    another_submission_under_a_used_key_is_refused,
    a_key_of_the_simulated_worker_means_one_submission,
    a_key_means_the_same_files_and_the_same_task,
    a_repeat_gets_the_answer_as_it_was,
    a_key_is_free_again_after_a_day,
    a_key_beside_a_known_id_is_taken,
    of_many_equal_submissions_one_is_recorded,
    uploads_are_named_in_json_of_any_content_type,
    a_text_with_a_repeated_key_is_refused,
);

/// A photo under a submission id, or under an Idempotency-Key.
async fn send(worker: &Worker, task: &Value, seed: &str, as_key: bool) -> Value {
    let photo = photo(seed);
    let mut parts: Vec<(&str, &[u8])> = vec![
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let mut headers = Vec::new();
    if as_key {
        headers.push(("idempotency-key", "1"));
    } else {
        parts.push(("submission_id", b"1"));
    }
    let path = proofs_of(task);
    let sent = worker.client.send_form_with(&path, &headers, &parts).await;
    sent.expect(201)["data"][0].clone()
}

async fn a_second_worker_with_the_same_id_has_an_attempt_of_their_own(app: TestApp) {
    for as_key in [false, true] {
        let (dev, first, task) = begun(&app, json!(["photo"])).await;
        let proof = send(&first, &task, "first", as_key).await;
        dev.review(&task, &proof, "reject").await.expect(200);
        let suspend = format!("/v1/admin/workers/{}/suspend", first.id);
        let admin = app.admin().await;
        admin.post(&suspend, &json!({})).await.expect(200);
        let second = app.ready_worker().await;
        second.begin(&task).await;
        let own = send(&second, &task, "second", as_key).await;
        assert_ne!(own["id"], proof["id"]);
        assert_eq!(own["worker_id"], second.id);
        assert_eq!(own["attempt_number"], 2);
        assert_eq!(proofs(&dev, &task).await["meta"]["total"], 2);
        let again = send(&second, &task, "second", as_key).await;
        assert_eq!(own["id"], again["id"]);
        assert_eq!(proofs(&dev, &task).await["meta"]["total"], 2);
    }
}

async fn what_was_recorded_before_is_found(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let proof = send(&worker, &task, "old", false).await;
    app.database.execute("DELETE FROM worker_submissions").await;
    let again = send(&worker, &task, "old", false).await;
    assert_eq!(proof["id"], again["id"]);
}

async fn submit(
    worker: &Worker,
    task: &Value,
    headers: &[(&str, &str)],
    parts: &[(&str, &[u8])],
) -> Reply {
    let path = proofs_of(task);
    worker.client.send_form_with(&path, headers, parts).await
}

fn place(latitude: &str) -> [(&str, &[u8]); 2] {
    [
        ("gps_latitude", latitude.as_bytes()),
        ("gps_longitude", b"-73.9595"),
    ]
}

async fn either_name_of_a_submission_finds_it_again(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("twice");
    let [latitude, longitude] = place("40.7163");
    let named: [(&str, &[u8]); 4] = [
        ("photo", &photo),
        latitude,
        longitude,
        ("submission_id", b"1"),
    ];
    let key = [("idempotency-key", "k")];
    let first = submit(&worker, &task, &key, &named).await;
    assert!(first.headers.get("idempotent-replayed").is_none());
    let first = first.expect(201);
    for again in [
        submit(&worker, &task, &[], &named).await,
        submit(&worker, &task, &key, &named).await,
    ] {
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(again.expect(201)["data"][0]["id"], first["data"][0]["id"]);
    }
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 1);
}

async fn another_submission_under_a_used_key_is_refused(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("once");
    let key = [("idempotency-key", "k")];
    let sent = |latitude: &'static str| {
        let [latitude, longitude] = place(latitude);
        [("photo", &photo[..]), latitude, longitude]
    };
    let first = submit(&worker, &task, &key, &sent("40.7163")).await;
    let proof = first.expect(201)["data"][0].clone();
    let other = submit(&worker, &task, &key, &sent("40.7164")).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    dev.review(&task, &proof, "reject").await.expect(200);
    let other = submit(&worker, &task, &key, &sent("40.7164")).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 1);
}

async fn a_key_of_the_simulated_worker_means_one_submission(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let id = task["id"].as_str().unwrap();
    let path = format!("/v1/test_helpers/tasks/{id}");
    let to = json!({"to": "in_progress"});
    let advance = format!("{path}/advance");
    dev.test.post(&advance, &to).await.expect(200);
    let (proofs, key) = (format!("{path}/proofs"), [("idempotency-key", "k")]);
    let here = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595});
    let elsewhere = json!({"gps_latitude": 1, "gps_longitude": 1});
    let first = dev.test.post_with(&proofs, &key, &here).await.expect(201);
    let again = dev.test.post_with(&proofs, &key, &here).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201)["data"][0]["id"], first["data"][0]["id"]);
    let other = dev.test.post_with(&proofs, &key, &elsewhere).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    let other = dev.test.post_with("/v1/tasks", &key, &storefront()).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
}

async fn a_key_means_the_same_files_and_the_same_task(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let (photo, another) = (photo("one"), photo("another"));
    let key = [("idempotency-key", "k")];
    let [latitude, longitude] = place("40.7163");
    let sent = |file: &'static str, photo| [(file, photo), latitude, longitude];
    let first = submit(&worker, &task, &key, &sent("photo", &photo)).await;
    let proof = first.expect(201)["data"][0].clone();
    let refused = |reply: Reply| reply.expect_error(422, "IDEMPOTENCY_MISMATCH");
    // Whether the task takes proof or not.
    refused(submit(&worker, &task, &key, &sent("photo", &another)).await);
    dev.review(&task, &proof, "reject").await.expect(200);
    refused(submit(&worker, &task, &key, &sent("photo", &another)).await);
    let other_task = posted(&app, &dev, json!(["photo"])).await;
    let path = format!("/v1/worker/tasks/{}", other_task["id"].as_str().unwrap());
    let accept = format!("{path}/accept");
    refused(worker.client.post_with(&accept, &key, &json!({})).await);
    worker.begin(&other_task).await;
    refused(submit(&worker, &other_task, &key, &sent("photo", &photo)).await);
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 1);
}

async fn a_repeat_gets_the_answer_as_it_was(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("kept");
    let [latitude, longitude] = place("40.7163");
    let sent = [("photo", &photo[..]), latitude, longitude];
    let key = [("idempotency-key", "k")];
    let first = submit(&worker, &task, &key, &sent).await;
    let first = first.expect(201);
    dev.review(&task, &first["data"][0], "reject")
        .await
        .expect(200);
    let again = submit(&worker, &task, &key, &sent).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201), first);
}

/// A new attempt under it is not taken for the one before.
async fn a_key_is_free_again_after_a_day(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let proof = send(&worker, &task, "first", true).await;
    app.set_time("2025-11-16T11:59:59.999Z");
    assert_eq!(send(&worker, &task, "first", true).await, proof);
    dev.review(&task, &proof, "reject").await.expect(200);
    app.set_time("2025-11-16T12:00:00.000Z");
    let second = send(&worker, &task, "second", true).await;
    assert_eq!(second["attempt_number"], 2);
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 2);
}

async fn a_key_beside_a_known_id_is_taken(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("named");
    let [latitude, longitude] = place("40.7163");
    let named = [
        ("photo", &photo[..]),
        latitude,
        longitude,
        ("submission_id", b"1"),
    ];
    let first = submit(&worker, &task, &[], &named).await.expect(201);
    let key = [("idempotency-key", "k")];
    for _ in 0..2 {
        let again = submit(&worker, &task, &key, &named).await;
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(again.expect(201)["data"][0]["id"], first["data"][0]["id"]);
    }
    let other_task = posted(&app, &dev, json!(["photo"])).await;
    let id = other_task["id"].as_str().unwrap();
    let accept = format!("/v1/worker/tasks/{id}/accept");
    let other = worker.client.post_with(&accept, &key, &json!({})).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
}

async fn of_many_equal_submissions_one_is_recorded(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("many");
    let [latitude, longitude] = place("40.7163");
    let sent = [("photo", &photo[..]), latitude, longitude];
    let key = [("idempotency-key", "k")];
    let replies = join_all((0..3).map(|_| submit(&worker, &task, &key, &sent))).await;
    let mut ids = Vec::new();
    for reply in replies {
        match reply.status.as_u16() {
            201 => ids.push(reply.body["data"][0]["id"].clone()),
            _ => drop(reply.expect_error(409, "IDEMPOTENCY_IN_FLIGHT")),
        }
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 1);
}

async fn uploads_are_named_in_json_of_any_content_type(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let body = json!({"photo": "0".repeat(32), "gps_latitude": 40.7163, "gps_longitude": -73.9595});
    for content_type in ["application/x-www-form-urlencoded", "text/plain"] {
        let headers = [("content-type", content_type)];
        let path = proofs_of(&task);
        let sent = worker
            .client
            .send("POST", &path, &headers, body.to_string());
        sent.await.expect_error(404, "UPLOAD_NOT_FOUND");
    }
}

async fn a_text_with_a_repeated_key_is_refused(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("strict");
    let [latitude, longitude] = place("40.7163");
    for (name, text) in [
        ("device_info", r#"{"platform": "a", "platform": "b"}"#),
        (
            "captures",
            r#"{"photo": {"source": "camera", "source": "picker"}}"#,
        ),
    ] {
        let parts = [
            ("photo", &photo[..]),
            latitude,
            longitude,
            (name, text.as_bytes()),
        ];
        let refused = submit(&worker, &task, &[], &parts).await;
        assert_eq!(refused.faulty_fields(), [name]);
    }
}
