//! Work that happens later: leases, retries, and giving up.

use std::sync::Arc;
use std::time::Duration;

use legwork::domain::{JobKind, JobName, Lane, TaskId};
use legwork::jobs::Jobs;
use legwork::payments::{Attempt, NewPayment};

use crate::support::{
    Command, Database, Engine, Flaky, InjectedFault, TestApp, on_both_engines, path, storefront,
};

const LEASE: Duration = Duration::from_secs(120);

on_both_engines!(
    a_job_is_claimed_by_one,
    a_lease_that_ran_out_is_taken_over,
    a_job_whose_lease_was_lost_records_nothing,
    a_job_that_cannot_be_read_is_given_up,
    a_charge_after_the_end_by_a_process_that_died_is_refunded,
);

fn on_a_flaky_processor<F: Future<Output = ()>>(scenario: impl Fn(TestApp, Flaky) -> F) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let database = Arc::new(Database::migrated(engine));
            let (app, processor) = TestApp::start_flaky(&database).await;
            scenario(app, processor).await;
        });
    }
}

/// A cancelled task whose refund is due.
async fn owe_a_refund(app: &TestApp) -> JobName {
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    JobName::new(JobKind::Refund, task["id"].as_str().unwrap())
}

async fn claim(app: &TestApp, by: &str) -> Vec<legwork::store::ClaimedJob> {
    let (by, now) = (by.to_owned(), app.clock.now());
    app.store
        .write(move |tx| tx.claim_jobs(Lane::Rest, &by, now, now.plus(LEASE), 100))
        .await
        .unwrap()
}

async fn a_job_is_claimed_by_one(app: TestApp) {
    for _ in 0..20 {
        owe_a_refund(&app).await;
    }
    let claims = ["a", "b", "c", "d"].map(|by| claim(&app, by));
    let claimed = futures_util::future::join_all(claims).await;
    let mut names: Vec<_> = claimed.into_iter().flatten().map(|job| job.name).collect();
    // Rows that another claim held at that moment are passed over, not waited for.
    names.extend(claim(&app, "e").await.into_iter().map(|job| job.name));
    assert_eq!(names.len(), 20);
    names.sort_by(|a, b| a.subject.cmp(&b.subject));
    names.dedup();
    assert_eq!(names.len(), 20, "a job was claimed twice");
    assert_eq!(app.jobs.drain().await.unwrap(), 0, "all are under lease");
}

async fn a_lease_that_ran_out_is_taken_over(app: TestApp) {
    owe_a_refund(&app).await;
    assert_eq!(claim(&app, "a process that dies").await.len(), 1);
    app.advance(LEASE - Duration::from_millis(1));
    assert_eq!(app.jobs.drain().await.unwrap(), 0);
    app.advance(Duration::from_millis(1));
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    TestApp::expect_settled(&app.verify().await);
}

async fn a_job_whose_lease_was_lost_records_nothing(app: TestApp) {
    owe_a_refund(&app).await;
    let slow = claim(&app, "slow").await.remove(0);
    app.advance(LEASE);
    let second = claim(&app, "second").await.remove(0);
    assert!(!finish(&app, &slow).await, "it belongs to another");
    let (late, now) = (slow.clone(), app.clock.now());
    app.store
        .write(move |tx| {
            tx.put_off_job(&late, Some(now), ("late", false))?;
            tx.let_job_wait(&late, None, now)
        })
        .await
        .unwrap();
    assert_eq!(app.jobs.drain().await.unwrap(), 0, "still under lease");
    assert!(finish(&app, &second).await);
    assert!(!finish(&app, &second).await, "it is done");
}

async fn finish(app: &TestApp, job: &legwork::store::ClaimedJob) -> bool {
    let job = job.clone();
    app.store
        .write(move |tx| tx.finish_job(&job))
        .await
        .unwrap()
}

/// A process has begun to charge; the task is cancelled and its payment called off, before there is
/// one; the process makes the payment, charges it, and dies.
async fn a_charge_after_the_end_by_a_process_that_died_is_refunded(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    assert_eq!(claim(&app, "a process that dies").await.len(), 1);
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    let id = TaskId::parse(task["id"].as_str().unwrap()).unwrap();
    let payment = app.store.read(move |tx| tx.payment(id)).await;
    let payment = payment.unwrap().unwrap();
    let new = NewPayment {
        attempt: Attempt::first(id),
        account: payment.account,
        amount_cents: payment.amount_cents,
        customer: None,
        wanted_since: payment.created_at,
    };
    let processor = app.payments.processor.clone();
    let intent = processor.create_payment(&new).await.unwrap();
    let (made, name, now) = (intent.clone(), processor.name(), app.clock.now());
    app.store
        .write(move |tx| tx.set_payment_intent(id, name, &made, now))
        .await
        .unwrap();
    let method = payment.method.unwrap();
    let charged = processor.charge(new.attempt, &intent.id, &method).await;
    charged.unwrap();
    app.advance(LEASE);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    assert_eq!(payment.expect(200)["refunded_cents"], 2500);
}

async fn a_job_that_cannot_be_read_is_given_up(app: TestApp) {
    app.database
        .execute(
            "INSERT INTO jobs (kind, subject, run_at, attempts, created_at)
             VALUES ('refund', 'no task', 0, 0, 0)",
        )
        .await;
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    let list = Command::new(&["job", "list", "--dead"]).on(&app.database);
    let list = list.succeed();
    assert!(
        list.contains("refund:no task") && list.contains("dead"),
        "{list}"
    );
    let retry = Command::new(&["job", "retry", "refund:another"]).on(&app.database);
    assert!(retry.fail().contains("no dead job"));
}

/// A processor that is down is asked again and again, ever less often, and never given up.
#[test]
fn an_outage_of_days_loses_no_refund() {
    on_a_flaky_processor(async |app, processor| {
        owe_a_refund(&app).await;
        processor.set(InjectedFault::Down);
        let mut waited = Duration::ZERO;
        for attempt in 1..=40 {
            assert_eq!(app.jobs.drain().await.unwrap(), 1, "attempt {attempt}");
            assert_eq!(app.jobs.drain().await.unwrap(), 0, "at once again");
            while !is_due(&app).await {
                app.advance(Duration::from_secs(1));
                waited += Duration::from_secs(1);
            }
        }
        assert!(waited > Duration::from_secs(5 * 60 * 60), "{waited:?}");
        processor.set(InjectedFault::None);
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        TestApp::expect_settled(&app.verify().await);
    });
}

/// One job has waited for it in vain. The others wait without asking, so what asks nobody has its turn.
#[test]
fn a_processor_that_does_not_answer_is_left_alone() {
    on_a_flaky_processor(async |app, processor| {
        let reasons = "SELECT COALESCE(last_error, 'none') FROM jobs ORDER BY created_at";
        let jobs = app.jobs.clone().with_silence(Duration::ZERO);
        owe_a_refund(&app).await;
        processor.set(InjectedFault::Down);
        assert_eq!(jobs.drain().await.unwrap(), 1);
        processor.set(InjectedFault::None);
        app.advance(Duration::from_secs(10 * 60));
        owe_a_refund(&app).await;
        assert_eq!(jobs.drain().await.unwrap(), 2, "both wait");
        let down = "the payment processor is unavailable: down";
        assert_eq!(app.database.column(reasons).await, [down, "none"]);
        assert_eq!(app.verify().await.owed, 2);
    });
}

async fn is_due(app: &TestApp) -> bool {
    let now = app.clock.now();
    app.store
        .read(move |tx| tx.any_job_due(Lane::Rest, now))
        .await
        .unwrap()
}

#[test]
fn an_answer_that_was_lost_refunds_once() {
    on_a_flaky_processor(async |app, processor| {
        owe_a_refund(&app).await;
        processor.set(InjectedFault::AnswerLost);
        for _ in 0..3 {
            assert_eq!(app.jobs.drain().await.unwrap(), 1);
            app.advance(Duration::from_secs(60 * 60));
        }
        let report = app.verify().await;
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!((report.owed, report.in_flight), (1, 1));
        processor.set(InjectedFault::None);
        assert_eq!(app.jobs.drain().await.unwrap(), 1);
        TestApp::expect_settled(&app.verify().await);
        let made = "SELECT CAST(COUNT(*) AS TEXT) FROM sandbox_movements";
        assert_eq!(app.database.column(made).await, ["1"]);
    });
}

#[test]
fn a_process_killed_after_the_yes_charges_once() {
    on_a_flaky_processor(async |app, processor| {
        let dev = app.developer().await;
        dev.charge_to("pm_card_visa").await;
        let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
        // Killed once after the payment was made known, once after it was charged.
        for _ in 0..2 {
            processor.set(InjectedFault::Killed);
            let killed = processor.until_killed(app.jobs.drain()).await;
            assert!(killed.is_none());
            let pending = dev.live.get(&path(&task)).await.expect(200);
            assert_eq!(pending["status"], "pending");
            app.advance(LEASE);
        }
        processor.set(InjectedFault::None);
        app.jobs.drain().await.unwrap();
        let posted = dev.live.get(&path(&task)).await.expect(200);
        assert_eq!(posted["status"], "posted");
        TestApp::expect_settled(&app.verify().await);
        let made = "SELECT CAST(COUNT(*) AS TEXT) FROM sandbox_payments";
        assert_eq!(app.database.column(made).await, ["1"]);
    });
}

/// A process has created and charged a payment in one request, and died before it recorded anything. The
/// task ends. The payment is found by its task.
#[test]
fn a_charge_that_nobody_recorded_is_found_and_refunded() {
    on_a_flaky_processor(async |app, processor| {
        let dev = app.developer().await;
        dev.charge_to("pm_card_visa").await;
        let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
        processor.set(InjectedFault::Killed);
        let killed = processor.until_killed(app.jobs.drain()).await;
        assert!(killed.is_none());
        processor.set(InjectedFault::None);
        let intents = "SELECT COALESCE(payment_id, 'none') FROM payments";
        assert_eq!(app.database.column(intents).await, ["none"]);
        let cancel = format!("{}/cancel", path(&task));
        dev.live.send("POST", &cancel, &[], "").await.expect(200);
        // The cancellation, and the refund that follows.
        assert_eq!(app.jobs.drain().await.unwrap(), 2);
        let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
        assert_eq!(payment.expect(200)["refunded_cents"], 2500);
        app.advance(LEASE);
        assert_eq!(app.jobs.drain().await.unwrap(), 1, "the charge has ended");
        TestApp::expect_settled(&app.verify().await);
    });
}

/// A declined charge leaves a payment that a person can pay.
#[test]
fn a_charge_declined_at_once_can_be_paid_by_hand() {
    on_a_flaky_processor(async |app, _| {
        let dev = app.developer().await;
        dev.charge_to("pm_card_chargeDeclined").await;
        let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
        assert_eq!(app.jobs.drain().await.unwrap(), 2, "a charge and a mail");
        let stored = "SELECT status || ' ' || payment_id FROM payments";
        let expected = format!("requires_payment pay_{}", task["id"].as_str().unwrap());
        assert_eq!(app.database.column(stored).await, [expected]);
        let made = "SELECT status FROM sandbox_payments";
        assert_eq!(app.database.column(made).await, ["requires_payment"]);
    });
}

/// The lease ends during a request that is refused then. The job belongs to another process, which may
/// have sent the money.
#[test]
fn a_job_whose_lease_was_lost_does_not_say_that_it_failed() {
    on_a_flaky_processor(async |app, processor| {
        owe_a_refund(&app).await;
        processor.set(InjectedFault::RefusesLate);
        let taken_over = processor.before_late_refusal(async {
            app.advance(LEASE);
            claim(&app, "another").await
        });
        let (worked, taken_over) = tokio::join!(app.jobs.drain(), taken_over);
        assert_eq!((worked.unwrap(), taken_over.len()), (1, 1));
        let admin = app.admin().await;
        let queue = admin.get("/v1/admin/queue?kind=refund_failed").await;
        assert_eq!(queue.expect(200)["data"], serde_json::json!([]));
    });
}

/// The runner hears of jobs that its own process writes; it does not wait for the next look.
#[test]
fn the_runner_works_until_it_is_told_to_stop() {
    on_a_flaky_processor(async |app, _| {
        let jobs: Jobs = app.jobs.clone();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let told = async move { stopped.await.unwrap_or(()) };
            jobs.run(told).await;
        });
        for _ in 0..30 {
            owe_a_refund(&app).await;
        }
        while app.verify().await.owed > 0 {
            tokio::task::yield_now().await;
        }
        stop.send(()).unwrap();
        running.await.unwrap();
        TestApp::expect_settled(&app.verify().await);
    });
}
