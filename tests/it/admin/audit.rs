//! The audit log: everything is in it, nothing is in it that should not be, and nobody can change it.

use futures_util::future::join_all;
use legwork::store::all_statements;
use legwork::usecases::verify_audit;
use serde_json::{Value, json};

use super::{disputed_task, ids};
use crate::support::{Client, Command, InjectedFault, TestApp, on_both_engines};

on_both_engines!(
    everything_that_is_done_is_written_down_once,
    what_was_refused_or_changed_nothing_is_not_written_down,
    neither_secrets_nor_persons_are_written_down,
    the_log_is_paged_and_filtered,
    many_at_once_make_one_chain,
    whatever_is_altered_is_found,
);

#[test]
fn no_statement_changes_the_log() {
    let mut writes = 0;
    for statement in all_statements() {
        let sql = statement.sql();
        let changes = ["UPDATE audit_log", "DELETE FROM audit_log"];
        assert!(!changes.iter().any(|change| sql.contains(change)), "{sql}");
        writes += usize::from(sql.contains("INTO audit_log"));
    }
    assert_eq!(writes, 1);
}

async fn lines(app: &TestApp) -> Vec<Value> {
    let log = app.admin().await.get("/v1/admin/audit?limit=100").await;
    let mut lines = log.expect(200)["data"].as_array().unwrap().clone();
    // The key that reads the log is a line itself.
    assert_eq!(lines.remove(0)["action"], "admin_key.created");
    lines
}

async fn actions(app: &TestApp) -> Vec<String> {
    let lines = lines(app).await;
    let action = |line: &Value| line["action"].as_str().unwrap().to_owned();
    let made = lines.iter().map(action).rev();
    made.filter(|action| action != "admin_key.created")
        .collect()
}

async fn put(client: &Client, path: &str, body: Value) {
    client
        .send("PUT", path, &[], body.to_string())
        .await
        .expect(200);
}

/// Everything a developer does with an account.
async fn manage_account(app: &TestApp) {
    let dev = app.developer().await;
    let new = json!({"name": "Nightly", "environment": "test"});
    let key = dev.live.post("/v1/account/keys", &new).await.expect(201);
    let key = format!("/v1/account/keys/{}", key["id"].as_str().unwrap());
    dev.live.delete(&key).await.expect(200);
    let webhook = "/v1/account/webhook";
    put(
        &dev.live,
        webhook,
        json!({"url": "https://127.0.0.1:9/s3cret"}),
    )
    .await;
    let rotate = "/v1/account/webhook/rotate_secret";
    dev.live.post(rotate, &json!({})).await.expect(200);
    dev.live.delete(webhook).await.expect(200);
    let method = "/v1/account/payment_method";
    put(&dev.live, method, json!({"payment_method": "pm_card_visa"})).await;
    dev.live.delete(method).await.expect(200);
    let admin = app.admin().await;
    let account = |action: &str| format!("/v1/admin/accounts/{}/{action}", dev.account_id);
    admin
        .post(&account("tier"), &json!({"tier": "pro"}))
        .await
        .expect(200);
    admin
        .post(&account("suspend"), &json!({}))
        .await
        .expect(200);
    admin
        .post(&account("restore"), &json!({}))
        .await
        .expect(200);
}

/// Everything an admin does with workers, tasks and the queue.
async fn decide_things(app: &TestApp, processor: &crate::support::Flaky) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let worker = app.ready_worker().await;
    for action in ["suspend", "restore"] {
        let path = format!("/v1/admin/workers/{}/{action}", worker.id);
        admin.post(&path, &json!({})).await.expect(200);
    }
    let worker = worker.signed_in_again(app).await;
    for last in ["retry", "write_off"] {
        let task = disputed_task(app, &dev, &worker).await;
        let queue = admin.get("/v1/admin/queue?kind=dispute").await.expect(200);
        let item = ids(&queue)[0];
        for (action, body) in [
            ("claim", json!({})),
            ("note", json!({"note": "Grace is right."})),
            ("release", json!({})),
        ] {
            let path = format!("/v1/admin/queue/{item}/{action}");
            admin.post(&path, &body).await.expect(200);
        }
        let id = task["id"].as_str().unwrap();
        let pay = json!({"decision": "pay", "note": "Grace is right."});
        let decide = format!("/v1/admin/disputes/{id}/decide");
        admin.post(&decide, &pay).await.expect(200);
        processor.set(InjectedFault::Refuses);
        app.jobs.drain().await.unwrap();
        processor.set(InjectedFault::None);
        let payout = format!("/v1/admin/payouts/{id}/{last}");
        admin.post(&payout, &json!({})).await.expect(200);
        app.jobs.drain().await.unwrap();
    }
}

async fn everything_that_is_done_is_written_down_once(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    manage_account(&app).await;
    let expected = [
        "account.created",
        "api_key.created",
        "api_key.revoked",
        "webhook.set",
        "webhook.secret_rotated",
        "webhook.removed",
        "payment_method.set",
        "payment_method.removed",
        "account.tier_changed",
        "account.suspended",
        "account.restored",
    ];
    assert_eq!(actions(&app).await, expected);
    decide_things(&app, &processor).await;
    let queue = [
        "queue_item.claimed",
        "queue_item.noted",
        "queue_item.released",
        "dispute.decided",
    ];
    let mut then = vec![
        "account.created",
        "worker.verified",
        "worker.suspended",
        "worker.restored",
    ];
    then.extend(queue);
    then.push("payout.retried");
    then.extend(queue);
    then.push("payout.written_off");
    assert_eq!(actions(&app).await[expected.len()..], then);
    let makers = |line: &Value| (line["by"]["type"].clone(), line["by"]["id"].is_string());
    for line in lines(&app).await {
        let action = line["action"].as_str().unwrap();
        let expected = match action.split_once('.').unwrap() {
            ("admin_key", _) | ("account", "created") => (json!("command_line"), false),
            ("api_key" | "webhook" | "payment_method", _) => (json!("developer"), true),
            _ => (json!("admin"), true),
        };
        assert_eq!(makers(&line), expected, "{action}");
    }
    let verify = Command::new(&["audit", "verify"])
        .on(&app.database)
        .succeed();
    assert!(verify.contains("The audit log is correct."), "{verify}");
}

async fn what_was_refused_or_changed_nothing_is_not_written_down(app: TestApp) {
    let (dev, admin) = (app.developer().await, app.admin().await);
    let before = actions(&app).await;
    for path in ["/v1/account/webhook", "/v1/account/payment_method"] {
        dev.live.delete(path).await.expect(200);
    }
    let none = "019a8574c1f07c2e9d1b3a5f60718293";
    for path in [
        format!("/v1/admin/workers/{none}/verify"),
        format!("/v1/admin/accounts/{none}/suspend"),
        format!("/v1/admin/queue/{none}/claim"),
        format!("/v1/admin/payouts/{none}/retry"),
    ] {
        assert_eq!(admin.post(&path, &json!({})).await.status, 404);
    }
    let active = format!("/v1/admin/accounts/{}/restore", dev.account_id);
    assert_eq!(admin.post(&active, &json!({})).await.status, 409);
    let key = [("idempotency-key", "once")];
    let new = json!({"name": "Nightly", "environment": "test"});
    for _ in 0..2 {
        let made = dev.live.post_with("/v1/account/keys", &key, &new).await;
        made.expect(201);
    }
    let mut expected = before;
    expected.push("api_key.created".to_owned());
    assert_eq!(actions(&app).await, expected);
}

async fn neither_secrets_nor_persons_are_written_down(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    manage_account(&app).await;
    decide_things(&app, &processor).await;
    let text = app
        .database
        .column("SELECT details FROM audit_log")
        .await
        .join("\n");
    for private in [
        "svc_", "whsec_", "@", "s3cret", "pm_", "Ada", "Grace", "Nightly",
    ] {
        assert!(!text.contains(private), "{private}: {text}");
    }
}

async fn the_log_is_paged_and_filtered(app: TestApp) {
    let admin = app.admin().await;
    let (one, _) = (app.developer().await, app.developer().await);
    for tier in ["pro", "free", "pro"] {
        let path = format!("/v1/admin/accounts/{}/tier", one.account_id);
        admin.post(&path, &json!({"tier": tier})).await.expect(200);
    }
    let numbers = |page: &Value| {
        let data = page["data"].as_array().unwrap().iter();
        data.map(|line| line["number"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    let all = admin.get("/v1/admin/audit").await.expect(200);
    assert_eq!(numbers(&all), [6, 5, 4, 3, 2, 1]);
    let subject = format!("/v1/admin/audit?subject_id={}", one.account_id);
    let first = admin.get(&format!("{subject}&limit=3")).await.expect(200);
    assert_eq!(numbers(&first), [6, 5, 4]);
    let cursor = first["meta"]["next_cursor"].as_str().unwrap();
    let second = admin
        .get(&format!("{subject}&limit=3&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(numbers(&second), [2]);
    assert_eq!(second["meta"]["next_cursor"], Value::Null);
    let created = admin
        .get("/v1/admin/audit?action=account.created")
        .await
        .expect(200);
    assert_eq!(numbers(&created), [3, 2]);
    let both = admin
        .get(&format!("{subject}&action=account.created"))
        .await
        .expect(200);
    assert_eq!(numbers(&both), [2]);
    let faults = admin
        .get("/v1/admin/audit?action=%00&cursor=x&by=me")
        .await
        .faulty_fields();
    assert_eq!(faults, ["action", "cursor", "by"]);
}

async fn many_at_once_make_one_chain(app: TestApp) {
    let developers = join_all((0..8).map(|_| app.developer())).await;
    let puts = developers.iter().flat_map(|dev| {
        [1, 2, 3].map(|port| {
            let body = json!({"url": format!("https://127.0.0.1:{port}/")});
            put(&dev.live, "/v1/account/webhook", body)
        })
    });
    join_all(puts).await;
    let report = app.store.snapshot(verify_audit).await.unwrap();
    assert_eq!((report.head.number, report.broken), (8 + 24, None));
}

async fn whatever_is_altered_is_found(app: TestApp) {
    for _ in 0..4 {
        app.developer().await;
    }
    let verify = || Command::new(&["audit", "verify"]).on(&app.database);
    let right = verify().succeed();
    assert!(right.contains("4 lines"), "{right}");
    for (alteration, undo, number) in [
        (
            "UPDATE audit_log SET at = at + 1 WHERE number = 2",
            "UPDATE audit_log SET at = at - 1 WHERE number = 2",
            2,
        ),
        (
            "UPDATE audit_log SET maker_id = 'somebody' WHERE number = 3",
            "UPDATE audit_log SET maker_id = NULL WHERE number = 3",
            3,
        ),
        (
            "UPDATE audit_head SET number = 5",
            "UPDATE audit_head SET number = 4",
            5,
        ),
        (
            "UPDATE audit_head SET number = 3",
            "UPDATE audit_head SET number = 4",
            4,
        ),
        (
            "UPDATE audit_log SET number = 9 WHERE number = 1",
            "UPDATE audit_log SET number = 1 WHERE number = 9",
            1,
        ),
        ("DELETE FROM audit_log WHERE number = 4", "", 4),
        ("DELETE FROM audit_log WHERE number = 2", "", 2),
    ] {
        app.database.execute(alteration).await;
        let output = verify().output();
        assert_eq!(output.status.code(), Some(1), "{alteration}");
        let told = String::from_utf8(output.stdout).unwrap();
        let line = format!("DIFFERENCE: line {number} ");
        assert!(told.contains(&line), "{alteration}: {told}");
        if !undo.is_empty() {
            app.database.execute(undo).await;
            verify().succeed();
        }
    }
}
