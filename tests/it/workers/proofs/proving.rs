//! Proofs: what is taken, what is refused, and how developers review it.

use legwork::domain::ProofId;
use legwork::files::{FileKey, Prefix};
use legwork::maintenance::{files_are_ours, hold_files, sweep_files};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::{Developer, TestApp, Worker, on_both_engines, path, photo, signature};

on_both_engines!(
    a_proof_is_listed_as_it_was_sent,
    the_third_rejection_ends_the_task,
    an_attempt_is_reviewed_as_a_whole,
    a_retry_over_a_bad_network_counts_once,
    an_idempotency_key_does_the_same,
    a_signature_needs_no_position,
    what_is_wrong_with_a_submission_is_named_and_nothing_is_kept,
    a_connection_cut_half_way_leaves_nothing,
    a_far_position_is_flagged_to_the_admins,
    a_file_url_opens_for_an_hour_and_no_other,
    reviews_of_what_is_not_there_are_refused,
    orphans_are_swept_and_nothing_else,
    a_copy_of_the_database_sweeps_nothing,
);

pub async fn begun(app: &TestApp, proof_types: Value) -> (Developer, Worker, Value) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let task = posted(app, &dev, proof_types).await;
    worker.begin(&task).await;
    (dev, worker, task)
}

pub async fn posted(app: &TestApp, dev: &Developer, proof_types: Value) -> Value {
    let mut body = crate::support::storefront();
    body["proof_types"] = proof_types;
    let created = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, crate::support::GOOD_CARD).await;
    created
}

pub async fn proofs(dev: &Developer, task: &Value) -> Value {
    let list = dev.live.get(&format!("{}/proofs", path(task))).await;
    list.expect(200)
}

pub fn files_in(app: &TestApp) -> usize {
    stored_files(app) + count(&app.database.folder.path().join("incoming"))
}

/// Files that are kept.
pub fn stored_files(app: &TestApp) -> usize {
    count(&app.database.folder.path().join("files"))
}

fn count(folder: &std::path::Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries
        // The mark that says whose files they are.
        .filter(|path| !path.ends_with("owner"))
        .map(|path| if path.is_dir() { count(&path) } else { 1 })
        .sum()
}

/// A file that is not kept goes when nobody holds it any more, which may be after the answer.
pub async fn no_files_left(app: &TestApp) {
    only_files_left(app, 0).await;
}

pub async fn only_files_left(app: &TestApp, count: usize) {
    let gone = async {
        while files_in(app) > count {
            tokio::task::yield_now().await;
        }
    };
    let long = std::time::Duration::from_secs(20);
    tokio::time::timeout(long, gone)
        .await
        .expect("files are left");
}

async fn a_proof_is_listed_as_it_was_sent(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo", "signature"])).await;
    let (photo, signature) = (photo("1"), signature("1"));
    let sent = worker
        .send_proof(
            &task,
            &[
                ("photo", &photo),
                ("signature", &signature),
                ("gps_latitude", b"40.7165"),
                ("gps_longitude", b"-73.9595"),
                ("device_info", br#"{"platform": "android", "model": "X"}"#),
            ],
        )
        .await
        .expect(201);
    assert_eq!(sent["task"]["status"], "proof_submitted");
    let list = proofs(&dev, &task).await;
    assert_eq!(list["meta"], json!({"total": 2, "limit": 20, "offset": 0}));
    let proof = &list["data"][0];
    assert_eq!(proof["type"], "photo");
    assert_eq!(proof["attempt_number"], 1);
    assert_eq!(proof["worker_id"], worker.id);
    assert_eq!(proof["content_type"], "image/jpeg");
    assert_eq!(proof["geo_valid"], true);
    assert_eq!(proof["distance_from_task_meters"], 22.2);
    assert_eq!(proof["device_info"]["platform"], "android");
    assert!(proof["device_info"]["user_agent"].is_string());
    assert_eq!(list["data"][1]["type"], "signature");
    assert_eq!(list["data"][1]["content_type"], "image/png");
    let page = dev
        .live
        .get(&format!("{}/proofs?limit=1&offset=1", path(&task)))
        .await;
    assert_eq!(page.expect(200)["data"].as_array().unwrap().len(), 1);
}

async fn the_third_rejection_ends_the_task(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    for (attempt, remaining, status) in [
        (1, 2, "proof_rejected"),
        (2, 1, "proof_rejected"),
        (3, 0, "refunded"),
    ] {
        let proof = worker.prove(&task, &attempt.to_string()).await;
        assert_eq!(proof["attempt_number"], attempt);
        let rejected = dev.review(&task, &proof, "reject").await.expect(200);
        assert_eq!(rejected["status"], "rejected");
        assert_eq!(rejected["rejection_reason"], "Too dark.");
        let expected = json!({"id": task["id"], "status": status,
            "attempts_remaining": remaining});
        assert_eq!(rejected["task"], expected);
        let again = dev.review(&task, &proof, "approve").await;
        again.expect_error(409, "INVALID_TASK_STATE");
    }
    let profile = worker.client.get("/v1/worker").await.expect(200);
    assert_eq!(profile["approval_rate"], 0.0);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}

async fn an_attempt_is_reviewed_as_a_whole(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo", "signature"])).await;
    let (photo, signature) = (photo("a"), signature("a"));
    let parts: [(&str, &[u8]); 4] = [
        ("photo", &photo),
        ("signature", &signature),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let first = worker.send_proof(&task, &parts).await.expect(201);
    dev.review(&task, &first["data"][1], "reject")
        .await
        .expect(200);
    let second = worker.send_proof(&task, &parts).await.expect(201);
    // A proof of an earlier attempt has been reviewed.
    let old = dev.review(&task, &first["data"][0], "approve").await;
    old.expect_error(409, "INVALID_TASK_STATE");
    dev.review(&task, &second["data"][0], "approve")
        .await
        .expect(200);
    let list = proofs(&dev, &task).await;
    let statuses: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["status"])
        .collect();
    assert_eq!(statuses, ["rejected", "rejected", "approved", "approved"]);
}

async fn a_retry_over_a_bad_network_counts_once(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("again");
    let parts: [(&str, &[u8]); 4] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
        ("submission_id", b"my-own-1"),
    ];
    let first = worker.send_proof(&task, &parts).await.expect(201);
    let files = files_in(&app);
    let again = worker.send_proof(&task, &parts).await.expect(201);
    assert_eq!(first["data"][0]["id"], again["data"][0]["id"]);
    assert_eq!(files_in(&app), files);
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 1);
    dev.review(&task, &first["data"][0], "approve")
        .await
        .expect(200);
    let late = worker.send_proof(&task, &parts).await.expect(201);
    assert_eq!(first["data"][0]["id"], late["data"][0]["id"]);
}

async fn an_idempotency_key_does_the_same(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("key");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let submit = format!("/v1/worker/tasks/{}/proofs", task["id"].as_str().unwrap());
    let key = [("idempotency-key", "again")];
    let first = worker.client.send_form_with(&submit, &key, &parts).await;
    let again = worker.client.send_form_with(&submit, &key, &parts).await;
    assert_eq!(
        first.expect(201)["data"][0]["id"],
        again.expect(201)["data"][0]["id"]
    );
    let other = [("idempotency-key", "another")];
    let refused = worker.client.send_form_with(&submit, &other, &parts).await;
    refused.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 1);
}

async fn a_signature_needs_no_position(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["signature"])).await;
    let signature = signature("signed");
    let sent = worker.send_proof(&task, &[("signature", &signature)]).await;
    sent.expect(201);
    let proof = &proofs(&dev, &task).await["data"][0];
    for absent in ["gps_latitude", "gps_longitude", "distance_from_task_meters"] {
        assert_eq!(proof[absent], Value::Null, "{absent}");
    }
    assert_eq!(proof["geo_valid"], false);
    let queue = app.admin().await.get("/v1/admin/queue").await.expect(200);
    assert_eq!(queue["data"], json!([]), "it is not flagged");
}

async fn what_is_wrong_with_a_submission_is_named_and_nothing_is_kept(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let good = photo("good");
    let cut = &good[..good.len() / 2];
    let sign = signature("s");
    let mut polyglot = good.clone();
    polyglot.extend_from_slice(b"PK\x03\x04 and much more of another file behind the picture");
    let huge = vec![0xffu8; 10_000_001];
    let gps: [(&str, &[u8]); 2] = [("gps_latitude", b"40.7163"), ("gps_longitude", b"-73.9595")];
    type Parts<'a> = Vec<(&'a str, &'a [u8])>;
    let cases: Vec<(Parts<'_>, u16, &str)> = vec![
        (
            vec![("photo", b"plain text named photo.png"), gps[0], gps[1]],
            400,
            "photo",
        ),
        (vec![("photo", b""), gps[0], gps[1]], 400, "photo"),
        (vec![("photo", cut), gps[0], gps[1]], 400, "photo"),
        (vec![("photo", &polyglot), gps[0], gps[1]], 400, "photo"),
        (
            vec![
                ("photo", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
                gps[0],
                gps[1],
            ],
            400,
            "photo",
        ),
        (
            vec![
                ("photo", b"<html><script>alert(1)</script></html>"),
                gps[0],
                gps[1],
            ],
            400,
            "photo",
        ),
        (vec![gps[0], gps[1]], 400, "photo"),
        (vec![("photo", &good)], 400, "gps_latitude"),
        (vec![("photo", &good), gps[0]], 400, "gps_longitude"),
        (
            vec![("photo", &good), ("gps_latitude", b"NaN"), gps[1]],
            400,
            "gps_latitude",
        ),
        (
            vec![("photo", &good), ("gps_latitude", b"91"), gps[1]],
            400,
            "gps_latitude",
        ),
        (
            vec![("photo", &good), ("photo", &good), gps[0], gps[1]],
            400,
            "photo",
        ),
        (
            vec![("photo", &good), ("signature", &sign), gps[0], gps[1]],
            400,
            "signature",
        ),
        (
            vec![("photo", &good), ("virus", b"x"), gps[0], gps[1]],
            400,
            "virus",
        ),
        (
            vec![("photo", &good), ("device_info", b"[1]"), gps[0], gps[1]],
            400,
            "device_info",
        ),
        (vec![("photo", &huge), gps[0], gps[1]], 413, ""),
    ];
    for (parts, status, field) in cases {
        let reply = worker.send_proof(&task, &parts).await;
        let sent: Vec<_> = parts.iter().map(|(name, _)| name).collect();
        assert_eq!(reply.status, status, "{sent:?} {}", reply.text);
        if status == 413 {
            assert_eq!(reply.body["error"]["code"], "FILE_TOO_LARGE");
        } else {
            assert_eq!(reply.faulty_fields()[0], field, "{sent:?}");
        }
        no_files_left(&app).await;
    }
    let path = format!("/v1/worker/tasks/{}/proofs", task["id"].as_str().unwrap());
    // What is no form is JSON, whatever its Content-Type says.
    let nothing = worker.client.post(&path, &json!({})).await;
    let faulty = nothing.faulty_fields();
    assert!(faulty.contains(&"photo".to_owned()), "{faulty:?}");
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 0);
    worker.prove(&task, "good").await;
}

async fn a_connection_cut_half_way_leaves_nothing(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("cut");
    let id = task["id"].as_str().unwrap();
    let head = format!(
        "POST /v1/worker/tasks/{id}/proofs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: multipart/form-data; boundary=b\r\ncontent-length: 100000\r\n\r\n\
         --b\r\nContent-Disposition: form-data; name=\"photo\"\r\n\r\n",
        worker.client.key()
    );
    let mut stream = tokio::net::TcpStream::connect(app.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&photo[..photo.len() / 2]).await.unwrap();
    stream.shutdown().await.unwrap();
    drop(stream);
    no_files_left(&app).await;
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 0);
    worker.prove(&task, "cut").await;
}

async fn a_far_position_is_flagged_to_the_admins(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let photo = photo("far");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.8"),
        ("gps_longitude", b"-73.9595"),
    ];
    worker.send_proof(&task, &parts).await.expect(201);
    let proof = proofs(&dev, &task).await["data"][0].clone();
    assert_eq!(proof["geo_valid"], false);
    assert!(proof["distance_from_task_meters"].as_f64().unwrap() > 9_000.0);
    let admin = app.admin().await;
    let queue = admin.get("/v1/admin/queue").await.expect(200);
    let item = &queue["data"][0];
    assert_eq!(item["kind"], "flagged_proof");
    assert_eq!(item["proof"]["id"], proof["id"]);
    let item = format!("/v1/admin/queue/{}", item["id"].as_str().unwrap());
    let noted = admin
        .post(&format!("{item}/note"), &json!({"note": "Asked."}))
        .await;
    assert_eq!(noted.expect(200)["note"], "Asked.");
    let cleared = admin.post(&format!("{item}/clear"), &json!({})).await;
    assert_eq!(cleared.expect(200)["status"], "closed");
    // Whatever the admins think, the developer decides.
    dev.review(&task, &proof, "approve").await.expect(200);
}

async fn a_file_url_opens_for_an_hour_and_no_other(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    worker.prove(&task, "url").await;
    let listed = proofs(&dev, &task).await;
    let url = listed["data"][0]["file_url"].as_str().unwrap().to_owned();
    let (_, file) = url.split_once(&app.address.to_string()).unwrap();
    let client = app.client();
    let reply = client.get(file).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), "image/jpeg");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    assert_eq!(reply.header("content-disposition"), "inline");
    assert!(
        reply
            .header("content-security-policy")
            .starts_with("sandbox")
    );
    let size = listed["data"][0]["file_size_bytes"].to_string();
    assert_eq!(reply.header("content-length"), size);
    let part = client
        .send("GET", file, &[("range", "bytes=0-9")], "")
        .await;
    assert_eq!(part.status, 206);
    assert_eq!(part.header("content-length"), "10");
    let beyond = client
        .send("GET", file, &[("range", "bytes=99999999-")], "")
        .await;
    assert_eq!(beyond.status, 416);
    for index in "/files/".len()..file.len() {
        let mut altered: Vec<u8> = file.as_bytes().to_vec();
        altered[index] = if altered[index] == b'a' { b'b' } else { b'a' };
        let altered = String::from_utf8(altered).unwrap();
        let reply = client.get(&altered).await;
        assert_eq!(reply.status, 403, "{altered}");
    }
    app.set_time("2025-11-15T13:00:01.000Z");
    let expired = client.get(file).await;
    expired.expect_error(403, "URL_EXPIRED");
}

async fn reviews_of_what_is_not_there_are_refused(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let other = dev.create_paid_task().await;
    let none = json!({"id": "01a1ddf1f6667adcaf72e408e58b360f"});
    for verdict in ["approve", "reject"] {
        let reply = dev.review(&task, &none, verdict).await;
        reply.expect_error(404, "PROOF_NOT_FOUND");
        let reply = dev.review(&task, &json!({"id": "x"}), verdict).await;
        reply.expect_error(404, "PROOF_NOT_FOUND");
        let reply = dev.review(&none, &none, verdict).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
    let proof = worker.prove(&task, "x").await;
    let elsewhere = dev.review(&other, &proof, "approve").await;
    elsewhere.expect_error(404, "PROOF_NOT_FOUND");
    let stranger = app.developer().await;
    let reply = stranger.review(&task, &proof, "approve").await;
    reply.expect_error(404, "TASK_NOT_FOUND");
    let path = format!(
        "{}/proofs/{}/reject",
        path(&task),
        proof["id"].as_str().unwrap()
    );
    for faulty in [
        json!({}),
        json!({"reason": " "}),
        json!({"reason": "x".repeat(2001)}),
    ] {
        let reply = dev.live.post(&path, &faulty).await;
        assert_eq!(reply.faulty_fields(), ["reason"]);
    }
}

async fn sweep(app: &TestApp) -> usize {
    let swept = sweep_files(&app.store, &app.app.files, app.clock.now());
    swept.await.unwrap()
}

async fn orphans_are_swept_and_nothing_else(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    worker.prove(&task, "kept").await;
    let kept = files_in(&app);
    leave_orphan(&app).await;
    assert_eq!(sweep(&app).await, 0, "too young");
    app.set_time("2025-11-15T13:00:01.000Z");
    assert_eq!(sweep(&app).await, 1);
    assert_eq!(files_in(&app), kept);
    assert_eq!(proofs(&dev, &task).await["meta"]["total"], 1);
}

async fn leave_orphan(app: &TestApp) {
    let id = ProofId::new(app.clock.now(), &legwork::ambient::random());
    let key = FileKey::new(Prefix::Proofs, id.as_u128());
    let (files, now) = (&app.app.files, app.clock.now());
    let put = files.put(key, "x".into(), "image/png", now);
    put.await.unwrap();
}

async fn a_copy_of_the_database_sweeps_nothing(app: TestApp) {
    let files = &app.app.files;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        assert!(hold_files(&app.store, files).await.unwrap());
        tokens.push(files.owner_mark().await.unwrap().unwrap());
    }
    leave_orphan(&app).await;
    app.set_time("2025-11-15T13:00:01.000Z");
    // A copy has what was there when it was made.
    let old = format!(
        "UPDATE files_owner SET token = '{0}', previous_token = '{0}'",
        tokens[0]
    );
    app.database.execute(&old).await;
    assert_eq!(sweep(&app).await, 0);
    assert!(!files_are_ours(&app.store, files).await.unwrap());
    // Another installation has nothing.
    app.database.execute("DELETE FROM files_owner").await;
    assert_eq!(sweep(&app).await, 0);
    assert_eq!(files.owner_mark().await.unwrap().as_ref(), tokens.last());
    // The operator says that the files are its own.
    let mark = app.database.folder.path().join("files/owner");
    std::fs::remove_file(mark).unwrap();
    assert_eq!(sweep(&app).await, 1);
}
