//! What is in a bundle, and who may have it.

use std::collections::BTreeMap;
use std::time::Duration;

use legwork::maintenance::expire_files;
use serde_json::{Value, json};

use super::{bundle, completed, published, verify};
use crate::admin::disputed_task;
use crate::support::archive::unzip;
use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    it_holds_what_the_api_shows,
    a_dispute_is_in_it,
    files_that_are_gone_are_named,
    it_is_for_the_owner_alone,
    a_place_is_given_back_when_a_bundle_was_taken,
);

fn json_of(entries: &BTreeMap<String, Vec<u8>>, name: &str) -> Value {
    serde_json::from_slice(&entries[name]).unwrap()
}

async fn it_holds_what_the_api_shows(app: TestApp) {
    let (dev, task) = completed(&app).await;
    let bytes = bundle(&dev.live, &task).await;
    let verified = verify(&bytes, &published(&app).await).unwrap();
    assert_eq!(json!(verified.task_id), task["id"]);
    assert_eq!(verified.made_at, TestApp::NOON);
    assert!(verified.missing.is_empty());
    let entries = unzip(&bytes);
    assert_eq!(verified.entries, entries.len());
    let shown = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(json_of(&entries, "task.json"), shown);
    for part in ["history", "ledger"] {
        let list = dev.live.get(&format!("{}/{part}", path(&task))).await;
        let document = json_of(&entries, &format!("{part}.json"));
        assert_eq!(document, list.expect(200)["data"], "{part}");
    }
    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    assert_eq!(json_of(&entries, "payment.json"), payment.expect(200));
    let proofs = dev.live.get(&format!("{}/proofs", path(&task))).await;
    let proofs = proofs.expect(200)["data"].clone();
    let proof = json_of(&entries, "proofs.json")[0].clone();
    assert_eq!(proof["id"], proofs[0]["id"]);
    assert_eq!(proof["gps_latitude"], proofs[0]["gps_latitude"]);
    let url = proofs[0]["file_url"].as_str().unwrap();
    let shown = app.client().get(&url[url.find("/files/").unwrap()..]).await;
    assert_eq!(entries[proof["file"].as_str().unwrap()], shown.bytes);
    let id = proof["id"].as_str().unwrap();
    let evidence = format!("{}/proofs/{id}/evidence", path(&task));
    let evidence = dev.live.get(&evidence).await.expect(200);
    assert_eq!(json_of(&entries, "evidence.json"), json!([evidence]));
    assert!(!entries.contains_key("dispute.json"));
    let manifest = json_of(&entries, "manifest.json");
    assert_eq!(manifest["task_id"], task["id"]);
    assert_eq!(manifest["environment"], "live");
}

async fn a_dispute_is_in_it(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = disputed_task(&app, &dev, &worker).await;
    let entries = unzip(&bundle(&dev.live, &task).await);
    let dispute = dev.live.get(&format!("{}/dispute", path(&task))).await;
    assert_eq!(json_of(&entries, "dispute.json"), dispute.expect(200));
}

async fn files_that_are_gone_are_named(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let id = task["id"].as_str().unwrap();
    let advance = format!("/v1/test_helpers/tasks/{id}/advance");
    let to = json!({"to": "proof_submitted"});
    dev.test.post(&advance, &to).await.expect(200);
    let proofs = dev.test.get(&format!("{}/proofs", path(&task))).await;
    let proof = proofs.expect(200)["data"][0]["id"].clone();
    let proof = proof.as_str().unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    // The file alone.
    let files = app.database.folder.path().join("files");
    std::fs::remove_dir_all(files.join("proofs")).unwrap();
    let missing = async |reason: &str| {
        let bytes = bundle(&dev.test, &task).await;
        let verified = verify(&bytes, &published(&app).await).unwrap();
        let [(name, why)] = verified.missing.as_slice() else {
            panic!("{:?}", verified.missing);
        };
        assert!(name.contains(proof), "{name}");
        assert_eq!(why, reason);
        assert!(!unzip(&bytes).contains_key(name));
    };
    missing("gone").await;
    // 30 days after a test proof was sent, as every file of a test proof.
    app.advance(day * 30);
    let expired = expire_files(&app.store, &app.app.files, app.clock.now()).await;
    assert_eq!(expired.unwrap(), 1);
    missing("expired").await;
}

async fn it_is_for_the_owner_alone(app: TestApp) {
    let (dev, task) = completed(&app).await;
    let other = app.developer().await;
    for client in [&other.live, &dev.test] {
        let reply = client.get(&format!("{}/bundle", path(&task))).await;
        reply.expect_error(404, "TASK_NOT_FOUND");
    }
    let reply = app.client().get(&format!("{}/bundle", path(&task))).await;
    reply.expect_error(401, "UNAUTHORIZED");
    let reply = dev.live.get("/v1/tasks/nothing/bundle").await;
    reply.expect_error(404, "TASK_NOT_FOUND");
}

async fn a_place_is_given_back_when_a_bundle_was_taken(app: TestApp) {
    let (dev, task) = completed(&app).await;
    let path = format!("{}/bundle", path(&task));
    // Whoever has taken its bundle gives the place back.
    for _ in 0..70 {
        let reply = dev.live.get(&path).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
}
