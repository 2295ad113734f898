//! Flagged proofs: what gets flagged, and when it is over.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::ids;
use crate::support::{Client, Developer, Reply, TestApp, Worker, on_both_engines, path, photo};

on_both_engines!(
    an_item_about_a_proof_closes_when_its_task_ends,
    a_photo_that_was_sent_before_is_flagged,
    a_list_of_tasks_is_filtered_by_environment_and_ordered_by_real_time,
);

async fn flagged(admin: &Client) -> Vec<Value> {
    let queue = admin.get("/v1/admin/queue?kind=flagged_proof").await;
    queue.expect(200)["data"].as_array().unwrap().clone()
}

/// A photo taken a kilometre away.
async fn prove_from_afar(worker: &Worker, task: &Value) -> Value {
    let photo = photo(task["id"].as_str().unwrap());
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7263"),
        ("gps_longitude", b"-73.9595"),
    ];
    worker.send_proof(task, &parts).await.expect(201)["data"][0].clone()
}

async fn begun(dev: &Developer, worker: &Worker) -> Value {
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    task
}

async fn an_item_about_a_proof_closes_when_its_task_ends(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    // By approval, also while an admin has claimed it.
    let task = begun(&dev, &worker).await;
    let proof = prove_from_afar(&worker, &task).await;
    let item = flagged(&admin).await[0].clone();
    let at = format!("/v1/admin/queue/{}", item["id"].as_str().unwrap());
    admin
        .post(&format!("{at}/claim"), &json!({}))
        .await
        .expect(200);
    dev.review(&task, &proof, "approve").await.expect(200);
    assert_eq!(flagged(&admin).await, Vec::<Value>::new());
    let closed = admin.get(&at).await.expect(200);
    assert_eq!(closed["status"], "closed");
    assert_eq!(closed["decided_at"], TestApp::NOON);
    assert_eq!(closed["claimed_by"], Value::Null);
    admin
        .post(&format!("{at}/clear"), &json!({}))
        .await
        .expect(200);
    // A rejection ends nothing; the third one does.
    let task = begun(&dev, &worker).await;
    for attempt in 1..=3 {
        let photo = photo(&format!("{attempt}"));
        let parts: [(&str, &[u8]); 3] = [
            ("photo", &photo),
            ("gps_latitude", b"40.7263"),
            ("gps_longitude", b"-73.9595"),
        ];
        let sent = worker.send_proof(&task, &parts).await.expect(201);
        assert_eq!(flagged(&admin).await.len(), attempt);
        let rejected = dev.review(&task, &sent["data"][0], "reject").await;
        rejected.expect(200);
    }
    assert_eq!(flagged(&admin).await, Vec::<Value>::new());
    // By the clock. Another task's item stays.
    let (task, other) = (begun(&dev, &worker).await, begun(&dev, &worker).await);
    prove_from_afar(&worker, &task).await;
    app.advance(Duration::from_secs(6 * 24 * 60 * 60));
    prove_from_afar(&worker, &other).await;
    app.advance(Duration::from_secs(24 * 60 * 60));
    app.scheduler.catch_up().await.unwrap();
    let done = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(done["status"], "completed");
    let left = flagged(&admin).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["task_id"], other["id"]);
}

async fn a_photo_that_was_sent_before_is_flagged(app: TestApp) {
    let (dev, other, admin) = (
        app.developer().await,
        app.developer().await,
        app.admin().await,
    );
    let worker = app.ready_worker().await;
    let first = begun(&dev, &worker).await;
    worker.prove(&first, "the door").await;
    assert_eq!(flagged(&admin).await, Vec::<Value>::new());
    let second = begun(&other, &worker).await;
    let proof = worker.prove(&second, "the door").await;
    let items = flagged(&admin).await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["subject_id"], proof["id"]);
    let note = items[0]["note"].as_str().unwrap();
    assert!(note.contains(first["id"].as_str().unwrap()), "{note}");
    let id = ids(&json!({"data": items}))[0].to_owned();
    let item = admin
        .get(&format!("/v1/admin/queue/{id}"))
        .await
        .expect(200);
    let findings = item["evidence"]["findings"].as_array().unwrap();
    let same = findings.iter().find(|found| found["code"] == "same_photo");
    assert_eq!(same.unwrap()["task_id"], first["id"]);
    // The same once more after a rejection.
    other.review(&second, &proof, "reject").await.expect(200);
    worker.prove(&second, "the door").await;
    assert_eq!(flagged(&admin).await.len(), 2);
    // Another photo is another photo.
    let third = begun(&dev, &worker).await;
    worker.prove(&third, "the gate").await;
    assert_eq!(flagged(&admin).await.len(), 2);
}

async fn page(admin: &Client, query: &str) -> Reply {
    admin.get(&format!("/v1/admin/tasks{query}")).await
}

async fn a_list_of_tasks_is_filtered_by_environment_and_ordered_by_real_time(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let month = json!({"advance_seconds": 40 * 24 * 60 * 60});
    dev.test
        .post("/v1/test_helpers/clock", &month)
        .await
        .expect(200);
    let mut created = Vec::new();
    for number in 0..6 {
        app.advance(Duration::from_millis(1));
        let task = match number % 2 {
            0 => dev.create_task().await,
            _ => dev.create_live_task().await,
        };
        created.insert(0, task["id"].as_str().unwrap().to_owned());
    }
    let all = page(&admin, "").await.expect(200);
    assert_eq!(ids(&all), created);
    let account = &dev.account_id;
    for (environment, offset) in [("live", 0), ("test", 1)] {
        let own: Vec<_> = created.iter().skip(offset).step_by(2).collect();
        for query in [
            format!("?environment={environment}"),
            format!("?environment={environment}&account_id={account}"),
        ] {
            let listed = page(&admin, &query).await.expect(200);
            assert_eq!(ids(&listed), own);
            let first = page(&admin, &format!("{query}&limit=2")).await.expect(200);
            assert_eq!(ids(&first), own[..2]);
            let cursor = first["meta"]["next_cursor"].as_str().unwrap();
            let rest = page(&admin, &format!("{query}&cursor={cursor}")).await;
            assert_eq!(ids(&rest.expect(200)), own[2..]);
        }
        let status = match environment {
            "live" => "pending",
            _ => "funded",
        };
        let both = format!("?environment={environment}&status={status}");
        assert_eq!(ids(&page(&admin, &both).await.expect(200)), own);
        let none = format!("?environment={environment}&status=completed");
        assert_eq!(
            ids(&page(&admin, &none).await.expect(200)),
            Vec::<&str>::new()
        );
    }
    let faulty = page(&admin, "?environment=both").await;
    assert_eq!(faulty.faulty_fields(), ["environment"]);
    // The report of a test month goes by the clock of the test environment.
    let report = "/v1/admin/report?month=2025-12&environment=test";
    let report = admin.get(report).await.expect(200);
    assert_eq!(report["total"]["tasks_created"], 3);
}
