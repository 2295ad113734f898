//! Identity documents and selfies are kept only as long as they are needed.

use std::time::Duration;

use legwork::maintenance::expire_documents;
use serde_json::json;

use super::{DAY, send_documents, stored};
use crate::support::{Client, PASSWORD, TestApp, Worker, on_both_engines};
use crate::suspension::erasure::files_in;
use crate::suspension::{count, finish_jobs, ids, kill_jobs_when};

on_both_engines!(
    documents_go_so_long_after_the_decision,
    replaced_documents_go_at_once,
    a_file_goes_however_often_its_job_is_killed,
    documents_whose_decision_was_not_dated_go_too,
);

const KEPT: Duration = DAY.saturating_mul(90);

async fn decide(app: &TestApp, worker: &Worker, decision: &str) {
    let path = format!("/v1/admin/workers/{}/{decision}", worker.id);
    let decided = app.admin().await.post(&path, &json!({})).await;
    decided.expect(200);
}

/// A token ends after 30 days.
async fn sign_in_again(app: &TestApp, worker: Worker) -> Worker {
    let body = json!({"email": worker.email, "password": PASSWORD});
    let signed_in = app.client().post("/v1/workers/sessions", &body).await;
    let token = signed_in.expect(201)["token"].clone();
    Worker {
        client: Client::new(app.address, token.as_str()),
        ..worker
    }
}

async fn expire(app: &TestApp) {
    let now = app.clock.now();
    expire_documents(&app.store, KEPT, now).await.unwrap();
    finish_jobs(app).await;
}

async fn documents_go_so_long_after_the_decision(app: TestApp) {
    let waiting = app.sign_up(&[]).await;
    send_documents(&waiting, "waiting").await;
    for decision in ["verify", "refuse", "suspend"] {
        let worker = app.sign_up(&[]).await;
        send_documents(&worker, decision).await;
        decide(&app, &worker, decision).await;
    }
    finish_jobs(&app).await;
    app.advance(KEPT - Duration::from_millis(1));
    expire(&app).await;
    assert_eq!(count(&app, "verification_files").await, 8);
    app.advance(Duration::from_millis(1));
    expire(&app).await;
    // Of those that nobody has decided on, nothing goes.
    let left = ids(&app, "SELECT DISTINCT worker_id FROM verification_files").await;
    assert_eq!(left, [waiting.id]);
    assert_eq!(files_in(&stored(&app)), 2);
}

async fn replaced_documents_go_at_once(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    send_documents(&worker, "first").await;
    decide(&app, &worker, "refuse").await;
    app.advance(DAY * 89);
    let worker = sign_in_again(&app, worker).await;
    send_documents(&worker, "second").await;
    finish_jobs(&app).await;
    assert_eq!(files_in(&stored(&app)), 2);
    // The new ones count from their own decision.
    app.advance(DAY * 89);
    expire(&app).await;
    decide(&app, &worker, "verify").await;
    app.advance(DAY * 89);
    expire(&app).await;
    assert_eq!(count(&app, "verification_files").await, 2);
    app.advance(DAY);
    expire(&app).await;
    assert_eq!(count(&app, "verification_files").await, 0);
    assert_eq!(files_in(&stored(&app)), 0);
}

async fn a_file_goes_however_often_its_job_is_killed(app: TestApp) {
    for n in 0..8 {
        let worker = app.sign_up(&[]).await;
        send_documents(&worker, &n.to_string()).await;
        decide(&app, &worker, "refuse").await;
    }
    finish_jobs(&app).await;
    app.advance(KEPT);
    let now = app.clock.now();
    expire_documents(&app.store, KEPT, now).await.unwrap();
    // No row names a file any more, and each file has its job.
    assert_eq!(count(&app, "verification_files").await, 0);
    let due = "SELECT subject FROM jobs WHERE kind = 'delete_file'";
    assert_eq!(ids(&app, due).await.len(), files_in(&stored(&app)));
    kill_jobs_when(&app, async || files_in(&stored(&app)) < 16).await;
    finish_jobs(&app).await;
    assert_eq!(files_in(&stored(&app)), 0);
}

async fn documents_whose_decision_was_not_dated_go_too(app: TestApp) {
    let (decided, waiting) = (app.sign_up(&[]).await, app.sign_up(&[]).await);
    send_documents(&decided, "decided").await;
    send_documents(&waiting, "waiting").await;
    decide(&app, &decided, "verify").await;
    // As a server of before has left them.
    app.database
        .execute("UPDATE verification_files SET decided_at = NULL")
        .await;
    app.advance(KEPT - Duration::from_millis(1));
    expire(&app).await;
    assert_eq!(count(&app, "verification_files").await, 4);
    // The id of a document tells when it was sent, to the millisecond.
    app.advance(Duration::from_millis(2));
    expire(&app).await;
    let left = ids(&app, "SELECT DISTINCT worker_id FROM verification_files").await;
    assert_eq!(left, [waiting.id]);
}
