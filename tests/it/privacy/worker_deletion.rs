//! A worker deletes the account: when that is possible, and what stays.

use legwork::domain::{Actor, WorkerId};
use legwork::usecases;
use legwork::usecases::UseCaseError;
use serde_json::{Value, json};

use super::send_documents;
use crate::admin::disputed_task;
use crate::resumable::client::create_with;
use crate::support::{PASSWORD, Reply, TestApp, Worker, on_both_engines, path};
use crate::suspension::erasure::{files_in, rows};
use crate::suspension::{count, finish_jobs, ids, kill_jobs_when};

on_both_engines!(
    it_needs_the_password,
    open_tasks_and_payouts_come_first_and_are_named,
    nothing_of_the_person_is_left,
    statements_and_notes_of_disputes_go_with_either_side,
    half_erased_is_erased_in_the_end,
    a_deleted_worker_stays_deleted,
    a_task_that_races_is_not_accepted_behind_it,
);

async fn delete(worker: &Worker, password: &str) -> Reply {
    let body = json!({ "password": password }).to_string();
    worker.client.send("DELETE", "/v1/worker", &[], body).await
}

async fn it_needs_the_password(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    for body in [json!({}), json!({"password": null}), json!({"password": 7})] {
        let body = body.to_string();
        let refused = worker.client.send("DELETE", "/v1/worker", &[], body).await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.faulty_fields(), ["password"]);
    }
    let wrong = delete(&worker, "wrong horse battery").await;
    wrong.expect_error(401, "INVALID_CREDENTIALS");
    worker.client.get("/v1/worker").await.expect(200);
    let deleted = delete(&worker, PASSWORD).await.expect(200);
    assert_eq!(deleted["status"], "deleted");
    assert_eq!(deleted["email"], format!("deleted-{}@invalid", worker.id));
    let gone = worker.client.get("/v1/worker").await;
    gone.expect_error(401, "UNAUTHORIZED");
    let sign_in = json!({"email": worker.email, "password": PASSWORD});
    let refused = app.client().post("/v1/workers/sessions", &sign_in).await;
    refused.expect_error(401, "INVALID_CREDENTIALS");
    // The address is free.
    let again = json!({"email": worker.email, "password": PASSWORD, "name": "Grace"});
    let again = app.client().post("/v1/workers", &again).await.expect(201);
    assert_ne!(again["worker"]["id"], json!(worker.id));
}

async fn open_tasks_and_payouts_come_first_and_are_named(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let id = task["id"].as_str().unwrap();
    let refused = delete(&worker, PASSWORD).await;
    let refused = refused.expect_error(409, "TASKS_OPEN");
    assert!(refused.text.contains(id), "{}", refused.text);
    let proof = worker.prove(&task, "one").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    // Earned, and not transferred yet.
    let refused = delete(&worker, PASSWORD).await;
    let refused = refused.expect_error(409, "TASKS_OPEN");
    assert!(refused.text.contains(id), "{}", refused.text);
    app.jobs.drain().await.unwrap();
    delete(&worker, PASSWORD).await.expect(200);
    finish_jobs(&app).await;
    TestApp::expect_settled(&app.verify().await);
}

/// Subscribes a browser, so that there is something to drop.
async fn subscribe(app: &TestApp, worker: &Worker) {
    let insert = format!(
        "INSERT INTO push_subscriptions (id, worker_id, endpoint, p256dh, auth, created_at)
        VALUES ('{0}', '{0}', 'https://push.example/hopper', '', '', 0)",
        worker.id
    );
    app.database.execute(&insert).await;
}

async fn nothing_of_the_person_is_left(app: TestApp) {
    const PERSONAL: [&str; 10] = [
        "Rear Admiral Hopper",
        "+1 202 555 0119",
        "38.8951",
        "hopper@example.com",
        "Nanosecond Phone",
        "push.example/hopper",
        "$argon2",
        "22:13-06:47@-300",
        "my-front-door",
        "filename YS5qcGc=",
    ];
    let (dev, mut worker) = (app.developer().await, app.ready_worker().await);
    let profile = json!({"phone": "+1 202 555 0119", "skills": ["notary"],
        "home_latitude": 38.8951, "home_longitude": -77.0364});
    let body = profile.to_string();
    let edited = worker.client.send("PATCH", "/v1/worker", &[], body).await;
    edited.expect(200);
    let rename = format!(
        "UPDATE workers SET email = 'hopper@example.com', pending_name = 'Rear Admiral Hopper',
            confirmed_skills = '[\"notary\"]'
        WHERE id = '{}'",
        worker.id
    );
    app.database.execute(&rename).await;
    worker.email = "hopper@example.com".to_owned();
    let quiet = json!({"quiet_from": "22:13", "quiet_to": "06:47", "utc_offset_minutes": -300});
    let path_of_quiet = "/v1/worker/push_settings";
    let set = worker
        .client
        .send("PUT", path_of_quiet, &[], quiet.to_string());
    set.await.expect(200);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let key = ("idempotency-key", "my-front-door");
    let begun = create_with(&worker.client, &task, ("photo", 10), &[key], b"").await;
    assert_eq!(begun.status, 201, "{}", begun.text);
    let photo = crate::support::photo("one");
    let device: &[u8] = br#"{"user_agent": "Nanosecond Phone", "platform": "UNIVAC"}"#;
    let parts: [(&str, &[u8]); 4] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
        ("device_info", device),
    ];
    let proof = worker.send_proof(&task, &parts).await.expect(201);
    let proof = proof["data"][0].clone();
    dev.review(&task, &proof, "approve").await.expect(200);
    app.jobs.drain().await.unwrap();
    subscribe(&app, &worker).await;
    // What events told of the proof is kept for 30 days, as for everybody.
    app.database.execute("DELETE FROM deliveries").await;
    app.database.execute("DELETE FROM events").await;
    let before = rows(&app).await;
    for personal in PERSONAL {
        assert!(before.contains(personal), "{personal} was never there");
    }
    let kept = count(&app, "ledger_entries").await;
    delete(&worker, PASSWORD).await.expect(200);
    finish_jobs(&app).await;
    let after = rows(&app).await;
    for personal in PERSONAL {
        assert!(!after.contains(personal), "{personal} is still there");
    }
    for table in ["worker_tokens", "push_subscriptions"] {
        assert_eq!(count(&app, table).await, 0, "{table}");
    }
    let told = "SELECT id FROM notices WHERE worker_id IS NOT NULL";
    assert_eq!(ids(&app, told).await, Vec::<String>::new());
    // The books and the developer's proof stay.
    assert_eq!(count(&app, "ledger_entries").await, kept);
    let task = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(task["worker_id"], json!(worker.id));
    let proofs = format!("{}/proofs", path(&task));
    let proofs = dev.live.get(&proofs).await.expect(200);
    assert_eq!(proofs["data"][0]["device_info"], json!({}));
    assert!(proofs["data"][0]["file_url"].is_string());
    // It was taken at the place of the task.
    assert_eq!(proofs["data"][0]["gps_latitude"], proof["gps_latitude"]);
    let same = "SELECT id FROM proofs WHERE original_key = file_key AND exif_latitude IS NULL";
    assert_eq!(ids(&app, same).await.len(), 1);
    let erased = "SELECT id FROM workers WHERE erased_at IS NOT NULL";
    assert_eq!(ids(&app, erased).await, [worker.id]);
    TestApp::expect_settled(&app.verify().await);
}

async fn decided_dispute(app: &TestApp) -> (crate::support::Developer, Worker, Value) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = disputed_task(app, &dev, &worker).await;
    let side = json!({"statement": "Nobody can see the door."});
    let state = format!("{}/dispute/statement", path(&task));
    let stated = dev.live.post(&state, &side).await;
    assert!(stated.status.is_success(), "{}", stated.text);
    let decide = format!("/v1/admin/disputes/{}/decide", task["id"].as_str().unwrap());
    let body = json!({"decision": "pay", "note": "The brass is well lit."});
    let admin = app.admin().await;
    admin.post(&decide, &body).await.expect(200);
    app.jobs.drain().await.unwrap();
    (dev, worker, task)
}

async fn statements_and_notes_of_disputes_go_with_either_side(app: TestApp) {
    let said = [
        "The door is in the picture.",
        "The brass is well lit.",
        "Nobody can see the door.",
    ];
    let in_database = async || {
        app.database.execute("DELETE FROM deliveries").await;
        app.database.execute("DELETE FROM events").await;
        let rows = rows(&app).await;
        said.map(|text| rows.contains(text))
    };
    let (_, worker, _) = decided_dispute(&app).await;
    assert_eq!(in_database().await, [true; 3]);
    delete(&worker, PASSWORD).await.expect(200);
    finish_jobs(&app).await;
    assert_eq!(in_database().await, [false; 3]);
    let (dev, ..) = decided_dispute(&app).await;
    assert_eq!(in_database().await, [true; 3]);
    let account = crate::suspension::id_of(&dev);
    crate::suspension::delete(&app, account).await.unwrap();
    app.advance(super::DAY * 30);
    finish_jobs(&app).await;
    assert_eq!(in_database().await, [false; 3]);
}

async fn half_erased_is_erased_in_the_end(app: TestApp) {
    const PROOFS: usize = 250;
    let worker = app.sign_up(&[]).await;
    let proofs = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PROOFS})
        INSERT INTO proofs (id, task_id, worker_id, attempt_number, type, file_key, original_key,
            content_type, file_size_bytes, sha256, geo_valid, device_info, taken_at_is_local, status,
            created_at)
        SELECT '019a85a1c1f07c2e9d1b3a5f' || CAST(10000000 + i AS TEXT),
            '019a85a1c1f07c2e9d1b3a5f' || CAST(20000000 + i AS TEXT), '{}', 1, 'photo',
            'proofs/019a85a1c1f07c2e9d1b3a5f' || CAST(30000000 + i AS TEXT),
            'proofs/019a85a1c1f07c2e9d1b3a5f' || CAST(40000000 + i AS TEXT), 'image/jpeg', 1, '', 1, '{{\"a\":1}}', 0, 'approved', 0
        FROM n",
        worker.id
    );
    app.database.execute(&proofs).await;
    delete(&worker, PASSWORD).await.expect(200);
    let left = "SELECT id FROM proofs WHERE device_info <> '{}'";
    kill_jobs_when(&app, async || ids(&app, left).await.len() < PROOFS).await;
    finish_jobs(&app).await;
    assert_eq!(ids(&app, left).await, Vec::<String>::new());
    let erased = "SELECT id FROM workers WHERE erased_at IS NOT NULL";
    assert_eq!(ids(&app, erased).await, [worker.id]);
}

async fn a_deleted_worker_stays_deleted(app: TestApp) {
    let (worker, admin) = (app.sign_up(&[]).await, app.admin().await);
    send_documents(&worker, "one").await;
    delete(&worker, PASSWORD).await.expect(200);
    finish_jobs(&app).await;
    assert_eq!(count(&app, "verification_files").await, 0);
    assert_eq!(files_in(&super::stored(&app)), 0);
    let queue = admin.get("/v1/admin/queue").await.expect(200);
    assert_eq!(queue["data"], json!([]));
    for decision in ["verify", "refuse", "suspend", "restore"] {
        let path = format!("/v1/admin/workers/{}/{decision}", worker.id);
        let refused = admin.post(&path, &json!({})).await;
        refused.expect_error(409, "INVALID_WORKER_STATE");
    }
    let id = WorkerId::parse(&worker.id).unwrap();
    let now = app.clock.now();
    let again = app
        .store
        .write(move |tx| usecases::delete_worker(tx, id, &Actor::COMMAND_LINE, now));
    let again = again.await;
    assert!(matches!(
        again,
        Err(UseCaseError::InvalidWorkerState { .. })
    ));
    // A suspension does not end by signing up again.
    let suspended = app.ready_worker().await;
    let path = format!("/v1/admin/workers/{}/suspend", suspended.id);
    admin.post(&path, &json!({})).await.expect(200);
    let refused = delete(&suspended, PASSWORD).await;
    assert!(
        [401, 409].contains(&refused.status.as_u16()),
        "{}",
        refused.text
    );
}

async fn a_task_that_races_is_not_accepted_behind_it(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..8 {
        let (task, worker) = (dev.create_paid_task().await, app.ready_worker().await);
        let id = WorkerId::parse(&worker.id).unwrap();
        let now = app.clock.now();
        let by = Actor::worker(id);
        let (accepted, deleted) = tokio::join!(
            worker.act(&task, "accept"),
            app.store
                .write(move |tx| usecases::delete_worker(tx, id, &by, now)),
        );
        match deleted {
            Ok(_) => assert!(
                [401, 403].contains(&accepted.status.as_u16()),
                "{}",
                accepted.text
            ),
            Err(UseCaseError::WorkerTasksOpen { .. }) => drop(accepted.expect(200)),
            Err(refusal) => panic!("{refusal}"),
        }
    }
    let ghosts = "SELECT t.id FROM tasks t JOIN workers w ON w.id = t.worker_id
        WHERE w.status = 'deleted'";
    assert_eq!(ids(&app, ghosts).await, Vec::<String>::new());
}
