//! An upload that was begun in time holds the task.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{another, begun, create, patch, submit};
use crate::support::{Client, TestApp, on_both_engines, path as path_of, photo};

on_both_engines!(
    while_bytes_come_the_clock_waits,
    a_deadline_waits_for_the_file_too,
);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

async fn status(client: &Client, task: &Value) -> u16 {
    let path = format!("/v1/worker/tasks/{}", task["id"].as_str().unwrap());
    client.get(&path).await.status.as_u16()
}

async fn while_bytes_come_the_clock_waits(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let lazy = another(&app, &dev, json!(["photo"])).await;
    worker.begin(&lazy).await;
    // Both have to be done within 72 hours.
    app.advance(72 * HOUR - 10 * MINUTE);
    let path = create(client, &task, "photo", 1_000).await;
    app.advance(10 * MINUTE);
    let late = create(client, &lazy, "photo", 1_000).await;
    app.advance(MINUTE / 60);
    patch(client, &late, 0, b"x").await.expect(204);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0, "both are held");
    app.advance(5 * MINUTE);
    patch(client, &late, 1, b"x").await.expect(204);
    // The first has had no byte for 15 minutes.
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    assert_eq!(status(client, &task).await, 404, "released");
    patch(client, &path, 0, b"x")
        .await
        .expect_error(404, "TASK_NOT_FOUND");
    assert_eq!(status(client, &lazy).await, 200);
    // Six hours are the most.
    app.advance(6 * HOUR - 6 * MINUTE);
    patch(client, &late, 2, b"x").await.expect(204);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0);
    app.advance(MINUTE);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    assert_eq!(status(client, &lazy).await, 404);
}

async fn a_deadline_waits_for_the_file_too(app: TestApp) {
    let (dev, worker, _) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let task = another(&app, &dev, json!(["photo"])).await;
        worker.begin(&task).await;
        let (id, due) = (task["id"].as_str().unwrap(), app.clock.now().plus(HOUR));
        let due = due.as_millis();
        let set = format!("UPDATE tasks SET deadline = {due} WHERE id = '{id}'");
        app.database.execute(&set).await;
        tasks.push(task);
    }
    app.advance(HOUR - MINUTE);
    let file = photo("1");
    let path = create(client, &tasks[0], "photo", file.len()).await;
    app.advance(2 * MINUTE);
    // One that was begun too late does not count.
    create(client, &tasks[1], "photo", file.len()).await;
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    patch(client, &path, 0, &file).await.expect(204);
    app.advance(14 * MINUTE);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0);
    let id = path.rsplit('/').next().unwrap();
    submit(client, &tasks[0], &json!({"photo": id}))
        .await
        .expect(201);
    app.advance(HOUR);
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 0, "it is proven");
    let expired = dev.live.get(&path_of(&tasks[1])).await;
    assert_eq!(expired.expect(200)["status"], "expired");
}
