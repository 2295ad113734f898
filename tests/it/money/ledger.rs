//! The ledger as its readers see it: over HTTP, on the command line, and when something is wrong.

use legwork::domain::Action;
use legwork::store::all_statements;
use serde_json::json;

use crate::support::{Command, Developer, GOOD_CARD, TestApp, on_both_engines, path};

on_both_engines!(
    a_test_task_has_a_ledger_of_its_own,
    the_ledger_is_paged,
    the_command_line_verifies_and_exports,
    an_entry_that_does_not_balance_cannot_be_stored,
    a_step_cannot_be_stored_twice,
    whatever_is_altered_is_found,
    a_secret_that_cannot_be_opened_stops_no_money,
);

async fn a_test_task_has_a_ledger_of_its_own(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    app.set_time("2025-11-15T13:00:00.000Z");
    let cancel = format!("{}/cancel", path(&task));
    dev.test.send("POST", &cancel, &[], "").await.expect(200);
    let ledger = dev.test.get(&format!("{}/ledger", path(&task))).await;
    let expected = json!({
        "data": [
            {"task_id": task["id"], "type": "payment", "created_at": TestApp::NOON, "postings": [
                {"account": "processor", "amount_cents": -2500},
                {"account": "escrow", "amount_cents": 2500}]},
            {"task_id": task["id"], "type": "settlement",
                "created_at": "2025-11-15T13:00:00.000Z", "postings": [
                {"account": "escrow", "amount_cents": -2500},
                {"account": "developer_refunds", "amount_cents": 2500}]},
        ],
        "meta": {"total": 2, "limit": 20, "offset": 0},
    });
    assert_eq!(ledger.expect(200), expected);
}

async fn the_ledger_is_paged(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let ledger = format!("{}/ledger", path(&task));
    let page = dev.test.get(&format!("{ledger}?limit=1&offset=1")).await;
    let page = page.expect(200);
    assert_eq!(page["data"], json!([]));
    assert_eq!(page["meta"], json!({"total": 1, "limit": 1, "offset": 1}));
    let refused = dev.test.get(&format!("{ledger}?limit=0&x=1")).await;
    assert_eq!(refused.faulty_fields(), ["limit", "x"]);
}

/// One task in each interesting state.
async fn some_history(app: &TestApp) -> Developer {
    let dev = app.developer().await;
    let worker = app.payable_worker().await;
    dev.create_task().await;
    dev.create_live_task().await;
    dev.create_paid_task().await;
    let cancelled = dev.create_paid_task().await;
    app.act(&dev, &cancelled, &[Action::Cancel]).await;
    let completed = dev.create_paid_task().await;
    let work = [
        Action::Accept { worker },
        Action::Start,
        Action::SubmitProof,
        Action::Approve,
    ];
    app.act(&dev, &completed, &work).await;
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
    dev
}

async fn the_command_line_verifies_and_exports(app: TestApp) {
    some_history(&app).await;
    let verify = || Command::new(&["ledger", "verify"]).on(&app.database);
    let report = verify().succeed();
    assert!(report.contains("The ledger is correct."), "{report}");
    let export = || Command::new(&["ledger", "export", "--csv"]).on(&app.database);
    let csv = export().succeed();
    let mut lines = csv.lines();
    let header = "task_id,type,environment,developer_id,worker_id,account,amount_cents,recorded_at";
    assert_eq!(lines.next(), Some(header));
    let mut sum = 0;
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        assert_eq!(cells.len(), 8, "{line}");
        sum += cells[6].parse::<i64>().unwrap();
    }
    assert_eq!(sum, 0);
    // payment: 2 lines each for 4 paid tasks; refund 2 + 2; settlement 3 + transfer 2.
    assert_eq!(csv.lines().count(), 1 + 8 + 4 + 5, "{csv}");
    app.database
        .execute("UPDATE tasks SET escrow_cents = 1 WHERE status = 'completed'")
        .await;
    let output = verify().output();
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("DIFFERENCE: task"), "{report}");
}

async fn refuses(app: &TestApp, sql: &str) -> bool {
    use tokio::task::spawn_blocking;
    let (url, file, sql) = (app.database.url(), app.database.file(), sql.to_owned());
    match url {
        None => spawn_blocking(move || {
            let connection = rusqlite::Connection::open(file).unwrap();
            connection.execute_batch(&sql).is_err()
        })
        .await
        .unwrap(),
        Some(url) => {
            let connected = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
            let (client, connection) = connected.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&sql).await.is_err()
        }
    }
}

async fn an_entry_that_does_not_balance_cannot_be_stored(app: TestApp) {
    let entry = |cents: i64| {
        format!(
            "INSERT INTO ledger_entries (task_id, step, account_id, environment, processor_cents,
                escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
             VALUES ('t', 'payment', 'a', 'live', -{cents}, 100, 0, 0, 0, 0)"
        )
    };
    assert!(refuses(&app, &entry(99)).await);
    assert!(!refuses(&app, &entry(100)).await);
}

async fn a_step_cannot_be_stored_twice(app: TestApp) {
    some_history(&app).await;
    let again = "INSERT INTO ledger_entries SELECT * FROM ledger_entries WHERE step = 'transfer'";
    assert!(refuses(&app, again).await);
}

async fn whatever_is_altered_is_found(app: TestApp) {
    some_history(&app).await;
    for (alteration, undo) in [
        (
            "UPDATE tasks SET escrow_cents = escrow_cents + 1 WHERE status = 'posted'",
            "UPDATE tasks SET escrow_cents = escrow_cents - 1 WHERE status = 'posted'",
        ),
        (
            "UPDATE tasks SET status = 'posted' WHERE status = 'cancelled'",
            "UPDATE tasks SET status = 'cancelled' WHERE cancelled_at IS NOT NULL",
        ),
        (
            "UPDATE task_totals SET fees_cents = fees_cents + 1 WHERE environment = 'live'",
            "UPDATE task_totals SET fees_cents = fees_cents - 1 WHERE environment = 'live'",
        ),
        (
            "UPDATE worker_balances SET balance_cents = 5",
            "UPDATE worker_balances SET balance_cents = 0",
        ),
        (
            "UPDATE ledger_entries SET fees_cents = fees_cents + 1, worker_cents = worker_cents - 1
                WHERE step = 'settlement' AND fees_cents > 0",
            "UPDATE ledger_entries SET fees_cents = fees_cents - 1, worker_cents = worker_cents + 1
                WHERE step = 'settlement' AND fees_cents > 0",
        ),
        (
            "UPDATE payments SET status = 'requires_payment' WHERE status = 'succeeded'",
            "UPDATE payments SET status = 'succeeded' WHERE task_id IN
                (SELECT task_id FROM ledger_entries WHERE step = 'payment')",
        ),
        (
            "UPDATE sandbox_movements SET amount_cents = amount_cents + 1",
            "UPDATE sandbox_movements SET amount_cents = amount_cents - 1",
        ),
        (
            "UPDATE sandbox_movements SET task_id = 'f' || SUBSTR(task_id, 2)",
            "UPDATE sandbox_movements SET task_id = '0' || SUBSTR(task_id, 2)",
        ),
        (
            "INSERT INTO ledger_entries SELECT 'f' || SUBSTR(task_id, 2), step, account_id,
                environment, worker_id, processor_cents, escrow_cents, worker_cents, fees_cents,
                refunds_cents, recorded_at FROM ledger_entries WHERE step = 'refund'",
            "DELETE FROM ledger_entries WHERE task_id LIKE 'f%'",
        ),
    ] {
        app.database.execute(alteration).await;
        let found = app.verify().await.differences;
        assert!(!found.is_empty(), "{alteration}");
        app.database.execute(undo).await;
        let left = app.verify().await.differences;
        assert_eq!(left, Vec::<String>::new(), "{undo}");
    }
    app.database
        .execute("DELETE FROM ledger_entries WHERE step = 'transfer'")
        .await;
    assert!(!app.verify().await.differences.is_empty());
}

#[test]
fn no_statement_changes_the_journal() {
    for statement in all_statements() {
        let sql = statement.sql();
        let changes = ["UPDATE ledger_entries", "DELETE FROM ledger_entries"];
        assert!(!changes.iter().any(|change| sql.contains(change)), "{sql}");
    }
}

async fn a_secret_that_cannot_be_opened_stops_no_money(app: TestApp) {
    let dev = app.developer().await;
    let (task, secret) = dev.create_payable_task().await;
    app.database
        .execute("UPDATE payments SET client_secret = 'sealed:v1:by another key'")
        .await;
    let paid = dev.live.pay(&secret, GOOD_CARD).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let cancel = format!("{}/cancel", path(&task));
    dev.live.send("POST", &cancel, &[], "").await.expect(200);
    app.jobs.drain().await.unwrap();
    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    assert_eq!(payment.expect(200)["refunded_cents"], 2500);
    TestApp::expect_settled(&app.verify().await);
}
