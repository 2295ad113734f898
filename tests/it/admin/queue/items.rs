//! An item of the review queue carries what is needed to decide it.

use legwork::domain::AdminRole;
use serde_json::{Value, json};

use super::super::{disputed_task, ids};
use crate::support::{
    Client, GOOD_CARD, InjectedFault, TestApp, Worker, on_both_engines, path, photo, signature,
    storefront,
};

on_both_engines!(
    a_dispute_shows_both_sides_every_attempt_and_the_money,
    a_verification_shows_what_was_sent_and_decided_before,
    a_flagged_proof_comes_with_its_places_and_findings,
    a_failed_payout_says_why_and_where_to,
    the_original_of_a_proof_is_for_operators_and_every_look_is_recorded,
    an_admin_learns_which_other_task_has_the_same_photo,
);

/// The only open item of a kind, read alone.
async fn item(admin: &Client, kind: &str) -> Value {
    let queue = admin.get(&format!("/v1/admin/queue?kind={kind}")).await;
    let queue = queue.expect(200);
    assert_eq!(ids(&queue).len(), 1);
    let path = format!("/v1/admin/queue/{}", ids(&queue)[0]);
    admin.get(&path).await.expect(200)
}

/// How long the file at a signed URL is.
async fn download(app: &TestApp, url: &Value) -> usize {
    let (_, file) = url.as_str().unwrap().split_once("/files/").unwrap();
    let file = app.client().get(&format!("/files/{file}")).await;
    assert_eq!(file.status, 200);
    file.header("content-length").parse().unwrap()
}

async fn a_dispute_shows_both_sides_every_attempt_and_the_money(app: TestApp) {
    let (dev, admin) = (
        app.developer().await,
        app.admin_with(AdminRole::Viewer).await,
    );
    let worker = app.ready_worker().await;
    let mut new = storefront();
    new["proof_types"] = json!(["photo", "signature"]);
    let task = dev.live.post("/v1/tasks", &new).await.expect(201);
    let secret = task["payment_client_secret"].as_str().unwrap();
    assert_eq!(dev.live.pay(secret, GOOD_CARD).await.status, 200);
    worker.begin(&task).await;
    for attempt in ["one", "two"] {
        let (photo, signature) = (photo(attempt), signature(attempt));
        let parts: [(&str, &[u8]); 4] = [
            ("photo", &photo),
            ("signature", &signature),
            ("gps_latitude", b"40.7163"),
            ("gps_longitude", b"-73.9595"),
        ];
        let sent = worker.send_proof(&task, &parts).await.expect(201);
        let proof = &sent["data"][0];
        dev.review(&task, proof, "reject").await.expect(200);
    }
    let contest = format!("/v1/worker/tasks/{}/dispute", task["id"].as_str().unwrap());
    let statement = json!({"statement": "It is all there."});
    worker.client.post(&contest, &statement).await.expect(200);
    let state = format!("{}/dispute/statement", path(&task));
    let side = json!({"statement": "It is not."});
    let dispute = dev.live.post(&state, &side).await.expect(200);
    let item = item(&admin, "dispute").await;
    assert_eq!(item["dispute"], dispute);
    assert_eq!(item["note"], Value::Null);
    assert_eq!(item["task"]["id"], task["id"]);
    assert_eq!(item["task"]["status"], "disputed");
    let attempts = item["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    for (index, attempt) in attempts.iter().enumerate() {
        assert_eq!(attempt["attempt_number"], index + 1);
        assert_eq!(attempt["status"], "rejected");
        assert_eq!(attempt["rejection_reason"], "Too dark.");
        assert_eq!(attempt["reviewed_at"], TestApp::NOON);
        let proofs = attempt["proofs"].as_array().unwrap();
        let types: Vec<_> = proofs.iter().map(|proof| &proof["proof"]["type"]).collect();
        assert_eq!(types, ["photo", "signature"]);
        for proof in proofs {
            assert!(download(&app, &proof["proof"]["file_url"]).await > 0);
            assert_eq!(proof["evidence"]["proof_id"], proof["proof"]["id"]);
            assert_eq!(proof["map"]["task"]["latitude"], 40.7163);
        }
    }
    assert_eq!(item["payment"]["escrow_cents"], 2500);
    let ledger = dev
        .live
        .get(&format!("{}/ledger", path(&task)))
        .await
        .expect(200);
    assert_eq!(item["ledger"], ledger["data"]);
    assert_eq!(item["payout_account"]["status"], "ready");
}

async fn send_documents(worker: &Worker, seed: &str) {
    let (identity, selfie) = (photo(seed), photo(&format!("{seed} selfie")));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
}

async fn a_verification_shows_what_was_sent_and_decided_before(app: TestApp) {
    let admin = app.admin_with(AdminRole::Operator).await;
    let worker = app.sign_up(&[]).await;
    send_documents(&worker, "blurred").await;
    let first = item(&admin, "worker_verification").await;
    assert_eq!(first["earlier_files"], json!([]));
    assert_eq!(first["earlier_decisions"], json!([]));
    let refuse = format!("/v1/admin/workers/{}/refuse", worker.id);
    admin.post(&refuse, &json!({})).await.expect(200);
    send_documents(&worker, "sharp").await;
    let again = item(&admin, "worker_verification").await;
    assert_eq!(again["worker"]["id"], worker.id);
    assert_eq!(again["files"].as_array().unwrap().len(), 2);
    let earlier = again["earlier_files"].as_array().unwrap();
    let mut kinds: Vec<_> = earlier.iter().map(|file| &file["kind"]).collect();
    kinds.sort_by_key(|kind| kind.to_string());
    assert_eq!(kinds, ["identity", "selfie"]);
    assert_eq!(earlier[0]["replaced_at"], TestApp::NOON);
    assert_eq!(earlier[0]["sha256"].as_str().unwrap().len(), 64);
    let decisions = again["earlier_decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0]["action"], "worker.refused");
    assert_eq!(decisions[0]["by"]["type"], "admin");
    // However often documents are replaced, what is kept of them is bounded.
    for seed in 0..12 {
        send_documents(&worker, &seed.to_string()).await;
    }
    let last = item(&admin, "worker_verification").await;
    assert_eq!(last["earlier_files"].as_array().unwrap().len(), 20);
    let kept = app
        .database
        .column("SELECT CAST(COUNT(*) AS TEXT) FROM replaced_documents")
        .await;
    assert_eq!(kept, ["20"]);
}

async fn a_flagged_proof_comes_with_its_places_and_findings(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let photo = photo("far");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7263"),
        ("gps_longitude", b"-73.9595"),
    ];
    let sent = worker.send_proof(&task, &parts).await.expect(201);
    let item = item(&admin, "flagged_proof").await;
    assert_eq!(item["proof"]["id"], sent["data"][0]["id"]);
    download(&app, &item["proof"]["file_url"]).await;
    let findings = item["evidence"]["findings"].as_array().unwrap();
    assert!(findings.iter().any(|found| found["code"] == "gps_far"));
    let map = &item["map"];
    assert_eq!(
        map["task"],
        json!({"latitude": 40.7163, "longitude": -73.9595})
    );
    assert_eq!(
        map["sent"],
        json!({"latitude": 40.7263, "longitude": -73.9595})
    );
    assert_eq!(
        map["sent_to_task_meters"],
        sent["data"][0]["distance_from_task_meters"]
    );
    assert_eq!(map["valid_meters"], 500.0);
    assert_eq!(map["exif"], Value::Null);
    assert_eq!(map["exif_to_sent_meters"], Value::Null);
    assert_eq!(item["task"]["id"], task["id"]);
}

async fn a_failed_payout_says_why_and_where_to(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "seed").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    let item = item(&admin, "failed_payout").await;
    let jobs = admin.get("/v1/admin/jobs?dead=true").await.expect(200);
    assert_eq!(item["error"], jobs["data"][0]["last_error"]);
    assert!(item["error"].is_string());
    assert_eq!(item["payout_account"]["status"], "ready");
    assert_eq!(item["payout_account"]["processor"], "sandbox");
    let ledger = item["ledger"].as_array().unwrap();
    assert_eq!(ledger.last().unwrap()["type"], "settlement");
    assert_eq!(item["payment"]["status"], "succeeded");
}

async fn the_original_of_a_proof_is_for_operators_and_every_look_is_recorded(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = disputed_task(&app, &dev, &worker).await;
    let id = task["id"].as_str().unwrap();
    let base = format!("/v1/admin/tasks/{id}/proofs");
    let viewer = app.admin_with(AdminRole::Viewer).await;
    let proofs = viewer.get(&base).await.expect(200);
    let own = dev.live.get(&format!("{}/proofs", path(&task))).await;
    assert_eq!(proofs["data"][0]["id"], own.expect(200)["data"][0]["id"]);
    assert_eq!(proofs["meta"]["total"], 1);
    let proof = proofs["data"][0]["id"].as_str().unwrap();
    let evidence = format!("{base}/{proof}/evidence");
    let evidence = viewer.get(&evidence).await.expect(200);
    assert_eq!(evidence["proof_id"], proof);
    let original = format!("{base}/{proof}/original");
    viewer.get(&original).await.expect_error(403, "FORBIDDEN");
    let looks = "/v1/admin/audit?action=proof.original_viewed";
    assert_eq!(viewer.get(looks).await.expect(200)["data"], json!([]));
    let operator = app.admin_with(AdminRole::Operator).await;
    let seen = operator.get(&original).await.expect(200);
    assert_eq!(seen["sha256"], evidence["sha256"]);
    assert_eq!(download(&app, &seen["file_url"]).await, photo(id).len());
    let looks = viewer.get(looks).await.expect(200);
    assert_eq!(looks["data"].as_array().unwrap().len(), 1);
    assert_eq!(looks["data"][0]["subject_id"], proof);
    assert_eq!(looks["data"][0]["details"], json!({"task_id": id}));
    for (path, code) in [
        (format!("{base}/none/evidence"), "PROOF_NOT_FOUND"),
        (format!("{base}/{id}/original"), "PROOF_NOT_FOUND"),
        ("/v1/admin/tasks/none/proofs".into(), "TASK_NOT_FOUND"),
        (
            format!("/v1/admin/tasks/{proof}/proofs/{proof}/original"),
            "TASK_NOT_FOUND",
        ),
    ] {
        operator.get(&path).await.expect_error(404, code);
    }
}

async fn an_admin_learns_which_other_task_has_the_same_photo(app: TestApp) {
    let (dev, other, admin) = (
        app.developer().await,
        app.developer().await,
        app.admin().await,
    );
    let worker = app.ready_worker().await;
    let mut proofs = Vec::new();
    for dev in [&dev, &other] {
        let task = dev.create_paid_task().await;
        worker.begin(&task).await;
        let proof = worker.prove(&task, "the same").await;
        proofs.push((task, proof));
    }
    let (task, proof) = &proofs[1];
    let of = format!("/proofs/{}/evidence", proof["id"].as_str().unwrap());
    let same = |evidence: Value| {
        let findings = evidence["findings"].as_array().unwrap().clone();
        let mut findings = findings.into_iter();
        findings
            .find(|found| found["code"] == "same_photo")
            .unwrap()
    };
    let own = other.live.get(&format!("{}{of}", path(task))).await;
    assert_eq!(same(own.expect(200))["task_id"], Value::Null);
    let task = task["id"].as_str().unwrap();
    let seen = admin.get(&format!("/v1/admin/tasks/{task}{of}")).await;
    let seen = same(seen.expect(200));
    assert_eq!(seen["task_id"], proofs[0].0["id"]);
    assert_eq!(seen["proof_id"], proofs[0].1["id"]);
}
