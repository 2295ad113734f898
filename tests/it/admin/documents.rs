//! Identity documents: who sees them, and what is remembered of it.

use legwork::domain::AdminRole;
use serde_json::{Value, json};

use crate::support::{Client, Reply, TestApp, Worker, on_both_engines, photo};
use crate::workers::proofs::proving::stored_files;

on_both_engines!(
    viewers_get_no_document,
    every_look_at_a_document_is_in_the_audit_log,
    documents_stay_as_they_are_while_an_admin_looks_at_them,
);

async fn send(worker: &Worker, identity: &str) -> Reply {
    let (identity, selfie) = (photo(identity), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await
}

async fn applicant(app: &TestApp) -> (Worker, String) {
    let worker = app.sign_up(&[]).await;
    send(&worker, "identity").await.expect(201);
    let admin = app.admin_with(AdminRole::Viewer).await;
    let queue = admin.get("/v1/admin/queue").await.expect(200);
    let item = queue["data"][0]["id"].as_str().unwrap();
    (worker, format!("/v1/admin/queue/{item}"))
}

fn urls(body: &Value) -> Vec<Option<&str>> {
    let files = body["files"].as_array().unwrap().iter();
    files.map(|file| file["file_url"].as_str()).collect()
}

async fn looks(app: &TestApp) -> Vec<Value> {
    let audit = "/v1/admin/audit?action=worker.documents_viewed";
    let lines = app.admin().await.get(audit).await.expect(200);
    lines["data"].as_array().unwrap().clone()
}

async fn viewers_get_no_document(app: TestApp) {
    let (worker, item) = applicant(&app).await;
    let person = format!("/v1/admin/workers/{}", worker.id);
    let viewer = app.admin_with(AdminRole::Viewer).await;
    for path in [&item, &person] {
        let seen = viewer.get(path).await.expect(200);
        assert_eq!(urls(&seen), [None, None]);
        assert_eq!(seen["files"][0]["kind"], "identity");
        assert!(!seen.to_string().contains("/files/"), "{seen}");
    }
    // Lists and answers to decisions have none for anybody: nobody looks at a hundred at once.
    let owner = app.admin().await;
    for list in [
        "/v1/admin/queue",
        "/v1/admin/queue?kind=worker_verification",
    ] {
        let list = owner.get(list).await.expect(200);
        assert_eq!(urls(&list["data"][0]), [None, None]);
    }
    let claimed = owner.post(&format!("{item}/claim"), &json!({})).await;
    assert_eq!(urls(&claimed.expect(200)), [None, None]);
    assert_eq!(looks(&app).await, Vec::<Value>::new());
}

async fn every_look_at_a_document_is_in_the_audit_log(app: TestApp) {
    let (worker, item) = applicant(&app).await;
    let person = format!("/v1/admin/workers/{}", worker.id);
    let open = async |admin: &Client, path: &str| {
        let seen = admin.get(path).await.expect(200);
        for url in urls(&seen) {
            let (_, file) = url.unwrap().split_once("/files/").unwrap();
            let file = app.client().get(&format!("/files/{file}")).await;
            assert_eq!(file.status, 200);
        }
    };
    open(&app.admin_with(AdminRole::Operator).await, &item).await;
    open(&app.admin_with(AdminRole::Owner).await, &person).await;
    let looks = looks(&app).await;
    assert_eq!(looks.len(), 2);
    for look in &looks {
        assert_eq!(look["subject"], "worker");
        assert_eq!(look["subject_id"], worker.id);
        assert_eq!(look["by"]["type"], "admin");
    }
    // Newest first.
    assert_eq!(looks[0]["details"]["item_id"], Value::Null);
    assert!(item.ends_with(looks[1]["details"]["item_id"].as_str().unwrap()));
    assert_ne!(looks[0]["by"]["id"], looks[1]["by"]["id"]);
    // Where there is nothing to see, nobody has looked.
    let other = app.sign_up(&[]).await;
    let path = format!("/v1/admin/workers/{}", other.id);
    app.admin().await.get(&path).await.expect(200);
    assert_eq!(self::looks(&app).await.len(), 2);
}

async fn documents_stay_as_they_are_while_an_admin_looks_at_them(app: TestApp) {
    let (worker, item) = applicant(&app).await;
    send(&worker, "nobody has looked yet").await.expect(201);
    let admin = app.admin().await;
    let claimed = admin.post(&format!("{item}/claim"), &json!({})).await;
    claimed.expect(200);
    let files = stored_files(&app);
    let refused = send(&worker, "of somebody else").await;
    refused.expect_error(409, "INVALID_WORKER_STATE");
    assert_eq!(stored_files(&app), files);
    let released = admin.post(&format!("{item}/release"), &json!({})).await;
    released.expect(200);
    send(&worker, "better light").await.expect(201);
}
