//! A submission id belongs to the worker who chose it.

use serde_json::{Value, json};

use super::proving::{begun, proofs};
use super::uploads::proofs_of;
use crate::support::{TestApp, Worker, on_both_engines, photo};

on_both_engines!(
    a_second_worker_with_the_same_id_has_an_attempt_of_their_own,
    what_was_recorded_before_is_found,
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
