//! POST /v1/tasks/:id/cancel

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{TestApp, on_both_engines, path, storefront};

on_both_engines!(
    a_task_is_cancelled_once,
    a_task_in_progress_cannot_be_cancelled,
    of_many_cancels_one_wins,
    cancel_takes_no_other_fields,
    the_money_of_a_cancel_can_be_seen,
    a_cancel_that_expects_another_refund_changes_nothing,
    of_an_accept_and_a_cancel_that_expects_all_back_one_wins,
);

const LATER: &str = "2025-11-15T13:00:00.000Z";

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

async fn cancel_takes_no_other_fields(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let reply = dev
        .test
        .post(&format!("{}/cancel", path(&task)), &json!({"why": "x"}))
        .await;
    assert_eq!(reply.faulty_fields(), ["why"]);
    assert_eq!(dev.test.get(&path(&task)).await.expect(200), task);
}

async fn the_money_of_a_cancel_can_be_seen(app: TestApp) {
    let dev = app.developer().await;
    let ready = app.ready_worker().await;
    let unpaid = dev.create_live_task().await;
    let posted = dev.create_paid_task().await;
    let assigned = dev.create_paid_task().await;
    ready.act(&assigned, "accept").await.expect(200);
    let nothing = json!({"amount_cents": 0, "paid_cents": 0, "platform_fee_cents": 0});
    let half = json!({"amount_cents": 1050, "paid_cents": 0, "platform_fee_cents": 200});
    for (task, refund, payout) in [
        (&unpaid, 0, &nothing),
        (&posted, 2500, &nothing),
        (&assigned, 1250, &half),
    ] {
        let cancel = format!("{}/cancel", path(task));
        dev.live.post(&cancel, &json!({})).await.expect(200);
        let id = task["id"].as_str().unwrap();
        let told = format!("/v1/events?type=task.cancelled&task_id={id}");
        let told = dev.live.get(&told).await.expect(200)["data"][0]["data"].clone();
        assert_eq!(told["status"], "cancelled");
        assert_eq!(
            told["refund"],
            json!({"amount_cents": refund, "paid_cents": 0})
        );
        assert_eq!(&told["payout"], payout);
    }
    app.jobs.drain().await.unwrap();
    let payment = |task| {
        let path = format!("{}/payment", path(task));
        let live = dev.live.clone();
        async move { live.get(&path).await.expect(200) }
    };
    let shown = payment(&unpaid).await;
    assert_eq!(shown["refund"], json!(null));
    assert_eq!(shown["payout"], json!(null));
    let shown = payment(&posted).await;
    let all = json!({"amount_cents": 2500, "paid_cents": 2500});
    assert_eq!((&shown["refund"], &shown["payout"]), (&all, &json!(null)));
    let shown = payment(&assigned).await;
    let refund = json!({"amount_cents": 1250, "paid_cents": 1250});
    let payout = json!({"amount_cents": 1050, "paid_cents": 1050, "platform_fee_cents": 200});
    assert_eq!((&shown["refund"], &shown["payout"]), (&refund, &payout));
}

async fn a_cancel_that_expects_another_refund_changes_nothing(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let cancel = format!("{}/cancel", path(&task));
    for faulty in [json!(-1), json!(2500.5), json!("2500"), json!(100_000_000)] {
        let body = json!({"expected_refund_cents": faulty});
        let reply = dev.test.post(&cancel, &body).await;
        assert_eq!(reply.faulty_fields(), ["expected_refund_cents"], "{faulty}");
    }
    let key = [("idempotency-key", "once")];
    let body = json!({"expected_refund_cents": 1250});
    let reply = dev.test.post_with(&cancel, &key, &body).await;
    let refused = reply.expect_error(409, "REFUND_DIFFERS").body["error"].clone();
    assert_eq!(
        refused["message"],
        "cancelling would refund 2500 cents now, not 1250"
    );
    let details = json!([{"field": "expected_refund_cents", "message": "must be 2500"}]);
    assert_eq!(refused["details"], details);
    assert_eq!(dev.test.get(&path(&task)).await.expect(200), task);
    let body = json!({"expected_refund_cents": 2500});
    let answer = dev.test.post(&cancel, &body).await.expect(200);
    let fields: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields.len(), 4, "{answer}");
    // A task that cannot be cancelled says so, whatever was expected.
    let again = dev.test.post(&cancel, &body).await;
    again.expect_error(409, "INVALID_TASK_STATE");
    // Nobody has paid, so nothing comes back.
    let unpaid = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    let cancel = format!("{}/cancel", path(&unpaid));
    let refused = dev.live.post(&cancel, &body).await;
    refused.expect_error(409, "REFUND_DIFFERS");
    let body = json!({"expected_refund_cents": 0});
    dev.live.post(&cancel, &body).await.expect(200);
}

/// Whoever comes second learns that the other was faster, and no cent goes where nobody expects it.
async fn of_an_accept_and_a_cancel_that_expects_all_back_one_wins(app: TestApp) {
    let dev = app.developer().await;
    for round in 0..8 {
        let worker = app.ready_worker().await;
        let task = dev.create_paid_task().await;
        let (cancel, body) = (
            format!("{}/cancel", path(&task)),
            json!({"expected_refund_cents": 2500}),
        );
        let cancel = dev.live.post(&cancel, &body);
        let accept = worker.act(&task, "accept");
        let (cancelled, accepted) = match round % 2 {
            0 => futures_util::join!(cancel, accept),
            _ => {
                let (accepted, cancelled) = futures_util::join!(accept, cancel);
                (cancelled, accepted)
            }
        };
        let status = dev.live.get(&path(&task)).await.expect(200)["status"].clone();
        if cancelled.status == 200 {
            accepted.expect_error(409, "INVALID_TASK_STATE");
            assert_eq!(status, "cancelled");
        } else {
            cancelled.expect_error(409, "REFUND_DIFFERS");
            accepted.expect(200);
            assert_eq!(status, "assigned");
        }
    }
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}
