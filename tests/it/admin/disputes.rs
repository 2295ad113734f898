//! An admin decides who is right; the money follows, and both sides read why.

use legwork::domain::LedgerAccount;
use serde_json::{Value, json};

use super::{disputed_task, ids};
use crate::support::{TestApp, balance, on_both_engines, path};

on_both_engines!(
    a_decision_moves_the_money_and_is_told_to_both_sides,
    a_decision_is_read_as_strictly_as_anything,
    only_a_dispute_can_be_decided_and_only_once,
    a_dispute_is_nobody_elses_business,
    a_dispute_of_the_test_world_is_decided_there,
    the_developer_states_their_side_until_it_is_decided,
);

fn decide(task: &Value) -> String {
    let id = task["id"].as_str().unwrap();
    format!("/v1/admin/disputes/{id}/decide")
}

async fn a_decision_moves_the_money_and_is_told_to_both_sides(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    for (body, status, (worker_cents, fee_cents)) in [
        (
            json!({"decision": "pay", "note": "It is there."}),
            "completed",
            (2100, 400),
        ),
        (
            json!({"decision": "refund", "note": "It is not."}),
            "refunded",
            (0, 0),
        ),
        (
            json!({"decision": "split", "paid_cents": 1000, "note": "Half of it is."}),
            "completed",
            (840, 160),
        ),
    ] {
        let before = app.verify().await;
        let task = disputed_task(&app, &dev, &worker).await;
        let open = dev
            .live
            .get(&format!("{}/dispute", path(&task)))
            .await
            .expect(200);
        assert_eq!(open["statement"], "The door is in the picture.");
        assert_eq!(
            (&open["decision"], &open["decided_at"]),
            (&Value::Null, &Value::Null)
        );
        let decided = admin.post(&decide(&task), &body).await.expect(200);
        assert_eq!(
            (&decided["id"], &decided["status"]),
            (&task["id"], &json!(status))
        );
        app.jobs.drain().await.unwrap();
        let after = app.verify().await;
        TestApp::expect_settled(&after);
        let earned = balance(&after, LedgerAccount::PlatformFees)
            - balance(&before, LedgerAccount::PlatformFees);
        assert_eq!(earned, fee_cents);
        let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
        let of_task = |payout: &&Value| payout["task_id"] == task["id"];
        let payouts = earnings["payouts"].as_array().unwrap();
        let paid = payouts
            .iter()
            .find(of_task)
            .map_or(0, |p| p["amount_cents"].as_i64().unwrap());
        assert_eq!(paid, worker_cents);
        let told = dev
            .live
            .get(&format!("{}/dispute", path(&task)))
            .await
            .expect(200);
        let expected = json!({"task_id": task["id"], "statement": "The door is in the picture.",
            "opened_at": TestApp::NOON, "developer_statement": null,
            "developer_stated_at": null, "decision": body["decision"],
            "decided_at": TestApp::NOON, "note": body["note"]});
        assert_eq!(told, expected);
        let id = task["id"].as_str().unwrap();
        let own = format!("/v1/worker/tasks/{id}/dispute");
        assert_eq!(worker.client.get(&own).await.expect(200), expected);
    }
    let queue = admin.get("/v1/admin/queue?kind=dispute").await.expect(200);
    assert_eq!(ids(&queue), Vec::<&str>::new());
}

async fn a_decision_is_read_as_strictly_as_anything(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    let task = disputed_task(&app, &dev, &worker).await;
    for (body, faulty) in [
        (json!({}), vec!["decision"]),
        (
            json!({"decision": "win", "note": " ", "paid_cents": 1}),
            vec!["decision", "note"],
        ),
        (
            json!({"decision": "pay", "paid_cents": 1, "note": "x"}),
            vec!["paid_cents"],
        ),
        (
            json!({"decision": "split", "note": "x"}),
            vec!["paid_cents"],
        ),
        (
            json!({"decision": "split", "paid_cents": 0, "note": "x"}),
            vec!["paid_cents"],
        ),
        (
            json!({"decision": "split", "paid_cents": 1.5, "note": "x"}),
            vec!["paid_cents"],
        ),
        (
            json!({"decision": "split", "paid_cents": 2500, "note": "x"}),
            vec!["paid_cents"],
        ),
        (
            json!({"decision": "split", "paid_cents": u64::MAX, "note": "x"}),
            vec!["paid_cents"],
        ),
        (
            json!({"decision": "pay", "note": "x", "fee": 0}),
            vec!["fee"],
        ),
        (
            json!({"decision": "pay", "note": "x".repeat(2_001)}),
            vec!["note"],
        ),
    ] {
        let refused = admin.post(&decide(&task), &body).await;
        assert_eq!(refused.faulty_fields(), faulty, "{body}");
    }
    let least = json!({"decision": "split", "paid_cents": 1, "note": "x"});
    admin.post(&decide(&task), &least).await.expect(200);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}

async fn only_a_dispute_can_be_decided_and_only_once(app: TestApp) {
    let (dev, admin, other) = (app.developer().await, app.admin().await, app.admin().await);
    let worker = app.ready_worker().await;
    let pay = json!({"decision": "pay", "note": "x"});
    let posted = dev.create_paid_task().await;
    let refused = admin.post(&decide(&posted), &pay).await;
    refused.expect_error(409, "INVALID_TASK_STATE");
    let none = admin.post("/v1/admin/disputes/none/decide", &pay).await;
    none.expect_error(404, "TASK_NOT_FOUND");
    let task = disputed_task(&app, &dev, &worker).await;
    let queue = admin.get("/v1/admin/queue?kind=dispute").await.expect(200);
    let claim = format!("/v1/admin/queue/{}/claim", ids(&queue)[0]);
    other.post(&claim, &json!({})).await.expect(200);
    let refused = admin.post(&decide(&task), &pay).await;
    refused.expect_error(409, "ITEM_CLAIMED");
    let (decision, refund) = (decide(&task), json!({"decision": "refund", "note": "y"}));
    let (one, two) = tokio::join!(other.post(&decision, &pay), other.post(&decision, &refund));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
    let log = admin
        .get("/v1/admin/audit?action=dispute.decided")
        .await
        .expect(200);
    assert_eq!(log["data"].as_array().unwrap().len(), 1);
}

async fn a_dispute_is_nobody_elses_business(app: TestApp) {
    let (dev, stranger) = (app.developer().await, app.developer().await);
    let (worker, other) = (app.ready_worker().await, app.ready_worker().await);
    let task = disputed_task(&app, &dev, &worker).await;
    let of_developer = format!("{}/dispute", path(&task));
    for client in [&stranger.live, &dev.test] {
        let hidden = client.get(&of_developer).await;
        hidden.expect_error(404, "TASK_NOT_FOUND");
    }
    let of_worker = format!("/v1/worker/tasks/{}/dispute", task["id"].as_str().unwrap());
    let hidden = other.client.get(&of_worker).await;
    hidden.expect_error(404, "TASK_NOT_FOUND");
    let peaceful = dev.create_paid_task().await;
    let none = dev.live.get(&format!("{}/dispute", path(&peaceful))).await;
    none.expect_error(404, "DISPUTE_NOT_FOUND");
    worker.begin(&peaceful).await;
    let own = format!(
        "/v1/worker/tasks/{}/dispute",
        peaceful["id"].as_str().unwrap()
    );
    let none = worker.client.get(&own).await;
    none.expect_error(404, "DISPUTE_NOT_FOUND");
}

async fn a_dispute_of_the_test_world_is_decided_there(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let day = json!({"advance_seconds": 24 * 60 * 60});
    let wound = dev.test.post("/v1/test_helpers/clock", &day).await;
    let there = wound.expect(200)["now"].clone();
    let task = dev.create_task().await;
    let id = task["id"].as_str().unwrap();
    let advance = format!("/v1/test_helpers/tasks/{id}/advance");
    dev.test
        .post(&advance, &json!({"to": "disputed"}))
        .await
        .expect(200);
    let body = json!({"decision": "split", "paid_cents": 500, "note": "Some of it."});
    let decided = admin.post(&decide(&task), &body).await.expect(200);
    assert_eq!(decided["status"], "completed");
    let told = dev
        .test
        .get(&format!("{}/dispute", path(&task)))
        .await
        .expect(200);
    assert_eq!(
        (&told["decision"], &told["note"]),
        (&json!("split"), &json!("Some of it."))
    );
    assert_eq!(told["decided_at"], there, "by the clock of the task");
    let ledger = dev.test.get(&format!("{}/ledger", path(&task))).await;
    for entry in ledger.expect(200)["data"].as_array().unwrap() {
        assert_eq!(entry["created_at"], there, "{entry}");
    }
    TestApp::expect_settled(&app.verify().await);
}

async fn the_developer_states_their_side_until_it_is_decided(app: TestApp) {
    let (dev, stranger, admin) = (
        app.developer().await,
        app.developer().await,
        app.admin().await,
    );
    let worker = app.ready_worker().await;
    let task = disputed_task(&app, &dev, &worker).await;
    let state = format!("{}/dispute/statement", path(&task));
    for (body, faulty) in [
        (json!({}), "statement"),
        (json!({"statement": " "}), "statement"),
        (json!({"statement": "x".repeat(2_001)}), "statement"),
        (json!({"statement": "x", "note": "y"}), "note"),
    ] {
        assert_eq!(dev.live.post(&state, &body).await.faulty_fields(), [faulty]);
    }
    let side = json!({"statement": "That is another door."});
    for client in [&stranger.live, &dev.test] {
        let hidden = client.post(&state, &side).await;
        hidden.expect_error(404, "TASK_NOT_FOUND");
    }
    let own = format!("/v1/worker/tasks/{}/dispute", task["id"].as_str().unwrap());
    let silent = worker.client.get(&own).await.expect(200);
    assert_eq!(silent["developer_statement"], Value::Null);
    dev.live.post(&state, &side).await.expect(200);
    app.set_time("2025-11-15T13:00:00.000Z");
    let side = json!({"statement": "That is the door of number 7."});
    let said = dev.live.post(&state, &side).await.expect(200);
    assert_eq!(said["developer_statement"], side["statement"]);
    assert_eq!(said["developer_stated_at"], "2025-11-15T13:00:00.000Z");
    assert_eq!(said["statement"], "The door is in the picture.");
    assert_eq!(worker.client.get(&own).await.expect(200), said);
    let queue = admin.get("/v1/admin/queue?kind=dispute").await.expect(200);
    assert_eq!(queue["data"][0]["dispute"], said);
    let pay = json!({"decision": "pay", "note": "x"});
    admin.post(&decide(&task), &pay).await.expect(200);
    let late = dev.live.post(&state, &json!({"statement": "But."})).await;
    late.expect_error(409, "INVALID_TASK_STATE");
    let read = worker.client.get(&own).await.expect(200);
    assert_eq!(read["developer_statement"], side["statement"]);
    let peaceful = dev.create_paid_task().await;
    let none = format!("{}/dispute/statement", path(&peaceful));
    let none = dev.live.post(&none, &side).await;
    none.expect_error(409, "INVALID_TASK_STATE");
}
