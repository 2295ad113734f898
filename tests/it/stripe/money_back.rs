//! What Stripe tells of money that was contested, that came back, or that never arrived.

use legwork::domain::{Environment, LedgerAccount, WorkerId};
use legwork::store::{PayoutState, StoreError};
use serde_json::{Value, json};

use super::adapter::Adapter;
use super::paying::{LATER, cancelled_after_acceptance, id, worker_with_account};
use super::processor_events::{account_updated, event, tell};
use super::{CONNECT_SECRET, WEBHOOK_SECRET, expect_all_well, payment, peers, start};
use crate::support::{Client, Developer, TestApp, balance, on_both_engines, path};

on_both_engines!(
    a_disputed_charge_holds_what_goes_out_until_it_is_won,
    the_end_of_a_dispute_is_asked_for,
    a_lost_dispute_that_nobody_told_of_refuses_the_payout,
    an_inquiry_holds_the_payout_but_not_the_refund,
    a_lost_dispute_is_in_the_ledger_and_refuses_the_payout,
    a_refund_that_fails_is_owed_again,
    a_reversed_transfer_is_owed_again,
    a_part_of_a_transfer_is_reversed,
    a_transfer_that_came_back_before_it_was_known_is_not_made_again,
    a_transfer_of_which_a_part_came_back_before_it_was_known_is_recorded,
    a_bank_that_refuses_a_payout_is_told_of,
    an_old_notice_of_an_account_changes_nothing,
    what_is_not_ours_is_ignored,
);

/// Tells of an object that is as Stripe documents it, twice: it counts once.
async fn told(app: &TestApp, kind: &str, schema: &str, object: &Value) {
    let event = event(kind, object);
    for (schema, value) in [(schema, object), ("event", &event)] {
        let faults = peers::faults(&json!({"schema": schema, "value": value}));
        assert_eq!(faults, Vec::<String>::new(), "{value}");
    }
    for _ in 0..2 {
        tell(app, WEBHOOK_SECRET, &event).await.expect(200);
    }
    let again = super::processor_events::event(kind, object);
    tell(app, WEBHOOK_SECRET, &again).await.expect(200);
}

fn dispute(intent: &str, status: &str) -> Value {
    json!({
        "id": format!("du_of_{intent}"), "object": "dispute", "amount": 2500, "currency": "usd",
        "balance_transactions": [], "charge": "ch_1", "payment_intent": intent,
        "created": 1_763_200_000, "evidence": {}, "is_charge_refundable": false,
        "evidence_details": {"has_evidence": false, "past_due": false, "submission_count": 0},
        "livemode": false, "metadata": {}, "reason": "fraudulent", "status": status,
    })
}

/// What Stripe tells of a dispute of the task's payment.
async fn disputed(app: &TestApp, task: &Value, moment: &str, status: &str) {
    let column = format!(
        "SELECT payment_id FROM payments WHERE task_id = '{}'",
        id(task)
    );
    let intent = app.database.column(&column).await.remove(0);
    let kind = format!("charge.dispute.{moment}");
    told(app, &kind, "dispute", &dispute(&intent, status)).await;
}

/// The types and the amounts of a task's entries from the settlement on.
async fn entries(dev: &Developer, task: &Value) -> Vec<(String, i64)> {
    let ledger = dev.live.get(&format!("{}/ledger", path(task))).await;
    let ledger = ledger.expect(200);
    let short = |entry: &Value| {
        let postings = entry["postings"].as_array().unwrap();
        let sum: i64 = postings
            .iter()
            .map(|posting| posting["amount_cents"].as_i64().unwrap())
            .sum();
        assert_eq!(sum, 0, "{entry}");
        let first = postings[0]["amount_cents"].as_i64().unwrap();
        (entry["type"].as_str().unwrap().to_owned(), first)
    };
    let entries = ledger["data"].as_array().unwrap().iter().map(short);
    entries.skip(2).collect()
}

fn entry(step: &str, cents: i64) -> (String, i64) {
    (step.to_owned(), cents)
}

async fn queue(admin: &Client, kind: &str) -> Vec<Value> {
    let path = format!("/v1/admin/queue?kind={kind}");
    let queue = admin.get(&path).await.expect(200);
    queue["data"].as_array().unwrap().clone()
}

/// What the history tells beside the moves.
async fn told_by_history(dev: &Developer, task: &Value) -> Vec<String> {
    let history = dev.live.get(&format!("{}/history", path(task))).await;
    let history = history.expect(200);
    let entries = history["data"].as_array().unwrap().iter();
    entries
        .filter(|entry| entry["from"] == entry["to"])
        .map(|entry| {
            assert_eq!(entry["by"]["type"], "processor");
            entry["reason"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// A task whose budget is about to go to the developer and to the worker.
async fn owing(app: &TestApp, stripe: &Adapter, dev: &Developer) -> Value {
    let (worker, account) = worker_with_account(app).await;
    account_updated(app, stripe, &account).await;
    cancelled_after_acceptance(app, stripe, dev, worker).await
}

async fn retry(admin: &Client, kind: &str, task: &Value) {
    let job = json!({"kind": kind, "subject": id(task)});
    admin.post("/v1/admin/jobs/retry", &job).await.expect(200);
}

async fn a_disputed_charge_holds_what_goes_out_until_it_is_won(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = owing(&app, &stripe, &dev).await;
    disputed(&app, &task, "created", "needs_response").await;
    disputed(&app, &task, "funds_withdrawn", "under_review").await;
    assert_eq!(app.jobs.drain().await.unwrap(), 2);
    assert_eq!(entries(&dev, &task).await, []);
    assert_eq!(stripe.transfers().len(), 0);
    let [item] = &queue(&admin, "charge_dispute").await[..] else {
        panic!("one item");
    };
    assert_eq!(item["task_id"], task["id"]);
    let said = "The payer disputes the payment: $25.00, fraudulent.";
    assert_eq!(item["note"], said);
    assert_eq!(told_by_history(&dev, &task).await, [said]);
    let report = app.verify().await;
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(report.owed, 2);

    disputed(&app, &task, "closed", "won").await;
    // This one is late.
    disputed(&app, &task, "updated", "under_review").await;
    assert_eq!(queue(&admin, "charge_dispute").await, Vec::<Value>::new());
    app.jobs.drain().await.unwrap();
    assert_eq!(stripe.transfers().len(), 1);
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 1250);
    let told = told_by_history(&dev, &task).await;
    assert_eq!(told, [said, "The dispute of $25.00 was won."]);
    expect_all_well(&app, &stripe).await;
}

/// The event that ends the dispute is lost.
async fn the_end_of_a_dispute_is_asked_for(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let task = owing(&app, &stripe, &dev).await;
    disputed(&app, &task, "created", "needs_response").await;
    app.jobs.drain().await.unwrap();
    let intent = app.database.column("SELECT payment_id FROM payments").await;
    stripe.add_dispute(dispute(&intent[0], "won"));
    app.advance(LATER);
    app.jobs.drain().await.unwrap();
    assert_eq!(stripe.transfers().len(), 1);
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 1250);
    expect_all_well(&app, &stripe).await;
}

/// Its events came before a backup was restored.
async fn a_lost_dispute_that_nobody_told_of_refuses_the_payout(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = owing(&app, &stripe, &dev).await;
    let intent = app.database.column("SELECT payment_id FROM payments").await;
    stripe.add_dispute(dispute(&intent[0], "lost"));
    app.jobs.drain().await.unwrap();
    assert_eq!(stripe.transfers().len(), 0);
    let found = entries(&dev, &task).await;
    assert!(found.contains(&entry("dispute_lost", 2500)), "{found:?}");
    assert_eq!(queue(&admin, "failed_payout").await.len(), 1);
}

async fn an_inquiry_holds_the_payout_but_not_the_refund(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let task = owing(&app, &stripe, &dev).await;
    disputed(&app, &task, "created", "warning_needs_response").await;
    app.jobs.drain().await.unwrap();
    assert_eq!(entries(&dev, &task).await, [entry("refund", 1250)]);
    disputed(&app, &task, "closed", "warning_closed").await;
    app.jobs.drain().await.unwrap();
    expect_all_well(&app, &stripe).await;
}

async fn a_lost_dispute_is_in_the_ledger_and_refuses_the_payout(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = owing(&app, &stripe, &dev).await;
    // Out of order: the end comes first.
    disputed(&app, &task, "closed", "lost").await;
    disputed(&app, &task, "created", "needs_response").await;
    app.jobs.drain().await.unwrap();
    let lost = entry("dispute_lost", 2500);
    let offset = entry("refund_offset", 1250);
    let found = entries(&dev, &task).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.contains(&lost) && found.contains(&offset),
        "{found:?}"
    );
    assert_eq!(payment(&dev, &task).await["refund_pending_cents"], 0);
    let said = "The dispute was lost: $25.00 of the payment were taken back.";
    assert_eq!(told_by_history(&dev, &task).await, [said]);
    assert_eq!(queue(&admin, "charge_dispute").await[0]["note"], said);
    let [refused] = &queue(&admin, "failed_payout").await[..] else {
        panic!("the payout is refused");
    };
    assert!(
        refused["note"]
            .as_str()
            .unwrap()
            .contains("took the payment back")
    );
    let report = app.verify().await;
    assert_eq!(report.differences, Vec::<String>::new());
    // The fee and the kept half less the whole budget, since the worker is still owed.
    assert_eq!(
        balance(&report, LedgerAccount::PlatformFees),
        200 + 1250 - 2500
    );
    assert_eq!(balance(&report, LedgerAccount::Processor), 0);

    // An admin may pay the worker all the same.
    let pay = format!("/v1/admin/payouts/{}/retry", id(&task));
    admin.post(&pay, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    assert_eq!(stripe.transfers().len(), 1);
    expect_all_well(&app, &stripe).await;
}

async fn a_refund_that_fails_is_owed_again(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = owing(&app, &stripe, &dev).await;
    app.jobs.drain().await.unwrap();
    for (number, steps) in [
        ["refund", "refund_failed"],
        ["refund_retry", "refund_retry_failed"],
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(payment(&dev, &task).await["refunded_cents"], 1250);
        let refund = stripe.fail_refund(number).await;
        for kind in ["charge.refund.updated", "refund.updated", "refund.failed"] {
            tell(&app, WEBHOOK_SECRET, &event(kind, &refund))
                .await
                .expect(200);
        }
        let found = entries(&dev, &task).await;
        for (step, cents) in steps.iter().zip([1250, -1250]) {
            assert!(found.contains(&entry(step, cents)), "{found:?}");
        }
        assert_eq!(payment(&dev, &task).await["refund_pending_cents"], 1250);
        let report = app.verify().await;
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!(report.owed, 1);
        let [item] = &queue(&admin, "refund_failed").await[..] else {
            panic!("one item");
        };
        let said = "A refund of $12.50 did not reach the developer: lost_or_stolen_card.";
        assert_eq!(item["note"], said);
        assert_eq!(told_by_history(&dev, &task).await.last().unwrap(), said);
        app.advance(LATER);
        assert_eq!(app.jobs.drain().await.unwrap(), 0, "nobody has decided");
        retry(&admin, "refund", &task).await;
        assert_eq!(queue(&admin, "refund_failed").await, Vec::<Value>::new());
        app.jobs.drain().await.unwrap();
    }
    // The third time it is not asked for: it has to be arranged in another way.
    assert_eq!(stripe.asked("POST", "/v1/refunds").len(), 2);
    let second = &stripe.asked("POST", "/v1/refunds")[1];
    let key = format!("{}-refund-2", id(&task));
    assert_eq!(second.header("idempotency-key"), Some(key.as_str()));
    let item = &queue(&admin, "refund_failed").await[0];
    assert!(
        item["note"].as_str().unwrap().contains("came back twice"),
        "{item}"
    );
    let clear = format!("/v1/admin/queue/{}/clear", item["id"].as_str().unwrap());
    let note = json!({"note": "Sent a cheque."});
    let cleared = admin.post(&clear, &note).await.expect(200);
    assert_eq!(
        (&cleared["status"], &cleared["note"]),
        (&json!("closed"), &json!("Sent a cheque."))
    );
    let settle = format!("/v1/admin/refunds/{}/settle", id(&task));
    admin.post(&settle, &note).await.expect(200);
    assert_eq!(payment(&dev, &task).await["refund_pending_cents"], 0);
    expect_all_well(&app, &stripe).await;
    assert!(stripe.expect_as_documented() > 3);
}

async fn a_reversed_transfer_is_owed_again(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = owing(&app, &stripe, &dev).await;
    app.jobs.drain().await.unwrap();
    let reversed = stripe.reverse_transfer(0, 1050);
    told(&app, "transfer.reversed", "transfer", &reversed).await;
    let found = entries(&dev, &task).await;
    assert!(
        found.contains(&entry("transfer_reversed", -1050)),
        "{found:?}"
    );
    let report = app.verify().await;
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(balance(&report, LedgerAccount::WorkerBalance), 1050);
    let said = "$10.50 of a transfer to the worker were reversed.";
    assert_eq!(queue(&admin, "transfer_reversed").await[0]["note"], said);
    assert_eq!(told_by_history(&dev, &task).await, [said]);
    assert_eq!(app.jobs.drain().await.unwrap(), 0, "nobody has decided");
    let pay = format!("/v1/admin/payouts/{}/retry", id(&task));
    admin.post(&pay, &json!({})).await.expect(200);
    assert_eq!(
        queue(&admin, "transfer_reversed").await,
        Vec::<Value>::new()
    );
    app.jobs.drain().await.unwrap();
    let found = entries(&dev, &task).await;
    assert!(found.contains(&entry("transfer_retry", 1050)), "{found:?}");
    expect_all_well(&app, &stripe).await;
}

async fn a_part_of_a_transfer_is_reversed(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = owing(&app, &stripe, &dev).await;
    app.jobs.drain().await.unwrap();
    let reversed = stripe.reverse_transfer(0, 50);
    told(&app, "transfer.reversed", "transfer", &reversed).await;
    let report = app.verify().await;
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(balance(&report, LedgerAccount::WorkerBalance), 50);
    expect_payout(&app, &task, PayoutState::Failed, [1000, 50, 0]).await;
    // What is owed now can be written off.
    let write_off = format!("/v1/admin/payouts/{}/write_off", id(&task));
    admin.post(&write_off, &json!({})).await.expect(200);
    assert_eq!(
        queue(&admin, "transfer_reversed").await,
        Vec::<Value>::new()
    );
    expect_payout(&app, &task, PayoutState::WrittenOff, [1000, 0, 50]).await;
    expect_all_well(&app, &stripe).await;
}

async fn a_transfer_that_came_back_before_it_was_known_is_not_made_again(app: TestApp) {
    came_back_unknown(app, 1050).await;
}

async fn a_transfer_of_which_a_part_came_back_before_it_was_known_is_recorded(app: TestApp) {
    came_back_unknown(app, 50).await;
}

/// The answer was lost, or a backup from before it was restored. Nobody tells of the return any more.
async fn came_back_unknown(app: TestApp, cents: i64) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let task = owing(&app, &stripe, &dev).await;
    stripe.lose_answer("/v1/transfers");
    app.jobs.drain().await.unwrap();
    stripe.reverse_transfer(0, cents);
    app.advance(LATER);
    app.jobs.drain().await.unwrap();
    assert_eq!(stripe.transfers().len(), 1);
    let found = entries(&dev, &task).await;
    let back = entry("transfer_reversed", -cents);
    assert!(found.contains(&entry("transfer", 1050)) && found.contains(&back));
    assert_eq!(queue(&admin, "transfer_reversed").await.len(), 1);
    let write_off = format!("/v1/admin/payouts/{}/write_off", id(&task));
    admin.post(&write_off, &json!({})).await.expect(200);
    expect_all_well(&app, &stripe).await;
}

/// What the worker of a task reads about it: what was paid, is pending, and was written off. The worker has
/// no other payout, so what was paid and what is on the balance is the same.
async fn expect_payout(app: &TestApp, task: &Value, state: PayoutState, parts: [i64; 3]) {
    let worker = format!("SELECT worker_id FROM tasks WHERE id = '{}'", id(task));
    let worker = app.database.column(&worker).await.remove(0);
    let worker = WorkerId::parse(&worker).unwrap();
    let read = app.store.snapshot(move |tx| {
        let (payouts, paid) = (tx.payouts_of(worker, 2)?, tx.paid_to(worker)?);
        let balance = tx.worker_balance(worker, Environment::Live)?;
        Ok::<_, StoreError>((payouts, paid, balance))
    });
    let (payouts, paid, balance) = read.await.unwrap();
    let [payout] = &payouts[..] else {
        panic!("one payout: {payouts:?}");
    };
    let told = payout.parts;
    let told = [told.paid_cents, told.pending_cents, told.written_off_cents];
    assert_eq!((payout.state, told), (state, parts));
    assert_eq!((payout.cents, paid, balance), (1050, parts[0], parts[1]));
}

async fn a_bank_that_refuses_a_payout_is_told_of(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (worker, account) = worker_with_account(&app).await;
    account_updated(&app, &stripe, &account).await;
    let payout = json!({
        "id": "po_1", "object": "payout", "amount": 1050, "arrival_date": 1_763_200_000,
        "automatic": true, "created": 1_763_200_000, "currency": "usd", "livemode": false,
        "failure_code": "account_closed", "failure_message": "The account was closed.",
        "method": "standard", "reconciliation_status": "in_progress", "source_type": "card",
        "status": "failed", "type": "bank_account",
    });
    let mut event = event("payout.failed", &payout);
    event["account"] = json!(account);
    for (schema, value) in [("payout", &payout), ("event", &event)] {
        let faults = peers::faults(&json!({"schema": schema, "value": value}));
        assert_eq!(faults, Vec::<String>::new());
    }
    for _ in 0..2 {
        tell(&app, CONNECT_SECRET, &event).await.expect(200);
    }
    let [item] = &queue(&app.admin().await, "payout_failed").await[..] else {
        panic!("one item");
    };
    assert_eq!(item["worker_id"], worker.to_string());
    let said = "The worker's bank refused a payout of $10.50: account_closed.";
    assert_eq!(item["note"], said);
}

async fn an_old_notice_of_an_account_changes_nothing(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (_, account) = worker_with_account(&app).await;
    let ready = stripe.complete_account(&account);
    let mut closed = ready.clone();
    closed["payouts_enabled"] = json!(false);
    let status = "SELECT status FROM payout_accounts";
    for (object, created, expected) in [
        (&ready, 200, "ready"),
        (&closed, 100, "ready"),
        (&closed, 300, "pending"),
        (&ready, 299, "pending"),
        (&ready, 400, "ready"),
        // Within a second their order cannot be told. A payout that is tried in vain is noticed, one that
        // waits is not.
        (&closed, 400, "ready"),
        (&closed, 500, "pending"),
        (&ready, 500, "ready"),
    ] {
        let mut event = event("account.updated", object);
        event["created"] = json!(created);
        tell(&app, CONNECT_SECRET, &event).await.expect(200);
        assert_eq!(app.database.column(status).await, [expected], "{created}");
    }
}

async fn what_is_not_ours_is_ignored(app: TestApp) {
    let (app, _) = start(&app).await;
    let task = "0199c0de00007abc8def0123456789ab";
    let refund = |metadata: Value| {
        json!({"id": "re_1", "object": "refund", "amount": 5, "created": 1, "currency": "usd",
            "status": "failed", "metadata": metadata})
    };
    let transfer = |metadata: Value| {
        json!({"id": "tr_1", "object": "transfer", "amount": 5, "amount_reversed": 5,
            "created": 1, "currency": "usd", "livemode": false, "metadata": metadata,
            "reversals": {"object": "list", "data": [], "has_more": false, "url": "/v1/transfers"},
            "reversed": true})
    };
    for (kind, object) in [
        (
            "charge.dispute.created",
            dispute("pi_of_somebody_else", "needs_response"),
        ),
        (
            "charge.dispute.closed",
            dispute("pi_of_somebody_else", "lost"),
        ),
        ("refund.failed", refund(json!({}))),
        (
            "refund.failed",
            refund(json!({"task": task, "step": "refund"})),
        ),
        ("transfer.reversed", transfer(json!({}))),
        ("transfer.reversed", transfer(json!({"task": task}))),
        ("payout.failed", json!({"id": "po_1", "amount": 5})),
    ] {
        let mut event = event(kind, &object);
        event["account"] = json!("acct_of_somebody_else");
        tell(&app, WEBHOOK_SECRET, &event).await.expect(200);
    }
    let open = app.admin().await.get("/v1/admin/queue").await.expect(200);
    assert_eq!(open["data"], json!([]));
    TestApp::expect_settled(&app.verify().await);
}
