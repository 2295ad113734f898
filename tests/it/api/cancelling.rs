//! POST /v1/tasks/:id/cancel

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    a_task_is_cancelled_once,
    a_task_in_progress_cannot_be_cancelled,
    of_many_cancels_one_wins,
    cancel_takes_no_fields,
);

const LATER: &str = "2026-11-15T13:00:00.000Z";

async fn a_task_is_cancelled_once(app: TestApp) {
    let dev = app.developer().await;
    let tasks = [
        (&dev.test, dev.create_task().await),
        (&dev.live, dev.create_live_task().await),
    ];
    app.set_time(LATER);
    for (client, task) in tasks {
        let cancel = format!("{}/cancel", path(&task));
        let answer = client.send("POST", &cancel, &[], "").await.expect(200);
        let expected = json!({"id": task["id"], "status": "cancelled",
            "cancelled_at": LATER, "updated_at": LATER});
        assert_eq!(answer, expected);
        let cancelled = client.get(&path(&task)).await.expect(200);
        assert_eq!(cancelled["status"], "cancelled");
        assert_eq!(cancelled["cancelled_at"], LATER);
        assert_eq!(cancelled["created_at"], TestApp::NOON);
        let again = client.send("POST", &cancel, &[], "").await;
        again.expect_error(409, "INVALID_TASK_STATE");
    }
}

async fn a_task_in_progress_cannot_be_cancelled(app: TestApp) {
    let dev = app.developer().await;
    for status in [
        "in_progress",
        "proof_submitted",
        "proof_rejected",
        "completed",
        "disputed",
    ] {
        let task = dev.create_task().await;
        let id = task["id"].as_str().unwrap();
        let put = format!("UPDATE tasks SET status = '{status}' WHERE id = '{id}'");
        app.database.execute(&put).await;
        let reply = dev
            .test
            .post(&format!("{}/cancel", path(&task)), &json!({}))
            .await;
        reply.expect_error(409, "INVALID_TASK_STATE");
        assert_eq!(
            dev.test.get(&path(&task)).await.expect(200)["status"],
            status
        );
    }
}

async fn of_many_cancels_one_wins(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..5 {
        let task = dev.create_task().await;
        let cancel = format!("{}/cancel", path(&task));
        let body = json!({});
        let replies = join_all((0..20).map(|_| dev.test.post(&cancel, &body))).await;
        let won = replies.iter().filter(|reply| reply.status == 200).count();
        let lost = replies.iter().filter(|reply| reply.status == 409).count();
        assert_eq!((won, lost), (1, 19));
    }
    let list = dev.test.get("/v1/tasks?status=cancelled").await.expect(200);
    assert_eq!(list["meta"]["total"], 5);
}

async fn cancel_takes_no_fields(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let reply = dev
        .test
        .post(&format!("{}/cancel", path(&task)), &json!({"why": "x"}))
        .await;
    assert_eq!(reply.faulty_fields(), ["why"]);
    assert_eq!(dev.test.get(&path(&task)).await.expect(200), task);
}
