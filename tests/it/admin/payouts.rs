//! Money that could not be sent: tried again, or closed without the processor, never both.

use std::time::Duration;

use legwork::domain::{AdminRole, LedgerAccount};
use serde_json::{Value, json};

use super::ids;
use crate::support::{Developer, InjectedFault, TestApp, Worker, balance, on_both_engines, path};

on_both_engines!(
    a_payout_is_tried_again,
    a_payout_is_written_off,
    what_is_on_its_way_or_done_is_not_written_off,
    of_a_retry_and_a_write_off_one_happens,
    a_transfer_after_a_write_off_is_found,
    a_payout_account_of_the_sandbox_fails_when_asked_to,
    a_refund_is_settled,
    a_refund_is_settled_only_if_it_was_not_made,
    a_large_settlement_waits_for_a_second_owner,
);

/// A task whose worker is about to be paid.
async fn approved_task(dev: &Developer, worker: &Worker) -> Value {
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, task["id"].as_str().unwrap()).await;
    dev.review(&task, &proof, "approve").await.expect(200);
    task
}

fn payout(task: &Value, decision: &str) -> String {
    let id = task["id"].as_str().unwrap();
    format!("/v1/admin/payouts/{id}/{decision}")
}

async fn open_items(app: &TestApp) -> usize {
    let admin = app.admin().await;
    let queue = admin.get("/v1/admin/queue?kind=failed_payout").await;
    ids(&queue.expect(200)).len()
}

async fn a_payout_is_tried_again(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, admin) = (
        app.developer().await,
        app.admin_with(AdminRole::Operator).await,
    );
    let worker = app.ready_worker().await;
    let task = approved_task(&dev, &worker).await;
    let early = admin.post(&payout(&task, "retry"), &json!({})).await;
    early.expect_error(409, "PAYOUT_NOT_FAILED");
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    assert_eq!(open_items(&app).await, 1);
    let retried = admin
        .post(&payout(&task, "retry"), &json!({}))
        .await
        .expect(200);
    assert_eq!(retried["id"], task["id"]);
    assert_eq!(open_items(&app).await, 0);
    // The same again answers the same, and is no second decision.
    let again = admin.post(&payout(&task, "retry"), &json!({})).await;
    assert_eq!(again.expect(200), retried);
    // It fails once more, and is before the admins once more.
    app.jobs.drain().await.unwrap();
    assert_eq!(open_items(&app).await, 1);
    processor.set(InjectedFault::None);
    admin
        .post(&payout(&task, "retry"), &json!({}))
        .await
        .expect(200);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
    let late = admin.post(&payout(&task, "retry"), &json!({})).await;
    assert_eq!(late.expect(200)["id"], task["id"]);
    assert_eq!(app.jobs.drain().await.unwrap(), 0);
    let lines = admin.get("/v1/admin/audit?action=payout.retried").await;
    assert_eq!(lines.expect(200)["data"].as_array().unwrap().len(), 2);
    let none = admin.post("/v1/admin/payouts/none/retry", &json!({})).await;
    none.expect_error(404, "TASK_NOT_FOUND");
}

async fn a_payout_is_written_off(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, owner) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    let task = approved_task(&dev, &worker).await;
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    processor.set(InjectedFault::None);
    let operator = app.admin_with(AdminRole::Operator).await;
    let refused = operator.post(&payout(&task, "write_off"), &json!({})).await;
    refused.expect_error(403, "FORBIDDEN");
    owner
        .post(&payout(&task, "write_off"), &json!({}))
        .await
        .expect(200);
    // The worker is told.
    app.jobs.drain().await.unwrap();
    let report = app.verify().await;
    TestApp::expect_settled(&report);
    assert_eq!(balance(&report, LedgerAccount::WorkerBalance), 0);
    assert_eq!(balance(&report, LedgerAccount::PlatformFees), 2500);
    assert_eq!(balance(&report, LedgerAccount::Processor), -2500);
    let ledger = dev
        .live
        .get(&format!("{}/ledger", path(&task)))
        .await
        .expect(200);
    let last = ledger["data"].as_array().unwrap().last().unwrap();
    assert_eq!(last["type"], "write_off");
    let expected = json!([{"account": "worker_balance", "amount_cents": -2100},
        {"account": "platform_fees", "amount_cents": 2100}]);
    assert_eq!(last["postings"], expected);
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    assert_eq!(earnings["balance_cents"], 0);
    assert_eq!(earnings["paid_cents"], 0);
    let listed = &earnings["payouts"][0];
    assert_eq!(listed["status"], "written_off");
    assert_eq!(listed["written_off_cents"], listed["amount_cents"]);
    assert_eq!(listed["paid_cents"], 0);
    assert_eq!(listed["pending_cents"], 0);
    assert_eq!(open_items(&app).await, 0);
    // The same again changes nothing; another decision comes too late.
    owner
        .post(&payout(&task, "write_off"), &json!({}))
        .await
        .expect(200);
    let again = owner.post(&payout(&task, "retry"), &json!({})).await;
    again.expect_error(409, "PAYOUT_NOT_FAILED");
    let lines = "/v1/admin/audit?action=payout.written_off";
    let lines = owner.get(lines).await.expect(200);
    assert_eq!(lines["data"].as_array().unwrap().len(), 1);
    assert_eq!(app.jobs.drain().await.unwrap(), 0);
    let report = owner
        .get("/v1/admin/report?month=2025-11")
        .await
        .expect(200);
    assert_eq!(report["total"]["fees_cents"], 2500);
    assert_eq!(report["total"]["payouts_booked_cents"], 0);
    assert_eq!(report["total"]["escrow_at_end_cents"], 0);
    assert_eq!(report["escrow_at_start_cents"], 0);
}

async fn what_is_on_its_way_or_done_is_not_written_off(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, owner) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    let task = approved_task(&dev, &worker).await;
    let write_off = payout(&task, "write_off");
    let waiting = owner.post(&write_off, &json!({})).await;
    waiting.expect_error(409, "PAYOUT_NOT_FAILED");
    // The money has moved, and nobody has heard of it: the job lives.
    processor.set(InjectedFault::AnswerLost);
    app.jobs.drain().await.unwrap();
    let unknown = owner.post(&write_off, &json!({})).await;
    unknown.expect_error(409, "PAYOUT_NOT_FAILED");
    processor.set(InjectedFault::None);
    app.advance(std::time::Duration::from_secs(60 * 60));
    app.jobs.drain().await.unwrap();
    let done = owner.post(&write_off, &json!({})).await;
    done.expect_error(409, "PAYOUT_NOT_FAILED");
    TestApp::expect_settled(&app.verify().await);
    let never_owed = dev.create_paid_task().await;
    let nothing = owner
        .post(&payout(&never_owed, "write_off"), &json!({}))
        .await;
    nothing.expect_error(409, "PAYOUT_NOT_FAILED");
}

async fn of_a_retry_and_a_write_off_one_happens(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, owner) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    for _ in 0..4 {
        let task = approved_task(&dev, &worker).await;
        processor.set(InjectedFault::Refuses);
        app.jobs.drain().await.unwrap();
        processor.set(InjectedFault::None);
        let (retry, write_off) = (payout(&task, "retry"), payout(&task, "write_off"));
        let body = json!({});
        let (one, two) = tokio::join!(owner.post(&retry, &body), owner.post(&write_off, &body));
        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        app.jobs.drain().await.unwrap();
        TestApp::expect_settled(&app.verify().await);
    }
}

async fn a_transfer_after_a_write_off_is_found(app: TestApp) {
    let (dev, owner) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    let task = approved_task(&dev, &worker).await;
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
    // As if somebody had written off by hand what was transferred.
    let id = task["id"].as_str().unwrap();
    app.database
        .execute(&format!(
            "INSERT INTO ledger_entries SELECT task_id, 'write_off', account_id, environment,
                worker_id, 0, 0, worker_cents, -worker_cents, 0, recorded_at
             FROM ledger_entries WHERE step = 'transfer' AND task_id = '{id}'"
        ))
        .await;
    let found = app.verify().await.differences;
    assert!(
        found
            .iter()
            .any(|difference| difference.contains("too much")),
        "{found:?}"
    );
    let refused = owner.post(&payout(&task, "write_off"), &json!({})).await;
    refused.expect_error(409, "PAYOUT_NOT_FAILED");
}

async fn a_payout_account_of_the_sandbox_fails_when_asked_to(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.sign_up(&[]).await;
    let page = worker.onboarding().await;
    let unknown = app.client().send("POST", &page, &[], "outcome=rich").await;
    assert_eq!(unknown.status, 400);
    let status = async || {
        let worker = worker.client.get("/v1/worker").await.expect(200);
        worker["payout_account"]["status"].clone()
    };
    worker.onboard_as(&app, "pending").await;
    assert_eq!(status().await, "pending");
    worker.become_ready(&app).await;
    assert_eq!(status().await, "ready");
    // What is ready stays so.
    worker.onboard_as(&app, "pending").await;
    assert_eq!(status().await, "ready");
    worker.onboard_as(&app, "payouts_refused").await;
    assert_eq!(status().await, "ready");
    let task = approved_task(&dev, &worker).await;
    app.jobs.drain().await.unwrap();
    assert_eq!(open_items(&app).await, 1);
    let queue = admin.get("/v1/admin/queue?kind=failed_payout").await;
    let id = ids(&queue.expect(200))[0].to_owned();
    let item = admin
        .get(&format!("/v1/admin/queue/{id}"))
        .await
        .expect(200);
    let error = item["error"].as_str().unwrap();
    assert!(error.contains("refuses payouts"), "{error}");
    // The worker corrects the account.
    worker.onboard_as(&app, "ready").await;
    let retry = payout(&task, "retry");
    admin.post(&retry, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    assert_eq!(earnings["paid_cents"], 2100);
}

const BY_CHEQUE: &str = "Sent a cheque to 12 Main Street.";

/// A refund that the processor is about to be asked for.
async fn owed_refund(dev: &Developer) -> Value {
    let task = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    task
}

fn refund(task: &Value, decision: &str) -> String {
    let id = task["id"].as_str().unwrap();
    format!("/v1/admin/refunds/{id}/{decision}")
}

async fn a_refund_is_settled(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, owner) = (app.developer().await, app.admin().await);
    let task = owed_refund(&dev).await;
    let (settle, note) = (refund(&task, "settle"), json!({"note": BY_CHEQUE}));
    let early = owner.post(&settle, &note).await;
    early.expect_error(409, "REFUND_NOT_FAILED");
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    processor.set(InjectedFault::None);
    let how = owner.post(&settle, &json!({})).await;
    how.expect_error(400, "VALIDATION_ERROR");
    let settled = owner.post(&settle, &note).await.expect(200);
    assert_eq!(settled["id"], task["id"]);
    assert_eq!(owner.post(&settle, &note).await.expect(200), settled);

    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    let payment = payment.expect(200);
    assert_eq!(payment["refunded_cents"], 0);
    assert_eq!(payment["refund_pending_cents"], 0);
    let ledger = dev.live.get(&format!("{}/ledger", path(&task))).await;
    let ledger = ledger.expect(200);
    let last = ledger["data"].as_array().unwrap().last().unwrap();
    assert_eq!(last["type"], "refund_settled");
    let report = app.verify().await;
    assert_eq!(balance(&report, LedgerAccount::PlatformFees), 2500);
    TestApp::expect_settled(&report);
    let queue = owner.get("/v1/admin/queue?status=closed").await.expect(200);
    assert_eq!(queue["data"][0]["kind"], "refund_failed");
    assert_eq!(queue["data"][0]["note"], BY_CHEQUE);
    let lines = owner.get("/v1/admin/audit?action=refund.settled").await;
    let lines = lines.expect(200);
    assert_eq!(lines["data"].as_array().unwrap().len(), 1, "{lines}");
    assert_eq!(lines["data"][0]["note"], BY_CHEQUE);
    let history = dev.live.get(&format!("{}/history", path(&task))).await;
    let history = history.expect(200).to_string();
    assert!(history.contains("A refund of $25.00 was made without the payment processor."));
    assert!(!history.contains(BY_CHEQUE), "notes are for admins");
    // Nothing is owed, so the account can go.
    let account = dev.live.get("/v1/account").await.expect(200);
    let confirm = json!({"confirm": account["email"]});
    let deleted = dev
        .live
        .send("DELETE", "/v1/account", &[], confirm.to_string());
    deleted.await.expect(200);
}

/// The refund is made without our knowledge, and its job is given up.
async fn a_refund_is_settled_only_if_it_was_not_made(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, owner) = (app.developer().await, app.admin().await);
    let task = owed_refund(&dev).await;
    for fault in [InjectedFault::AnswerLost, InjectedFault::Refuses] {
        processor.set(fault);
        app.jobs.drain().await.unwrap();
        app.advance(Duration::from_secs(60 * 60));
    }
    let (settle, note) = (refund(&task, "settle"), json!({"note": BY_CHEQUE}));
    processor.set(InjectedFault::Down);
    let unknown = owner.post(&settle, &note).await;
    unknown.expect_error(503, "PAYMENT_UNAVAILABLE");
    processor.set(InjectedFault::None);
    let made = owner.post(&settle, &note).await;
    made.expect_error(409, "REFUND_NOT_FAILED");
    let retry = json!({"kind": "refund", "subject": task["id"]});
    owner.post("/v1/admin/jobs/retry", &retry).await.expect(200);
    app.jobs.drain().await.unwrap();
    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    assert_eq!(payment.expect(200)["refunded_cents"], 2500);
    TestApp::expect_settled(&app.verify().await);
}

async fn a_large_settlement_waits_for_a_second_owner(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let dev = app.developer().await;
    let (by_cheque, by_card) = (owed_refund(&dev).await, owed_refund(&dev).await);
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    let app = app.with_four_eyes(2000).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let note = json!({"note": BY_CHEQUE});
    let settle = refund(&by_cheque, "settle");
    let proposed = ada.post(&settle, &note).await.expect(202);
    assert_eq!(proposed["kind"], "settle_refund");
    assert_eq!(proposed["proposal"], json!({"amount_cents": 2500}));
    let withdrawn = ada
        .delete(&refund(&by_cheque, "proposal"))
        .await
        .expect(200);
    assert_eq!(withdrawn["kind"], "settle_refund");
    eve.post(&settle, &note).await.expect(202);
    let items = ada.get("/v1/admin/queue?kind=refund_failed").await;
    let items = items.expect(200);
    let mut items = items["data"].as_array().unwrap().iter();
    let item = items.find(|item| item["task_id"] == by_cheque["id"]);
    assert_eq!(item.unwrap()["proposal"]["kind"], "settle_refund");
    ada.post(&settle, &note).await.expect(200);
    // Trying again takes the proposal with it.
    let settle = refund(&by_card, "settle");
    ada.post(&settle, &note).await.expect(202);
    let retry = json!({"kind": "refund", "subject": by_card["id"]});
    eve.post("/v1/admin/jobs/retry", &retry).await.expect(200);
    let gone = ada.delete(&refund(&by_card, "proposal")).await;
    gone.expect_error(404, "PROPOSAL_NOT_FOUND");
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}
