//! All that one life leaves behind: events, deliveries, history, ledger, money and notifications. However
//! few transactions it takes, this stays the same.

use std::time::Duration;

use serde_json::Value;

use crate::support::{TestApp, Worker, on_both_engines, storefront};

on_both_engines!(a_life_leaves_exactly_this);

/// From creation to payout, ten seconds between any two steps.
async fn live(app: &TestApp, dev: &crate::support::Developer, worker: &Worker) -> Value {
    let step = || app.advance(Duration::from_secs(10));
    let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    step();
    app.jobs.drain().await.unwrap();
    step();
    worker.act(&task, "accept").await.expect(200);
    step();
    worker.act(&task, "start").await.expect(200);
    step();
    let proof = worker.prove(&task, "first").await;
    step();
    dev.review(&task, &proof, "approve").await.expect(200);
    step();
    app.jobs.drain().await.unwrap();
    step();
    app.webhooks.drain().await.unwrap();
    task
}

async fn a_life_leaves_exactly_this(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    dev.listen_at(&receiver).await;
    let worker = app.ready_worker().await;
    app.jobs.drain().await.unwrap();
    app.advance(Duration::from_secs(1));
    let begun = app.clock.now().as_millis();
    let task = live(&app, &dev, &worker).await;
    let id = task["id"].as_str().unwrap();
    let mut record = Vec::new();
    for (table, row, and) in RECORD {
        let sql = format!(
            "SELECT {row} FROM {table} {}",
            and.replace("TASK", &format!("'{id}'"))
        )
        .replace("BEGUN", &begun.to_string());
        for line in app.database.column(&sql).await {
            let named = [
                (id, "TASK"),
                (&worker.id, "WORKER"),
                (&dev.account_id, "ACCOUNT"),
            ];
            let line = named
                .iter()
                .fold(line, |line, (id, name)| line.replace(id, name));
            record.push(format!("{table}: {line}"));
        }
    }
    assert_eq!(record.join("\n"), EXPECTED.trim());
    let types: Vec<_> = receiver
        .received()
        .iter()
        .map(|delivery| {
            let body: Value = serde_json::from_slice(&delivery.body).unwrap();
            let (event, status) = (&body["event"], &body["data"]["status"]);
            format!("{} {}", event.as_str().unwrap(), status.as_str().unwrap())
        })
        .collect();
    assert_eq!(types, DELIVERED);
    TestApp::expect_settled(&app.verify().await);
}

/// Tables, what is compared of their rows, and which rows.
const RECORD: &[(&str, &str, &str)] = &[
    (
        "events",
        "number || ' ' || type || ' ' || account_id || ' ' || environment || ' ' || (created_at - BEGUN)",
        "WHERE task_id = TASK ORDER BY number",
    ),
    (
        "deliveries",
        "number || ' ' || type || ' ' || account_id || ' ' || environment || ' ' || status || ' '
            || tries || ' ' || COALESCE(status_code, 0) || ' ' || (created_at - BEGUN)",
        "WHERE task_id = TASK ORDER BY number",
    ),
    (
        "task_moves",
        "number || ' ' || COALESCE(from_status, '-') || ' ' || to_status || ' ' || made_by || ' '
            || CASE WHEN made_by = 'worker' THEN maker_id ELSE '' END || COALESCE(reason, '-')
            || ' ' || (made_at - BEGUN)",
        "WHERE task_id = TASK ORDER BY number",
    ),
    (
        "ledger_entries",
        "step || ' ' || account_id || ' ' || COALESCE(worker_id, '-') || ' ' || processor_cents || ' '
            || escrow_cents || ' ' || worker_cents || ' ' || fees_cents || ' ' || refunds_cents
            || ' ' || (recorded_at - BEGUN)",
        "WHERE task_id = TASK ORDER BY recorded_at",
    ),
    (
        "payments",
        "account_id || ' ' || processor || ' ' || COALESCE(payment_id, '-') || ' ' || status || ' '
            || amount_cents || ' ' || COALESCE(method_id, '-') || ' '
            || CASE WHEN client_secret IS NULL THEN 'no secret' ELSE 'secret' END
            || ' ' || (created_at - BEGUN) || ' ' || (updated_at - BEGUN)",
        "WHERE task_id = TASK",
    ),
    (
        "outgoing_movements",
        "processor || ' ' || movement_id || ' ' || kind || ' ' || COALESCE(recorded_step, '-') || ' '
            || returned_cents",
        "WHERE task_id = TASK",
    ),
    (
        "sandbox_payments",
        "payment_id || ' ' || amount_cents || ' ' || refunded_cents || ' ' || transferred_cents || ' '
            || status || ' ' || (paid_at - BEGUN)",
        "WHERE task_id = TASK",
    ),
    (
        "sandbox_movements",
        "kind || ' ' || payment_id || ' ' || COALESCE(payout_account_id, '-') || ' ' || amount_cents",
        "WHERE task_id = TASK",
    ),
    (
        "tasks",
        "number || ' ' || status || ' ' || worker_id || ' ' || proof_attempts || ' ' || escrow_cents || ' '
            || (funded_at - BEGUN) || ' ' || (assigned_at - BEGUN) || ' ' || (started_at - BEGUN) || ' '
            || (completed_at - BEGUN) || ' ' || (updated_at - BEGUN)",
        "WHERE id = TASK",
    ),
    (
        "task_totals",
        "last_number || ' ' || pending || ' ' || funded || ' ' || posted || ' ' || assigned || ' '
            || in_progress || ' ' || proof_submitted || ' ' || completed || ' ' || processor_cents || ' '
            || fees_cents || ' ' || refunds_cents || ' ' || last_event || ' ' || (last_event_at - BEGUN)",
        "WHERE last_number > 0",
    ),
    (
        "worker_balances",
        "worker_id || ' ' || environment || ' ' || balance_cents",
        "",
    ),
    (
        "notices",
        "kind || ' ' || CASE WHEN kind = 'task_assigned' THEN 'assigned:TASK' ELSE occasion END || ' '
            || COALESCE(account_id, worker_id) || ' ' || status || ' ' || (created_at - BEGUN)",
        "WHERE created_at >= BEGUN ORDER BY created_at",
    ),
    ("posted_tasks", "task_id", ""),
    ("jobs", "kind || ' ' || subject", ""),
];

const EXPECTED: &str = "
events: 1 task.created ACCOUNT live 0
events: 2 task.funded ACCOUNT live 10000
events: 3 task.posted ACCOUNT live 10000
events: 4 task.assigned ACCOUNT live 20000
events: 5 task.started ACCOUNT live 30000
events: 6 task.proof_submitted ACCOUNT live 40000
events: 7 task.completed ACCOUNT live 50000
deliveries: 1 task.created ACCOUNT live delivered 1 200 0
deliveries: 2 task.funded ACCOUNT live delivered 1 200 10000
deliveries: 3 task.posted ACCOUNT live delivered 1 200 10000
deliveries: 4 task.assigned ACCOUNT live delivered 1 200 20000
deliveries: 5 task.started ACCOUNT live delivered 1 200 30000
deliveries: 6 task.proof_submitted ACCOUNT live delivered 1 200 40000
deliveries: 7 task.completed ACCOUNT live delivered 1 200 50000
task_moves: 1 - pending developer - 0
task_moves: 2 pending funded processor - 10000
task_moves: 3 funded posted service - 10000
task_moves: 4 posted assigned worker WORKER- 20000
task_moves: 5 assigned in_progress worker WORKER- 30000
task_moves: 6 in_progress proof_submitted worker WORKER- 40000
task_moves: 7 proof_submitted completed developer - 50000
ledger_entries: payment ACCOUNT - -2500 2500 0 0 0 10000
ledger_entries: settlement ACCOUNT WORKER 0 -2500 2100 400 0 50000
ledger_entries: transfer ACCOUNT WORKER 2100 0 -2100 0 0 60000
payments: ACCOUNT sandbox pay_TASK succeeded 2500 pm_card_visa secret 0 10000
outgoing_movements: sandbox TASK-transfer transfer transfer 0
sandbox_payments: pay_TASK 2500 0 2100 succeeded 10000
sandbox_movements: transfer pay_TASK acct_WORKER 2100
tasks: 1 completed WORKER 1 0 10000 20000 30000 50000 50000
task_totals: 1 0 0 0 0 0 0 1 -400 400 0 7 50000
worker_balances: WORKER live 0
notices: task_assigned assigned:TASK WORKER kept 20000
notices: payout payout:TASK WORKER kept 60000
";

const DELIVERED: [&str; 7] = [
    "task.created pending",
    "task.funded funded",
    "task.posted posted",
    "task.assigned assigned",
    "task.started in_progress",
    "task.proof_submitted proof_submitted",
    "task.completed completed",
];
