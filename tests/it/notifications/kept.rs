//! Without a mail server, notifications are only kept.

use crate::support::{TestApp, on_both_engines};

on_both_engines!(without_a_mail_server_nothing_is_written_to_be_mailed);

async fn without_a_mail_server_nothing_is_written_to_be_mailed(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    app.jobs.drain().await.unwrap();
    worker.act(&task, "accept").await.expect(200);
    let assigned = "SELECT status FROM notices WHERE kind = 'task_assigned'";
    assert_eq!(app.database.column(assigned).await, ["kept"]);
    let jobs = app.database.column("SELECT kind FROM jobs").await;
    assert!(jobs.is_empty(), "{jobs:?}");
}
