//! What is asked of Stripe a second time: after it has said no, after it has failed, and by a server that was
//! restored from a backup and knows nothing of the first time.

use std::time::Duration;

use serde_json::{Value, json};

use super::adapter::{Adapter, Trouble};
use super::paying::{LATER, cancelled_after_acceptance, create, id, worker_with_account};
use super::processor_events::account_updated;
use super::{expect_all_well, payment, start, status, untold};
use crate::support::{Developer, TestApp, on_both_engines};

on_both_engines!(
    what_was_sent_after_a_backup_is_not_sent_again,
    a_payment_that_was_made_after_a_backup_is_not_made_again,
    a_paid_payment_that_a_backup_does_not_know_is_found,
    what_was_refused_is_asked_again_under_another_key,
    a_charge_that_failed_is_asked_again_under_another_key,
    money_out_that_failed_is_asked_again_after_a_while,
    what_was_done_although_it_failed_is_found,
);

/// Longer than a processor takes to complete what it failed at.
const SETTLED: Duration = Duration::from_secs(20 * 60);

/// A task of which half is about to go to the developer, and a share to the worker.
async fn owing(app: &TestApp, stripe: &Adapter, dev: &Developer) -> Value {
    let (worker, account) = worker_with_account(app).await;
    account_updated(app, stripe, &account).await;
    cancelled_after_acceptance(app, stripe, dev, worker).await
}

/// Jobs as they are in a backup from before they were started, restored when Stripe has forgotten the keys.
async fn restore_jobs(app: &TestApp, stripe: &Adapter) {
    app.database
        .execute("UPDATE jobs SET attempts = 0, last_error = NULL, claim = NULL, keys_spent = 0")
        .await;
    stripe.forget_keys();
    app.advance(LATER);
}

/// The keys of the requests to a path.
fn keys(stripe: &Adapter, path: &str) -> Vec<String> {
    let asked = stripe.asked("POST", path).into_iter();
    asked
        .map(|asked| asked.header("idempotency-key").unwrap().to_owned())
        .collect()
}

async fn retry(app: &TestApp, kind: &str, task: &Value) {
    let job = json!({"kind": kind, "subject": id(task)});
    let admin = app.admin().await;
    admin.post("/v1/admin/jobs/retry", &job).await.expect(200);
}

async fn what_was_sent_after_a_backup_is_not_sent_again(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let task = owing(&app, &stripe, &dev).await;
    stripe.lose_answer("/v1/refunds");
    stripe.trouble("/v1/transfers", Trouble::FailedLate);
    assert_eq!(app.jobs.drain().await.unwrap(), 2);
    restore_jobs(&app, &stripe).await;
    let report = app.verify().await;
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!((report.owed, report.in_flight), (2, 2));
    for (step, cents) in [("refund", 1250), ("transfer", 1050)] {
        let said = format!(
            "task {} has a {step} of {cents} at the processor: its job records it",
            id(&task)
        );
        assert!(report.to_be_recorded.contains(&said), "{report:?}");
    }
    assert_eq!(app.jobs.drain().await.unwrap(), 2);
    assert_eq!(stripe.asked("POST", "/v1/refunds").len(), 1);
    assert_eq!(stripe.asked("POST", "/v1/transfers").len(), 1);
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 1250);
    expect_all_well(&app, &stripe).await;
}

async fn a_payment_that_was_made_after_a_backup_is_not_made_again(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    for _ in 0..3 {
        create(&dev).await;
    }
    app.jobs.drain().await.unwrap();
    let task = create(&dev).await;
    stripe.lose_answer("/v1/payment_intents");
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    restore_jobs(&app, &stripe).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(status(&dev, &task).await, "posted");
    assert_eq!(stripe.asked("POST", "/v1/payment_intents").len(), 4);
    expect_all_well(&app, &stripe).await;
}

async fn a_paid_payment_that_a_backup_does_not_know_is_found(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let task = create(&dev).await;
    stripe.lose_answer("/confirm");
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    app.database
        .execute("UPDATE payments SET payment_id = NULL, client_secret = NULL")
        .await;
    restore_jobs(&app, &stripe).await;
    let report = app.verify().await;
    assert_eq!((report.in_flight, report.to_be_recorded.len()), (1, 1));
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(status(&dev, &task).await, "posted");
    assert_eq!(stripe.asked("POST", "/v1/payment_intents").len(), 1);
    expect_all_well(&app, &stripe).await;
}

async fn what_was_refused_is_asked_again_under_another_key(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let task = owing(&app, &stripe, &dev).await;
    for (kind, path) in [("refund", "/v1/refunds"), ("transfer", "/v1/transfers")] {
        let others = format!("UPDATE jobs SET run_at = run_at + 60000 WHERE kind <> '{kind}'");
        app.database.execute(&others).await;
        stripe.trouble(path, Trouble::Refused);
        app.jobs.drain().await.unwrap();
        let first = format!("{}-{kind}", id(&task));
        assert_eq!(keys(&stripe, path), std::slice::from_ref(&first));
        // Whatever was wrong, it is put right.
        retry(&app, kind, &task).await;
        app.jobs.drain().await.unwrap();
        assert_eq!(
            keys(&stripe, path),
            [first.clone(), format!("{first}-after-1")]
        );
        app.advance(Duration::from_secs(60));
    }
    assert_eq!(stripe.transfers().len(), 1);
    assert_eq!(payment(&dev, &task).await["refunded_cents"], 1250);
    expect_all_well(&app, &stripe).await;
}

async fn a_charge_that_failed_is_asked_again_under_another_key(app: TestApp) {
    let (app, stripe) = untold(&app).await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    for path in ["/v1/payment_intents", "/confirm"] {
        let task = create(&dev).await;
        stripe.trouble(path, Trouble::Failed);
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        assert_eq!(status(&dev, &task).await, "pending");
        app.advance(Duration::from_secs(2));
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        assert_eq!(status(&dev, &task).await, "posted", "{path}");
    }
    assert_eq!(stripe.asked("POST", "/confirm").len(), 3);
    expect_all_well(&app, &stripe).await;
}

async fn money_out_that_failed_is_asked_again_after_a_while(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    let task = owing(&app, &stripe, &dev).await;
    stripe.trouble("/v1/transfers", Trouble::Failed);
    app.jobs.drain().await.unwrap();
    app.advance(Duration::from_secs(9 * 60));
    assert_eq!(
        app.jobs.drain().await.unwrap(),
        0,
        "Stripe may still complete it"
    );
    app.advance(SETTLED);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    let first = format!("{}-transfer", id(&task));
    let expected = [first.clone(), format!("{first}-after-1")];
    assert_eq!(keys(&stripe, "/v1/transfers"), expected);
    assert_eq!(stripe.transfers().len(), 1);
    expect_all_well(&app, &stripe).await;
}

async fn what_was_done_although_it_failed_is_found(app: TestApp) {
    let (app, stripe) = start(&app).await;
    let dev = app.developer().await;
    owing(&app, &stripe, &dev).await;
    stripe.trouble("/v1/transfers", Trouble::FailedLate);
    app.jobs.drain().await.unwrap();
    app.advance(SETTLED);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    assert_eq!(keys(&stripe, "/v1/transfers").len(), 1);
    assert_eq!(stripe.transfers().len(), 1);
    expect_all_well(&app, &stripe).await;
}
