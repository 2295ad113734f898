//! How much a worker may have under way, and for how long.

use std::time::Duration;

use serde_json::json;

use super::client::{TUS, begun, create, create_with, head, offset, patch, upload};
use super::protocol::parts_on_disk;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_worker_has_twenty_uploads,
    an_upload_expires_after_its_last_byte,
    bytes_of_uploads_count_for_the_day,
    a_task_that_takes_no_proof_takes_no_bytes,
);

async fn a_worker_has_twenty_uploads(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let mut last = String::new();
    for _ in 0..20 {
        last = create(client, &task, "photo", 10).await;
    }
    let refused = create_with(client, &task, ("photo", 10), &[], b"").await;
    refused.expect_error(429, "TOO_MANY_UPLOADS");
    client.send("DELETE", &last, &[TUS], "").await;
    create(client, &task, "photo", 10).await;
}

const HOUR: Duration = Duration::from_secs(60 * 60);

async fn an_upload_expires_after_its_last_byte(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let path = create(client, &task, "photo", 10).await;
    app.advance(71 * HOUR);
    patch(client, &path, 0, b"01234").await.expect(204);
    app.advance(71 * HOUR);
    assert_eq!(offset(client, &path).await, 5);
    let maintain = async |app: &TestApp| {
        let now = app.clock.now();
        legwork::maintenance::expire_uploads(&app.store, now)
            .await
            .unwrap();
        legwork::maintenance::prune(&app.store, now).await.unwrap();
        app.jobs.drain().await.unwrap();
    };
    maintain(&app).await;
    assert_eq!(parts_on_disk(&app), 1);
    app.advance(2 * HOUR);
    assert_eq!(
        head(client, &path).await.status,
        410,
        "before it is deleted"
    );
    maintain(&app).await;
    assert_eq!(parts_on_disk(&app), 0);
    assert_eq!(head(client, &path).await.status, 410);
    // After a week nobody knows of it.
    app.advance(8 * 24 * HOUR);
    maintain(&app).await;
    let count = "SELECT CAST(COUNT(*) AS TEXT) FROM uploads";
    assert_eq!(app.database.column(count).await, ["0"]);
}

async fn bytes_of_uploads_count_for_the_day(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    upload(client, &task, "photo", &[7; 1_000]).await;
    let sent = "SELECT CAST(bytes AS TEXT) FROM worker_uploads";
    assert_eq!(app.database.column(sent).await, ["1000"]);
    app.database
        .execute("UPDATE worker_uploads SET bytes = 4999999990")
        .await;
    let path = create(client, &task, "photo", 1_000).await;
    let refused = patch(client, &path, 0, &[7; 11]).await;
    refused.expect_error(429, "RATE_LIMITED");
    patch(client, &path, 0, &[7; 10]).await.expect(204);
}

async fn a_task_that_takes_no_proof_takes_no_bytes(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let path = create(client, &task, "photo", 10).await;
    worker.prove(&task, "1").await;
    let refused = patch(client, &path, 0, b"0").await;
    refused.expect_error(409, "INVALID_TASK_STATE");
    let refused = create_with(client, &task, ("photo", 10), &[], b"").await;
    refused.expect_error(409, "INVALID_TASK_STATE");
    let other = app.ready_worker().await;
    let refused = create_with(&other.client, &task, ("photo", 10), &[], b"").await;
    refused.expect_error(404, "TASK_NOT_FOUND");
}
