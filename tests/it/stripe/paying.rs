//! Money in and money out.

use std::time::Duration;

use legwork::domain::{Action, Environment, LedgerAccount, WorkerId};
use legwork::usecases;
use serde_json::{Value, json};

use super::adapter::Adapter;
use super::processor_events::account_updated;
use super::{
    cancel, expect_all_well, intent_of, paid_task, payment, start, status, until_it_is, untold,
};
use crate::support::{Developer, TestApp, balance, on_both_engines, storefront};

on_both_engines!(
    a_live_task_is_paid_for_and_the_notice_posts_it,
    a_default_method_is_charged_off_the_request,
    a_declined_method_leaves_the_task_to_be_paid_by_hand,
    a_method_that_vanished_leaves_the_task_to_be_paid_by_hand,
    a_method_that_stripe_refuses_is_not_kept,
    a_charge_whose_answer_is_lost_is_made_once,
    cancelling_while_pending_cancels_the_intent,
    a_payment_that_won_against_cancelling_is_refunded,
    a_refund_whose_answer_is_lost_is_made_once,
    half_goes_back_and_the_worker_is_paid,
    what_was_given_up_is_looked_for_before_it_is_asked_again,
    a_transfer_whose_answer_is_lost_is_made_once,
    when_stripe_is_down_there_is_no_task,
    everything_is_found_again_on_many_pages,
);

/// Longer than any pause between two attempts of a job.
pub const LATER: Duration = Duration::from_secs(24 * 60 * 60);

pub fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

pub async fn create(dev: &Developer) -> Value {
    dev.live.post("/v1/tasks", &storefront()).await.expect(201)
}

async fn a_live_task_is_paid_for_and_the_notice_posts_it(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    let before = payment(&dev, &task).await;
    assert_eq!(before["status"], "requires_payment");
    assert_eq!(before["processor"], "stripe");
    assert_eq!(before["payment_client_secret"], secret);
    assert_eq!(before["payment_url"], Value::Null);
    let page = app.client().get(&format!("/pay/{secret}")).await;
    assert_eq!(page.status, 404, "that page is the sandbox's");

    stripe.pay(&secret, "pm_card_visa").await;
    until_it_is("posted", &dev, &task).await;
    let after = payment(&dev, &task).await;
    assert_eq!(after["status"], "succeeded");
    assert_eq!(after["escrow_cents"], 2500);
    assert_eq!(after["payment_client_secret"], Value::Null);

    let [asked] = &stripe.asked("POST", "/v1/payment_intents")[..] else {
        panic!("one payment was asked for");
    };
    let key = format!("{}-payment", id(&task));
    assert_eq!(asked.header("idempotency-key"), Some(key.as_str()));
    for (field, value) in [
        ("amount", "2500"),
        ("currency", "usd"),
        ("transfer_group", id(&task)),
        ("metadata[task]", id(&task)),
        ("automatic_payment_methods[enabled]", "true"),
    ] {
        assert_eq!(asked.field(field), Some(value), "{field}");
    }
    expect_all_well(&app, &stripe).await;
}

async fn a_default_method_is_charged_off_the_request(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    dev.charge_to("pm_card_visa").await;
    let customers = stripe.asked("POST", "/v1/customers");
    assert_eq!(customers.len(), 1, "the second time there is one");
    let task = create(&dev).await;
    assert_eq!(task["status"], "pending");
    assert_eq!(payment(&dev, &task).await["status"], "processing");
    assert_eq!(stripe.asked("POST", "/v1/payment_intents").len(), 0);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(status(&dev, &task).await, "posted");

    let asked = &stripe.asked("POST", "/confirm")[0];
    let key = format!("{}-charge", id(&task));
    assert_eq!(asked.header("idempotency-key"), Some(key.as_str()));
    assert_eq!(asked.field("off_session"), Some("true"));
    let stored = dev.live.get("/v1/account/payment_method").await.expect(200);
    let method = stored["payment_method"].as_str();
    assert_eq!(asked.field("payment_method"), method);
    assert_ne!(
        method,
        Some("pm_card_visa"),
        "attached, it has a name of its own"
    );
    let customer = stripe.asked("POST", "/attach")[0]
        .field("customer")
        .map(str::to_owned);
    let created = &stripe.asked("POST", "/v1/payment_intents")[0];
    assert_eq!(created.field("customer"), customer.as_deref());
    expect_all_well(&app, &stripe).await;
}

async fn a_declined_method_leaves_the_task_to_be_paid_by_hand(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_chargeCustomerFail").await;
    let task = create(&dev).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 2, "the charge, and a mail");
    assert_eq!(status(&dev, &task).await, "pending");
    let declined = payment(&dev, &task).await;
    assert_eq!(declined["status"], "requires_payment");
    assert_eq!(declined["failure"]["code"], "generic_decline");
    assert_eq!(declined["failure"]["message"], "Your card was declined.");
    let secret = declined["payment_client_secret"].as_str().unwrap();
    assert!(secret.starts_with("pi_"), "{secret}");
    expect_all_well(&app, &stripe).await;
}

async fn a_method_that_vanished_leaves_the_task_to_be_paid_by_hand(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    app.database
        .execute("UPDATE payment_methods SET method_id = 'pm_vanished'")
        .await;
    let task = create(&dev).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 2, "the charge, and a mail");
    let declined = payment(&dev, &task).await;
    assert_eq!(declined["status"], "requires_payment");
    assert_eq!(declined["failure"]["code"], "resource_missing");
    let secret = declined["payment_client_secret"].as_str().unwrap();
    stripe.pay(secret, "pm_card_visa").await;
    until_it_is("posted", &dev, &task).await;
    expect_all_well(&app, &stripe).await;
}

async fn a_method_that_stripe_refuses_is_not_kept(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    for (method, reason) in [
        ("pm_card_visa_chargeDeclined", "declined"),
        ("pm_nobody_knows", "Not Found"),
    ] {
        let body = json!({ "payment_method": method }).to_string();
        let path = "/v1/account/payment_method";
        let refused = dev.live.send("PUT", path, &[], body).await;
        assert!(refused.text.contains(reason), "{}", refused.text);
        assert_eq!(refused.faulty_fields(), ["payment_method"]);
        let stored = dev.live.get(path).await.expect(200);
        assert_eq!(stored["payment_method"], Value::Null);
    }
    expect_all_well(&app, &stripe).await;
}

async fn a_charge_whose_answer_is_lost_is_made_once(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    for keys_are_remembered in [true, false] {
        let task = create(&dev).await;
        stripe.lose_answer("/confirm");
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        assert_eq!(status(&dev, &task).await, "pending");
        if !keys_are_remembered {
            stripe.forget_keys();
        }
        app.advance(LATER);
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        assert_eq!(status(&dev, &task).await, "posted");
    }
    let asked = stripe.asked("POST", "/confirm");
    assert_eq!(asked.len(), 4);
    for twice in asked.chunks(2) {
        let [first, again] = [0, 1].map(|number| twice[number].header("idempotency-key"));
        assert_eq!(first, again, "nobody knows what became of the first");
    }
    expect_all_well(&app, &stripe).await;
}

async fn cancelling_while_pending_cancels_the_intent(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    for answer_arrives in [true, false] {
        let (task, secret) = dev.create_payable_task().await;
        cancel(&dev, &task).await;
        if !answer_arrives {
            stripe.lose_answer("/cancel");
            assert_eq!(app.jobs.drain().await.unwrap(), 1);
            stripe.forget_keys();
            app.advance(LATER);
        }
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        let intent = stripe.intent(intent_of(&secret)).await;
        assert_eq!(intent["status"], "canceled");
        assert_eq!(payment(&dev, &task).await["status"], "cancelled");
    }
    expect_all_well(&app, &stripe).await;
}

async fn a_payment_that_won_against_cancelling_is_refunded(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    stripe.pay(&secret, "pm_card_visa").await;
    cancel(&dev, &task).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 2, "to cancel, to refund");
    assert_eq!(status(&dev, &task).await, "cancelled");
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 2500);
    expect_all_well(&app, &stripe).await;
}

async fn a_refund_whose_answer_is_lost_is_made_once(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let task = paid_task(&dev, &stripe).await;
    cancel(&dev, &task).await;
    stripe.lose_answer("/v1/refunds");
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(payment(&dev, &task).await["refund_pending_cents"], 2500);
    let report = app.verify().await;
    assert!(report.is_right(), "{:?}", report.differences);
    assert_eq!((report.owed, report.in_flight), (1, 1));

    stripe.forget_keys();
    app.advance(LATER);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 2500);
    let [asked] = &stripe.asked("POST", "/v1/refunds")[..] else {
        panic!("a refund that has been made is not asked for again");
    };
    let key = format!("{}-refund", id(&task));
    assert_eq!(asked.header("idempotency-key"), Some(key.as_str()));
    expect_all_well(&app, &stripe).await;
}

/// A worker with an account at Stripe that is not completed yet.
pub async fn worker_with_account(app: &TestApp) -> (WorkerId, String) {
    let (worker, processor) = (app.worker(), app.payments.processor.clone());
    let account = processor.open_payout_account(worker).await.unwrap();
    let (name, now, opened) = (processor.name(), app.clock.now(), account.clone());
    app.store
        .write(move |tx| usecases::payout_account_opened(tx, worker, name, &opened, now))
        .await
        .unwrap();
    let link = processor.onboarding_url(&account).await.unwrap();
    let another = processor.onboarding_url(&account).await.unwrap();
    assert!(link.starts_with("https://connect.stripe.com/"));
    assert_ne!(link, another, "a link works once");
    (worker, account)
}

/// Accepted by a worker and then cancelled: half goes back, the worker gets a share.
pub async fn cancelled_after_acceptance(
    app: &TestApp,
    stripe: &Adapter,
    dev: &Developer,
    worker: WorkerId,
) -> Value {
    let task = paid_task(dev, stripe).await;
    app.act(dev, &task, &[Action::Accept { worker }]).await;
    cancel(dev, &task).await;
    task
}

async fn half_goes_back_and_the_worker_is_paid(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let (worker, account) = worker_with_account(&app).await;
    let task = cancelled_after_acceptance(&app, &stripe, &dev, worker).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 2);
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 1250);
    assert_eq!(stripe.transfers().len(), 0, "the account is not ready");

    account_updated(&app, &stripe, &account).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    let [transfer] = &stripe.transfers()[..] else {
        panic!("one transfer was made");
    };
    assert_eq!(transfer["amount"], 1050);
    assert_eq!(transfer["destination"], account);
    assert_eq!(transfer["transfer_group"], id(&task));
    let charge = transfer["source_transaction"].as_str().unwrap();
    assert!(charge.starts_with("ch_"), "{charge}");
    let asked = &stripe.asked("POST", "/v1/transfers")[0];
    let key = format!("{}-transfer", id(&task));
    assert_eq!(asked.header("idempotency-key"), Some(key.as_str()));

    let report = app.verify().await;
    assert_eq!(balance(&report, LedgerAccount::PlatformFees), 200);
    assert_eq!(balance(&report, LedgerAccount::Processor), -200);
    let owed = app
        .store
        .read(move |tx| tx.worker_balance(worker, Environment::Live))
        .await
        .unwrap();
    assert_eq!(owed, 0);
    expect_all_well(&app, &stripe).await;
}

/// Refunded and transferred, with both answers lost, then given up, and retried when Stripe has long
/// forgotten the keys. Without a look, a second half would be refunded.
async fn what_was_given_up_is_looked_for_before_it_is_asked_again(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let (dev, admin) = (app.developer().await, app.admin().await);
    let (worker, account) = worker_with_account(&app).await;
    account_updated(&app, &stripe, &account).await;
    let task = cancelled_after_acceptance(&app, &stripe, &dev, worker).await;
    // One after the other, so that each answer can be lost.
    app.database
        .execute("UPDATE jobs SET run_at = run_at + 3600000 WHERE kind = 'transfer'")
        .await;
    stripe.lose_answer("/v1/refunds");
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    app.database
        .execute("UPDATE jobs SET run_at = run_at + 86400000 WHERE kind = 'refund'")
        .await;
    stripe.lose_answer("/v1/transfers");
    app.advance(Duration::from_secs(3600));
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(stripe.transfers().len(), 1);

    stripe.set_refusing(true);
    app.advance(2 * LATER);
    app.jobs.drain().await.unwrap();
    let dead = admin.get("/v1/admin/jobs?dead=true").await.expect(200);
    assert_eq!(dead["data"].as_array().unwrap().len(), 2, "{dead}");
    stripe.set_refusing(false);
    stripe.forget_keys();
    for kind in ["refund", "transfer"] {
        let job = json!({"kind": kind, "subject": id(&task)});
        admin.post("/v1/admin/jobs/retry", &job).await.expect(200);
    }
    app.jobs.drain().await.unwrap();
    assert_eq!(stripe.asked("POST", "/v1/refunds").len(), 1);
    assert_eq!(stripe.asked("POST", "/v1/transfers").len(), 1);
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 1250);
    expect_all_well(&app, &stripe).await;
}

async fn a_transfer_whose_answer_is_lost_is_made_once(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let (worker, account) = worker_with_account(&app).await;
    account_updated(&app, &stripe, &account).await;
    cancelled_after_acceptance(&app, &stripe, &dev, worker).await;
    stripe.lose_answer("/v1/transfers");
    assert_eq!(app.jobs.drain().await.unwrap(), 2);
    assert_eq!(stripe.transfers().len(), 1);
    stripe.forget_keys();
    app.advance(LATER);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(stripe.transfers().len(), 1);
    expect_all_well(&app, &stripe).await;
}

async fn when_stripe_is_down_there_is_no_task(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    stripe.set_down(true);
    let refused = dev.live.post("/v1/tasks", &storefront()).await;
    refused.expect_error(503, "PAYMENT_UNAVAILABLE");
    let listed = dev.live.get("/v1/tasks").await.expect(200);
    assert_eq!(listed["meta"]["total"], 0);
    stripe.set_down(false);
    let (task, _) = dev.create_payable_task().await;
    assert_eq!(task["status"], "pending");
    stripe.set_down(true);
    cancel(&dev, &task).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    stripe.set_down(false);
    app.advance(LATER);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(payment(&dev, &task).await["status"], "cancelled");
    expect_all_well(&app, &stripe).await;
}

async fn everything_is_found_again_on_many_pages(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    for _ in 0..5 {
        create(&dev).await;
    }
    dev.live
        .delete("/v1/account/payment_method")
        .await
        .expect(200);
    let (unpaid, _) = dev.create_payable_task().await;
    assert_eq!(app.jobs.drain().await.unwrap(), 5);
    let movements = app.payments.processor.movements().await.unwrap();
    assert_eq!(movements.len(), 5);
    assert!(movements.iter().all(|made| made.cents == 2500));
    let before = app.clock.now().minus(Duration::from_secs(600));
    assert!(movements.iter().all(|made| made.at > before));
    assert_eq!(status(&dev, &unpaid).await, "pending");
    expect_all_well(&app, &stripe).await;
}
