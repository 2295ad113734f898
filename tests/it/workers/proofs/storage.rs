//! What the proofs of an account take in storage, and how long test files are kept.

use std::time::Duration;

use legwork::domain::{AccountId, Environment, Owner, Tier};
use legwork::maintenance::expire_files;
use legwork::store::{StoreError, Tx};
use serde_json::{Value, json};

use super::proving::{files_in, no_files_left};
use super::uploads::announce;
use crate::support::{
    Database, Developer, GOOD_CARD, TestApp, Worker, on_both_engines, path, storefront,
};

on_both_engines!(
    storage_is_counted_and_ends,
    a_body_that_does_not_fit_is_refused_before_it_is_read,
    the_simulated_worker_fills_the_storage_of_the_test_environment,
    test_files_are_deleted_after_thirty_days,
);

/// A task of a developer on the free tier, who may store 300,000 bytes.
async fn begun_free(app: &TestApp) -> (Developer, Worker, Value) {
    let dev = app.developer_on(Tier::Free).await;
    let worker = app.ready_worker().await;
    let created = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, GOOD_CARD).await;
    worker.begin(&created).await;
    (dev, worker, created)
}

async fn stored(app: &TestApp, dev: &Developer, environment: &str) -> u64 {
    let sql = format!(
        "SELECT CAST(stored_bytes AS TEXT) FROM task_totals
         WHERE account_id = '{}' AND environment = '{environment}'",
        dev.account_id
    );
    app.database.column(&sql).await[0].parse().unwrap()
}

/// Through the store, so that the next request sees it.
async fn set_stored(app: &TestApp, dev: &Developer, environment: Environment, bytes: u64) {
    let account = AccountId::parse(&dev.account_id).unwrap();
    let owner = Owner {
        account,
        environment,
    };
    let set = move |tx: &mut Tx<'_>| {
        let (_, used) = tx.storage(owner)?.unwrap();
        tx.take_storage(owner, bytes as i64 - used, u64::MAX)
    };
    assert!(app.store.write::<_, StoreError, _>(set).await.unwrap());
}

fn bytes_of_files(database: &Database) -> u64 {
    fn sum(folder: &std::path::Path) -> u64 {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let sizes = entries.map(|entry| {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => sum(&path),
                false => path.metadata().unwrap().len(),
            }
        });
        sizes.sum()
    }
    sum(&database.folder.path().join("files"))
}

async fn storage_is_counted_and_ends(app: TestApp) {
    let (dev, worker, task) = begun_free(&app).await;
    let proof = worker.prove(&task, "1").await;
    let taken = stored(&app, &dev, "live").await;
    assert_eq!(taken, bytes_of_files(&app.database));
    // The work is done, and is to be paid, also when all is full.
    dev.review(&task, &proof, "reject").await.expect(200);
    set_stored(&app, &dev, Environment::Live, 300_000).await;
    worker.prove(&task, "2").await;
    assert!(stored(&app, &dev, "live").await > 300_000);
    // But there is no more of it.
    let full = dev.live.post("/v1/tasks", &storefront()).await;
    full.expect_error(409, "STORAGE_FULL");
    dev.create_task().await;
    let admin = app.admin().await;
    let tier = format!("/v1/admin/accounts/{}/tier", dev.account_id);
    let more = json!({"tier": "growth"});
    admin.post(&tier, &more).await.expect(200);
    dev.live.post("/v1/tasks", &storefront()).await.expect(201);
}

async fn a_body_that_does_not_fit_is_refused_before_it_is_read(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    let task = dev.create_task().await;
    let helper = |what: &str| format!("/v1/test_helpers{}/{what}", &path(&task)[3..]);
    let to = json!({"to": "in_progress"});
    dev.test.post(&helper("advance"), &to).await.expect(200);
    let path = helper("proofs");
    let large = announce(&app, &dev.test, &path, 9_000_000).await;
    assert!(large.starts_with("HTTP/1.1 409 "), "{large}");
    assert!(large.contains("STORAGE_FULL"), "{large}");
    set_stored(&app, &dev, Environment::Test, 300_000).await;
    let small = announce(&app, &dev.test, &path, 1_000).await;
    assert!(small.starts_with("HTTP/1.1 409 "), "{small}");
    assert!(small.contains("STORAGE_FULL"), "{small}");
    // Without an announcement it is refused as it comes.
    set_stored(&app, &dev, Environment::Test, 0).await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-type: multipart/form-data; boundary=b\r\ntransfer-encoding: chunked\r\n\r\n",
        dev.test.key()
    );
    let content = "x".repeat(1_000_000);
    let part = "--b\r\nContent-Disposition: form-data; name=\"photo\"\r\n\r\n";
    let length = part.len() + content.len();
    let body = format!("{head}{length:x}\r\n{part}{content}\r\n0\r\n\r\n");
    let answer = crate::support::exchange(app.address, body.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 409 "), "{answer}");
    assert!(answer.contains("STORAGE_FULL"), "{answer}");
    no_files_left(&app).await;
}

async fn submitted_in_test(app: &TestApp, dev: &Developer) -> Value {
    let task = dev.create_task().await;
    let advance = format!("/v1/test_helpers{}/advance", &path(&task)[3..]);
    let to = json!({"to": "proof_submitted"});
    let reply = dev.test.post(&advance, &to).await;
    assert!(files_in(app) > 0 || reply.status == 409);
    reply.expect(200)
}

async fn the_simulated_worker_fills_the_storage_of_the_test_environment(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    submitted_in_test(&app, &dev).await;
    let taken = stored(&app, &dev, "test").await;
    assert_eq!(taken, bytes_of_files(&app.database));
    assert_eq!(stored(&app, &dev, "live").await, 0);
    set_stored(&app, &dev, Environment::Test, 299_000).await;
    let task = dev.create_task().await;
    let helper = |what: &str| format!("/v1/test_helpers{}/{what}", &path(&task)[3..]);
    let to = json!({"to": "proof_submitted"});
    let full = dev.test.post(&helper("advance"), &to).await;
    full.expect_error(409, "STORAGE_FULL");
    let to = json!({"to": "in_progress"});
    dev.test.post(&helper("advance"), &to).await.expect(200);
    let place = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595});
    let full = dev.test.post(&helper("proofs"), &place).await;
    full.expect_error(409, "STORAGE_FULL");
}

async fn test_files_are_deleted_after_thirty_days(app: TestApp) {
    let dev = app.developer().await;
    // A clock that is ahead does not keep them longer.
    let ahead = json!({"advance_seconds": 90 * 24 * 60 * 60});
    let wound = dev.test.post("/v1/test_helpers/clock", &ahead).await;
    wound.expect(200);
    let task = submitted_in_test(&app, &dev).await;
    let (live, worker, paid) = begun_free(&app).await;
    worker.prove(&paid, "live").await;
    let kept = bytes_of_files(&app.database) - stored(&app, &dev, "test").await;
    let (day, files) = (Duration::from_secs(24 * 60 * 60), &app.app.files);
    let now = app.clock.now();
    let early = expire_files(&app.store, files, now.plus(30 * day).minus(day)).await;
    assert_eq!(early.unwrap(), 0);
    let list = format!("{}/proofs", path(&task));
    let proof = dev.test.get(&list).await.expect(200)["data"][0].clone();
    assert!(proof["file_url"].is_string());
    let due = now.plus(30 * day);
    assert_eq!(expire_files(&app.store, files, due).await.unwrap(), 1);
    assert_eq!(expire_files(&app.store, files, due).await.unwrap(), 0);
    let mut after = dev.test.get(&list).await.expect(200)["data"][0].clone();
    assert_eq!(after["file_url"], Value::Null);
    after["file_url"] = proof["file_url"].clone();
    assert_eq!(after, proof, "the proof stays as it was");
    let url = proof["file_url"].as_str().unwrap();
    let file = &url[url.find("/files/").unwrap()..];
    app.client().get(file).await.expect_error(404, "NOT_FOUND");
    assert_eq!(stored(&app, &dev, "test").await, 0);
    assert_eq!(bytes_of_files(&app.database), kept);
    assert_eq!(stored(&app, &live, "live").await, kept);
    let id = proof["id"].as_str().unwrap();
    let approve = format!("{list}/{id}/approve");
    dev.test.post(&approve, &json!({})).await.expect(200);
}
