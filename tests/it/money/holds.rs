//! Payouts that are held back, as the worker sees them, and money that comes back early.

use std::time::Duration;

use legwork::domain::{
    Actor, ChargeDisputeStatus, LedgerAccount, OutgoingKind, ProcessorName, TaskId, WorkerId,
};
use legwork::payments::{ProcessorEvent, ProcessorEventKind, Returned};
use legwork::usecases;
use serde_json::{Value, json};

use crate::support::{Developer, InjectedFault, TestApp, Worker, balance, on_both_engines, path};

on_both_engines!(
    a_payout_is_held_for_the_hold_period,
    a_payout_of_a_disputed_charge_is_held,
    a_return_may_be_told_before_it_is_recorded,
    a_transfer_that_was_made_is_recorded_after_a_lost_dispute,
    a_refund_that_was_made_is_not_offset,
    the_decision_to_pay_outlives_an_outage,
    a_payout_is_written_off_only_if_it_was_not_made,
    what_the_bank_did_not_take_is_refunded,
    a_payout_of_a_suspended_worker_can_be_written_off,
    a_payout_that_waits_for_an_account_can_be_written_off,
    a_wake_up_that_came_too_early_delays_a_payout_by_seconds,
    a_suspension_changes_what_a_payout_waits_for,
    a_payout_of_a_worker_who_left_is_in_the_review_queue,
    each_lost_dispute_of_a_charge_is_posted,
    the_end_of_a_dispute_is_found_without_its_event,
);

const LATER: Duration = Duration::from_secs(60 * 60);
const HOLD: Duration = Duration::from_secs(48 * 60 * 60);

async fn approved_task(dev: &Developer, worker: &Worker) -> Value {
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, task["id"].as_str().unwrap()).await;
    dev.review(&task, &proof, "approve").await.expect(200);
    task
}

async fn payout(worker: &Worker) -> Value {
    let earnings = worker.client.get("/v1/worker/earnings").await.expect(200);
    earnings["payouts"][0].clone()
}

async fn tell(app: &TestApp, id: &str, kind: ProcessorEventKind) {
    let (now, id) = (app.clock.now(), id.to_owned());
    let event = ProcessorEvent { id, kind };
    app.store
        .write(move |tx| usecases::receive_processor_event(tx, ProcessorName::Sandbox, &event, now))
        .await
        .unwrap();
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

async fn a_payout_is_held_for_the_hold_period(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let jobs = app.jobs.clone().with_payout_hold(HOLD);
    approved_task(&dev, &worker).await;
    let earned_at = app.clock.now();
    jobs.drain().await.unwrap();
    let held = payout(&worker).await;
    assert_eq!(held["status"], "held");
    assert_eq!(held["held_reason"], "hold_period");
    assert_eq!(held["available_at"], earned_at.plus(HOLD).to_string());
    app.advance(HOLD - Duration::from_millis(1));
    assert_eq!(jobs.drain().await.unwrap(), 0);
    assert_eq!(app.verify().await.owed, 1);
    app.advance(Duration::from_millis(1));
    jobs.drain().await.unwrap();
    let paid = payout(&worker).await;
    assert_eq!(paid["status"], "paid");
    assert_eq!(
        (&paid["held_reason"], &paid["available_at"]),
        (&Value::Null, &Value::Null)
    );
    TestApp::expect_settled(&app.verify().await);
}

fn disputed(task: &Value, status: ChargeDisputeStatus) -> ProcessorEventKind {
    ProcessorEventKind::ChargeDisputed {
        payment: format!("pay_{}", id(task)),
        dispute: format!("du_{}", id(task)),
        cents: 2500,
        status,
        reason: "fraudulent".to_owned(),
    }
}

/// A dispute of a part of the charge was lost. Amounts tell the disputes of a charge apart.
fn lost_part(task: &Value, cents: i64) -> ProcessorEventKind {
    ProcessorEventKind::ChargeDisputed {
        payment: format!("pay_{}", id(task)),
        dispute: format!("du_{cents}_{}", id(task)),
        cents,
        status: ChargeDisputeStatus::Lost,
        reason: "product_not_received".to_owned(),
    }
}

/// The types of a task's entries.
async fn entries(dev: &Developer, task: &Value) -> Vec<String> {
    let ledger = dev.live.get(&format!("{}/ledger", path(task))).await;
    let ledger = ledger.expect(200);
    let data = ledger["data"].as_array().unwrap().iter();
    data.map(|entry| entry["type"].as_str().unwrap().to_owned())
        .collect()
}

async fn expect_no_differences(app: &TestApp) {
    assert_eq!(app.verify().await.differences, Vec::<String>::new());
}

async fn a_payout_of_a_disputed_charge_is_held(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = approved_task(&dev, &worker).await;
    tell(&app, "evt_1", disputed(&task, ChargeDisputeStatus::Open)).await;
    app.jobs.drain().await.unwrap();
    let held = payout(&worker).await;
    assert_eq!(
        (&held["status"], &held["held_reason"]),
        (&json!("held"), &json!("charge_disputed"))
    );
    assert_eq!(held["available_at"], Value::Null);
    tell(&app, "evt_2", disputed(&task, ChargeDisputeStatus::Won)).await;
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "paid");
    TestApp::expect_settled(&app.verify().await);
}

/// The processor tells that a refund failed before our job has recorded that it was made.
async fn a_return_may_be_told_before_it_is_recorded(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    let returned = Returned {
        kind: OutgoingKind::Refund,
        id: format!("{}-refund", id(&task)),
        task: TaskId::parse(id(&task)).unwrap(),
        cents: 2500,
        reason: "expired_or_canceled_card".to_owned(),
    };
    for number in 0..2 {
        let kind = ProcessorEventKind::Returned(returned.clone());
        tell(&app, &format!("evt_{number}"), kind).await;
    }
    assert_eq!(entries(&dev, &task).await, ["payment", "settlement"]);
    app.jobs.drain().await.unwrap();
    assert_eq!(
        entries(&dev, &task).await,
        ["payment", "settlement", "refund", "refund_failed"]
    );
    let queue = admin
        .get("/v1/admin/queue?kind=refund_failed")
        .await
        .expect(200);
    assert_eq!(queue["data"][0]["task_id"], task["id"]);
    let dead = admin.get("/v1/admin/jobs?dead=true").await.expect(200);
    assert_eq!(dead["data"][0]["kind"], "refund");
}

/// The transfer is made, the answer is lost, and then the bank takes the payment back.
async fn a_transfer_that_was_made_is_recorded_after_a_lost_dispute(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = approved_task(&dev, &worker).await;
    processor.set(InjectedFault::AnswerLost);
    app.jobs.drain().await.unwrap();
    processor.set(InjectedFault::None);
    tell(&app, "evt_1", disputed(&task, ChargeDisputeStatus::Lost)).await;
    app.advance(LATER);
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "paid");
    expect_no_differences(&app).await;
}

async fn a_refund_that_was_made_is_not_offset(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let dev = app.developer().await;
    for status in [ChargeDisputeStatus::Lost, ChargeDisputeStatus::Open] {
        let task = dev.create_paid_task().await;
        let cancel = format!("{}/cancel", path(&task));
        dev.live.send("POST", &cancel, &[], "").await.expect(200);
        processor.set(InjectedFault::AnswerLost);
        app.jobs.drain().await.unwrap();
        processor.set(InjectedFault::None);
        tell(&app, &format!("evt_{status}"), disputed(&task, status)).await;
        app.advance(LATER);
        app.jobs.drain().await.unwrap();
        let entries = entries(&dev, &task).await;
        assert!(entries.contains(&"refund".to_owned()), "{entries:?}");
        assert!(!entries.contains(&"refund_offset".to_owned()));
        expect_no_differences(&app).await;
    }
}

async fn the_decision_to_pay_outlives_an_outage(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, worker, admin) = (
        app.developer().await,
        app.ready_worker().await,
        app.admin().await,
    );
    let task = approved_task(&dev, &worker).await;
    tell(&app, "evt_1", disputed(&task, ChargeDisputeStatus::Lost)).await;
    app.jobs.drain().await.unwrap();
    let dead = admin.get("/v1/admin/jobs?dead=true").await.expect(200);
    assert_eq!(dead["data"][0]["kind"], "transfer");
    let retry = format!("/v1/admin/payouts/{}/retry", id(&task));
    admin.post(&retry, &json!({})).await.expect(200);
    processor.set(InjectedFault::Down);
    app.jobs.drain().await.unwrap();
    processor.set(InjectedFault::None);
    app.advance(LATER);
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "paid");
    expect_no_differences(&app).await;
}

/// The transfer is made without our knowledge, and its job is given up.
async fn a_payout_is_written_off_only_if_it_was_not_made(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, worker, admin) = (
        app.developer().await,
        app.ready_worker().await,
        app.admin().await,
    );
    let task = approved_task(&dev, &worker).await;
    for fault in [InjectedFault::AnswerLost, InjectedFault::Refuses] {
        processor.set(fault);
        app.jobs.drain().await.unwrap();
        app.advance(LATER);
    }
    let write_off = format!("/v1/admin/payouts/{}/write_off", id(&task));
    processor.set(InjectedFault::Down);
    let unknown = admin.post(&write_off, &json!({})).await;
    unknown.expect_error(503, "PAYMENT_UNAVAILABLE");
    processor.set(InjectedFault::None);
    let made = admin.post(&write_off, &json!({})).await;
    made.expect_error(409, "PAYOUT_NOT_FAILED");
    let retry = format!("/v1/admin/payouts/{}/retry", id(&task));
    admin.post(&retry, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "paid");
    TestApp::expect_settled(&app.verify().await);
}

/// The bank takes a part of what is owed to the developer. The rest is refunded, once, even if the answer is
/// lost.
async fn what_the_bank_did_not_take_is_refunded(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    tell(&app, "evt_1", lost_part(&task, 1000)).await;
    processor.set(InjectedFault::AnswerLost);
    app.jobs.drain().await.unwrap();
    processor.set(InjectedFault::None);
    app.advance(LATER);
    app.jobs.drain().await.unwrap();
    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    let payment = payment.expect(200);
    assert_eq!(payment["refunded_cents"], 1500);
    assert_eq!(payment["refund_pending_cents"], 0);
    let mut entries = entries(&dev, &task).await;
    entries.sort();
    let expected = [
        "dispute_lost",
        "payment",
        "refund",
        "refund_offset",
        "settlement",
    ];
    assert_eq!(entries, expected);
    expect_no_differences(&app).await;
}

async fn a_payout_of_a_suspended_worker_can_be_written_off(app: TestApp) {
    let (dev, worker, admin) = (
        app.developer().await,
        app.ready_worker().await,
        app.admin().await,
    );
    let task = approved_task(&dev, &worker).await;
    let write_off = format!("/v1/admin/payouts/{}/write_off", id(&task));
    let jobs = app.jobs.clone().with_payout_hold(HOLD);
    jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["held_reason"], "hold_period");
    let early = admin.post(&write_off, &json!({})).await;
    early.expect_error(409, "PAYOUT_NOT_FAILED");
    let (suspend, restore) = (
        format!("/v1/admin/workers/{}/suspend", worker.id),
        format!("/v1/admin/workers/{}/restore", worker.id),
    );
    admin.post(&suspend, &json!({})).await.expect(200);
    app.advance(HOLD);
    jobs.drain().await.unwrap();
    admin.post(&write_off, &json!({})).await.expect(200);
    TestApp::expect_settled(&app.verify().await);
    admin.post(&restore, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    let worker = worker.signed_in_again(&app).await;
    assert_eq!(payout(&worker).await["status"], "written_off");
    TestApp::expect_settled(&app.verify().await);
}

/// The processor wants to know more before it pays anybody.
async fn close_accounts(app: &TestApp) {
    app.database
        .execute("UPDATE payout_accounts SET status = 'pending'")
        .await;
}

async fn a_payout_that_waits_for_an_account_can_be_written_off(app: TestApp) {
    let (dev, worker, admin) = (
        app.developer().await,
        app.ready_worker().await,
        app.admin().await,
    );
    let task = approved_task(&dev, &worker).await;
    close_accounts(&app).await;
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "pending");
    let write_off = format!("/v1/admin/payouts/{}/write_off", id(&task));
    admin.post(&write_off, &json!({})).await.expect(200);
    assert_eq!(payout(&worker).await["status"], "written_off");
    worker.onboard_as(&app, "ready").await;
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}

/// The account became ready after the job had looked and before it waited, so nobody wakes it.
async fn a_wake_up_that_came_too_early_delays_a_payout_by_seconds(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    approved_task(&dev, &worker).await;
    close_accounts(&app).await;
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "pending");
    app.database
        .execute("UPDATE payout_accounts SET status = 'ready'")
        .await;
    app.advance(Duration::from_secs(2));
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "paid");
    TestApp::expect_settled(&app.verify().await);
}

async fn a_suspension_changes_what_a_payout_waits_for(app: TestApp) {
    let (dev, worker, admin) = (
        app.developer().await,
        app.ready_worker().await,
        app.admin().await,
    );
    let task = approved_task(&dev, &worker).await;
    close_accounts(&app).await;
    app.jobs.drain().await.unwrap();
    let decide = async |decision: &str| {
        let path = format!("/v1/admin/workers/{}/{decision}", worker.id);
        admin.post(&path, &json!({})).await.expect(200);
        app.jobs.drain().await.unwrap();
        payout(&worker.signed_in_again(&app).await).await
    };
    assert_eq!(decide("suspend").await["held_reason"], "worker_suspended");
    assert_eq!(decide("restore").await["status"], "pending");
    assert_eq!(decide("suspend").await["held_reason"], "worker_suspended");
    let write_off = format!("/v1/admin/payouts/{}/write_off", id(&task));
    admin.post(&write_off, &json!({})).await.expect(200);
    TestApp::expect_settled(&app.verify().await);
}

/// Paid and gone; then the transfer comes back, and the account takes nothing any more.
async fn a_payout_of_a_worker_who_left_is_in_the_review_queue(app: TestApp) {
    let (dev, worker, admin) = (
        app.developer().await,
        app.ready_worker().await,
        app.admin().await,
    );
    let task = approved_task(&dev, &worker).await;
    app.jobs.drain().await.unwrap();
    let (left, now) = (WorkerId::parse(&worker.id).unwrap(), app.clock.now());
    let by = Actor::COMMAND_LINE;
    let gone = app
        .store
        .write(move |tx| usecases::delete_worker(tx, left, &by, now));
    gone.await.unwrap();
    close_accounts(&app).await;
    let returned = Returned {
        kind: OutgoingKind::Transfer,
        id: format!("{}-transfer", id(&task)),
        task: TaskId::parse(id(&task)).unwrap(),
        cents: 2100,
        reason: "reversed".to_owned(),
    };
    tell(&app, "evt_1", ProcessorEventKind::Returned(returned)).await;
    app.database.execute("DELETE FROM sandbox_movements").await;
    let retry = format!("/v1/admin/payouts/{}/retry", id(&task));
    admin.post(&retry, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    let queue = admin.get("/v1/admin/queue?kind=failed_payout").await;
    let queue = queue.expect(200);
    let note = queue["data"][0]["note"].as_str().unwrap();
    assert!(note.contains("Write it off"), "{note}");
    let write_off = format!("/v1/admin/payouts/{}/write_off", id(&task));
    admin.post(&write_off, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}

async fn each_lost_dispute_of_a_charge_is_posted(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    for (number, cents) in [1000, 500, 400].into_iter().enumerate() {
        tell(&app, &format!("evt_{number}"), lost_part(&task, cents)).await;
    }
    assert_eq!(
        entries(&dev, &task).await,
        ["payment", "dispute_lost", "dispute_lost_again"]
    );
    let report = app.verify().await;
    let missing = "lost 1900 by disputes of its charge, but the ledger has 1500";
    let missing = format!("task {} {missing}", id(&task));
    assert_eq!(report.differences, [missing], "a third has no step");
    assert_eq!(balance(&report, LedgerAccount::PlatformFees), -1500);
}

async fn the_end_of_a_dispute_is_found_without_its_event(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = approved_task(&dev, &worker).await;
    let open = disputed(&task, ChargeDisputeStatus::Open);
    tell(&app, "evt_1", open.clone()).await;
    app.jobs.drain().await.unwrap();
    processor.set_dispute(open);
    for fault in [InjectedFault::None, InjectedFault::Down] {
        processor.set(fault);
        app.advance(LATER);
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        assert_eq!(payout(&worker).await["held_reason"], "charge_disputed");
    }
    processor.set(InjectedFault::None);
    processor.set_dispute(disputed(&task, ChargeDisputeStatus::Won));
    app.advance(LATER);
    app.jobs.drain().await.unwrap();
    assert_eq!(payout(&worker).await["status"], "paid");
    TestApp::expect_settled(&app.verify().await);
}
