//! How money goes out: refunds and payouts for every row of the table of moves.

use legwork::domain::{Action, Environment, LedgerAccount, WorkerId};
use serde_json::{Value, json};

use crate::support::{Developer, InjectedFault, TestApp, balance, on_both_engines, path};

on_both_engines!(
    cancelling_a_posted_task_refunds_all_of_it,
    cancelling_an_assigned_task_refunds_half_and_pays_the_worker,
    an_approved_task_pays_the_worker,
    the_third_rejection_refunds,
    an_overdue_task_is_refunded,
    a_disputed_task_is_paid_refunded_or_split,
    a_transfer_waits_for_the_payout_account,
    the_onboarding_page_completes_an_account_once,
);

/// Accepts a task and works on it until the first proof is in.
async fn prove(app: &TestApp, dev: &Developer, task: &Value, worker: WorkerId) {
    let accept = Action::Accept { worker };
    let steps = [accept, Action::Start, Action::SubmitProof];
    app.act(dev, task, &steps).await;
}

/// What each entry of a task posts, in short.
async fn postings(dev: &Developer, task: &Value) -> Vec<Value> {
    let ledger = dev.live.get(&format!("{}/ledger", path(task))).await;
    let ledger = ledger.expect(200);
    let short = |entry: &Value| {
        let mut short = json!({});
        for posting in entry["postings"].as_array().unwrap() {
            short[posting["account"].as_str().unwrap()] = posting["amount_cents"].clone();
        }
        json!([entry["type"], short])
    };
    ledger["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(short)
        .collect()
}

fn paid_in() -> Value {
    json!(["payment", {"processor": -2500, "escrow": 2500}])
}

async fn cancelling_a_posted_task_refunds_all_of_it(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    let expected = [
        paid_in(),
        json!(["settlement", {"escrow": -2500, "developer_refunds": 2500}]),
        json!(["refund", {"processor": 2500, "developer_refunds": -2500}]),
    ];
    assert_eq!(postings(&dev, &task).await, expected);
    TestApp::expect_settled(&app.verify().await);
}

async fn cancelling_an_assigned_task_refunds_half_and_pays_the_worker(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.payable_worker().await;
    let task = dev.create_paid_task().await;
    app.act(&dev, &task, &[Action::Accept { worker }]).await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    assert_eq!(app.jobs.drain().await.unwrap(), 2);
    let postings = postings(&dev, &task).await;
    let settlement = json!(["settlement", {"escrow": -2500, "worker_balance": 1050,
        "platform_fees": 200, "developer_refunds": 1250}]);
    assert_eq!(postings[..2], [paid_in(), settlement]);
    let refund = json!(["refund", {"processor": 1250, "developer_refunds": -1250}]);
    let transfer = json!(["transfer", {"processor": 1050, "worker_balance": -1050}]);
    assert_eq!(postings[2..], [refund, transfer]);
    let report = app.verify().await;
    TestApp::expect_settled(&report);
    assert_eq!(balance(&report, LedgerAccount::PlatformFees), 200);
    assert_eq!(balance(&report, LedgerAccount::Processor), -200);
}

async fn an_approved_task_pays_the_worker(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.payable_worker().await;
    let task = dev.create_paid_task().await;
    prove(&app, &dev, &task, worker).await;
    app.act(&dev, &task, &[Action::Approve]).await;
    let owed = app
        .store
        .read(move |tx| tx.worker_balance(worker, Environment::Live))
        .await
        .unwrap();
    assert_eq!(owed, 2100);
    assert_eq!(app.jobs.drain().await.unwrap(), 1);
    let expected = [
        paid_in(),
        json!(["settlement", {"escrow": -2500, "worker_balance": 2100, "platform_fees": 400}]),
        json!(["transfer", {"processor": 2100, "worker_balance": -2100}]),
    ];
    assert_eq!(postings(&dev, &task).await, expected);
    let report = app.verify().await;
    TestApp::expect_settled(&report);
    assert_eq!(balance(&report, LedgerAccount::PlatformFees), 400);
    assert_eq!(balance(&report, LedgerAccount::WorkerBalance), 0);
}

async fn the_third_rejection_refunds(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.payable_worker().await;
    let task = dev.create_paid_task().await;
    prove(&app, &dev, &task, worker).await;
    let again = [Action::Reject, Action::SubmitProof];
    app.act(&dev, &task, &again).await;
    app.act(&dev, &task, &again).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 0);
    app.act(&dev, &task, &[Action::Reject]).await;
    app.jobs.drain().await.unwrap();
    let task_now = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(task_now["status"], "refunded");
    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    assert_eq!(payment.expect(200)["refunded_cents"], 2500);
    TestApp::expect_settled(&app.verify().await);
}

async fn an_overdue_task_is_refunded(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.payable_worker().await;
    for steps in [
        vec![],
        vec![Action::Accept { worker }],
        vec![Action::Accept { worker }, Action::Start],
    ] {
        let task = dev.create_paid_task().await;
        app.act(&dev, &task, &steps).await;
        app.act(&dev, &task, &[Action::Overdue]).await;
        app.jobs.drain().await.unwrap();
        let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
        assert_eq!(payment.expect(200)["refunded_cents"], 2500);
    }
    let unpaid = dev.create_live_task().await;
    app.act(&dev, &unpaid, &[Action::LeaveUnpaid]).await;
    app.jobs.drain().await.unwrap();
    let payment = dev.live.get(&format!("{}/payment", path(&unpaid))).await;
    assert_eq!(payment.expect(200)["status"], "cancelled");
    TestApp::expect_settled(&app.verify().await);
}

async fn a_disputed_task_is_paid_refunded_or_split(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.payable_worker().await;
    for (decision, refunded, earned) in [
        (Action::DecidePay, 0, 2100),
        (Action::DecideRefund, 2500, 0),
        (Action::DecideSplit { paid_cents: 1000 }, 1500, 840),
    ] {
        let task = dev.create_paid_task().await;
        prove(&app, &dev, &task, worker).await;
        let steps = [Action::Reject, Action::Dispute, decision];
        app.act(&dev, &task, &steps).await;
        app.jobs.drain().await.unwrap();
        let postings = postings(&dev, &task).await;
        let sent = |step: &str| {
            let found = postings.iter().find(|entry| entry[0] == step);
            found.map_or(0, |entry| entry[1]["processor"].as_i64().unwrap())
        };
        assert_eq!((sent("refund"), sent("transfer")), (refunded, earned));
    }
    TestApp::expect_settled(&app.verify().await);
}

async fn a_transfer_waits_for_the_payout_account(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.worker();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let task = dev.create_paid_task().await;
        prove(&app, &dev, &task, worker).await;
        app.act(&dev, &task, &[Action::Approve]).await;
        tasks.push(task);
    }
    // Neither without an account, nor with one that is not complete.
    app.jobs.drain().await.unwrap();
    let page = app.open_payout_account(worker).await;
    assert_eq!(app.jobs.drain().await.unwrap(), 0, "nothing is due");
    let report = app.verify().await;
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(report.owed, 3);
    assert_eq!(balance(&report, LedgerAccount::WorkerBalance), 3 * 2100);
    let done = app.client().send("POST", &page, &[], "").await;
    assert_eq!(done.status, 200);
    assert_eq!(app.jobs.drain().await.unwrap(), 3);
    let report = app.verify().await;
    TestApp::expect_settled(&report);
    assert_eq!(balance(&report, LedgerAccount::WorkerBalance), 0);
}

async fn the_onboarding_page_completes_an_account_once(app: TestApp) {
    let worker = app.worker();
    let page = app.open_payout_account(worker).await;
    assert_eq!(
        app.open_payout_account(worker).await,
        page,
        "one account each"
    );
    let shown = app.client().get(&page).await;
    assert!(shown.status == 200 && shown.text.contains("<form method=\"post\">"));
    for _ in 0..2 {
        let done = app.client().send("POST", &page, &[], "").await;
        assert!(done.status == 200 && done.text.contains("ready"));
    }
    let shown = app.client().get(&page).await;
    assert!(!shown.text.contains("<form"));
    for wrong in ["/onboarding/x", "/onboarding/acct_1_secret_2"] {
        assert_eq!(app.client().get(wrong).await.status, 404);
        let post = app.client().send("POST", wrong, &[], "").await;
        assert_eq!(post.status, 404);
    }
}

#[test]
fn a_payout_that_fails_for_good_stays_on_the_balance() {
    for engine in [
        crate::support::Engine::Sqlite,
        crate::support::Engine::Postgres,
    ] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let database = std::sync::Arc::new(crate::support::Database::migrated(engine));
            let (app, processor) = TestApp::start_flaky(&database).await;
            let dev = app.developer().await;
            let worker = app.payable_worker().await;
            let task = dev.create_paid_task().await;
            prove(&app, &dev, &task, worker).await;
            app.act(&dev, &task, &[Action::Approve]).await;
            processor.set(InjectedFault::Refuses);
            assert_eq!(app.jobs.drain().await.unwrap(), 1);
            assert_eq!(app.jobs.drain().await.unwrap(), 0, "not tried again");
            let report = app.verify().await;
            assert_eq!(report.differences, Vec::<String>::new());
            assert_eq!(balance(&report, LedgerAccount::WorkerBalance), 2100);
            let queue = app
                .admin()
                .await
                .get("/v1/admin/queue?kind=failed_payout")
                .await;
            let item = queue.expect(200)["data"][0].clone();
            assert_eq!(item["task_id"], task["id"]);
            assert_eq!(item["worker_id"], worker.to_string());
            processor.set(InjectedFault::None);
            let job = format!("transfer:{}", task["id"].as_str().unwrap());
            let list = crate::support::Command::new(&["job", "list", "--dead"]);
            let list = list.on(&database).succeed();
            assert!(list.contains(&job) && list.contains("No."), "{list}");
            let retry = crate::support::Command::new(&["job", "retry", &job]);
            retry.on(&database).succeed();
            // The program has looked at the machine's clock.
            let machine = legwork::ambient::Clock::system().now();
            app.clock.move_to(machine.max(app.clock.now()));
            assert_eq!(app.jobs.drain().await.unwrap(), 1);
            TestApp::expect_settled(&app.verify().await);
        });
    }
}
