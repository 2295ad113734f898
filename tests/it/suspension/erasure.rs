//! What is left of a deleted account is erased after 30 days, from everywhere.

use std::path::Path;
use std::time::Duration;

use legwork::domain::{NewAccount, Tier};
use legwork::store::Tx;
use legwork::usecases;
use legwork::usecases::OpenedAccount;
use serde_json::{Value, json};

use super::{count, delete, finish_jobs, id_of, ids, kill_jobs_when};
use crate::support::{Developer, Engine, GOOD_CARD, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    nothing_personal_is_left_anywhere,
    half_erased_is_erased_in_the_end,
);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What must not be found any more.
const PERSONAL: [&str; 12] = [
    "lovelace@example.com",
    "Augusta Lovelace",
    "Analytical Engines",
    "Key of Augusta",
    "Photograph the engine",
    "All of its brass wheels",
    "Ring twice",
    "12 St James Square",
    "Little Brooklyn",
    "secret-order-7",
    "40.7163",
    "Blurred wheels",
];

async fn augusta(app: &TestApp) -> Developer {
    let new = NewAccount {
        email: "lovelace@example.com".to_owned(),
        name: "Augusta Lovelace".to_owned(),
        company: Some("Analytical Engines".to_owned()),
        tier: Tier::Growth,
    };
    let opened = OpenedAccount::new(&new, app.clock.now());
    let written = opened.clone();
    app.store
        .write(move |tx| usecases::create_account(tx, &written, &legwork::domain::Actor::SERVICE))
        .await
        .unwrap();
    Developer::new(app.address, &opened)
}

fn engine() -> Value {
    let mut task = storefront();
    task["title"] = json!("Photograph the engine");
    task["description"] = json!("All of its brass wheels");
    task["instructions"] = json!("Ring twice");
    task["location"]["address"] = json!("12 St James Square");
    task["location"]["city"] = json!("Little Brooklyn");
    task["metadata"] = json!({"order": "secret-order-7"});
    task["task_type"] = json!("bounty");
    task
}

/// Every row of every table, as text. Not the bytes of the file: SQLite keeps deleted ones until it
/// needs the room.
pub async fn rows(app: &TestApp) -> String {
    if app.database.engine == Engine::Postgres {
        return app.database.everything().await;
    }
    let connection = rusqlite::Connection::open(app.database.file()).unwrap();
    let tables = app
        .database
        .column("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .await;
    let mut all = String::new();
    for table in tables {
        let mut statement = connection
            .prepare(&format!("SELECT * FROM {table}"))
            .unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                let value: rusqlite::types::Value = row.get(column).unwrap();
                all.push_str(&format!("{value:?}\n"));
            }
        }
    }
    all
}

pub fn files_in(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 1;
    };
    let entries = entries.map(|entry| entry.unwrap().path());
    // The mark that says whose files they are does not count.
    let files = entries.filter(|path| !path.ends_with("owner"));
    files.map(|path| files_in(&path)).sum()
}

async fn nothing_personal_is_left_anywhere(app: TestApp) {
    let dev = augusta(&app).await;
    let worker = app.ready_worker().await;
    let key = json!({"name": "Key of Augusta", "environment": "test"});
    dev.live.post("/v1/account/keys", &key).await.expect(201);
    let headers = [("idempotency-key", "once")];
    let created = dev.live.post_with("/v1/tasks", &headers, &engine()).await;
    let created = created.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, GOOD_CARD).await;
    app.jobs.drain().await.unwrap();
    worker.begin(&created).await;
    let blurred = worker.prove(&created, "one").await;
    let reject = format!("{}/proofs/{}/reject", path(&created), text(&blurred["id"]));
    let reason = json!({"reason": "Blurred wheels"});
    dev.live.post(&reject, &reason).await.expect(200);
    let proof = worker.prove(&created, "two").await;
    dev.review(&created, &proof, "approve").await.expect(200);
    dev.test.post("/v1/tasks", &engine()).await.expect(201);
    app.database
        .execute("UPDATE tasks SET status = 'cancelled' WHERE environment = 'test'")
        .await;
    app.database
        .execute("UPDATE task_totals SET funded = 0, cancelled = 1 WHERE environment = 'test' AND funded = 1")
        .await;
    app.jobs.drain().await.unwrap();
    let stored = rows(&app).await;
    for personal in PERSONAL {
        assert!(stored.contains(personal), "{personal} was never there");
    }
    let files = app.database.folder.path().join("files");
    assert!(files_in(&files) > 0);
    delete(&app, id_of(&dev)).await.unwrap();
    let (account, now) = (id_of(&dev), app.clock.now());
    // By a request that was under way when the account was deleted.
    let url = "https://secret-order-7.example.com/";
    let late = move |tx: &mut Tx<'_>| tx.put_webhook(account, url, &[], "whsec_late", now);
    app.store.write(late).await.unwrap();
    app.advance(DAY * 30 - Duration::from_secs(1));
    app.jobs.drain().await.unwrap();
    assert!(rows(&app).await.contains("Photograph the engine"));
    let kept = (
        count(&app, "ledger_entries").await,
        count(&app, "task_moves").await,
    );
    app.advance(Duration::from_secs(1));
    app.jobs.drain().await.unwrap();
    // The worker's own home, at the same place, stays.
    app.database
        .execute("UPDATE workers SET home_latitude = NULL")
        .await;
    let stored = rows(&app).await;
    for personal in PERSONAL {
        assert!(!stored.contains(personal), "{personal} is still there");
    }
    assert_eq!(files_in(&files), 0);
    let still = (
        count(&app, "ledger_entries").await,
        count(&app, "task_moves").await,
    );
    assert_eq!(still, kept);
    assert_eq!(count(&app, "proofs").await, 2);
    let erased = "SELECT id FROM accounts WHERE erased_at IS NOT NULL";
    assert_eq!(ids(&app, erased).await.join(","), dev.account_id);
    assert_eq!(count(&app, "jobs").await, 0);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

async fn half_erased_is_erased_in_the_end(app: TestApp) {
    const TASKS: usize = 60;
    let dev = augusta(&app).await;
    for _ in 0..TASKS {
        let task = dev.test.post("/v1/tasks", &engine()).await.expect(201);
        let cancel = format!("{}/cancel", path(&task));
        dev.test.post(&cancel, &json!({})).await.expect(200);
    }
    delete(&app, id_of(&dev)).await.unwrap();
    app.advance(DAY * 30);
    let left = "SELECT id FROM tasks WHERE title <> 'deleted'";
    kill_jobs_when(&app, async || ids(&app, left).await.len() < TASKS).await;
    finish_jobs(&app).await;
    assert_eq!(ids(&app, left).await, Vec::<String>::new());
    assert_eq!(count(&app, "events").await, 0);
    let erased = "SELECT id FROM accounts WHERE erased_at IS NOT NULL";
    assert_eq!(ids(&app, erased).await.len(), 1);
    TestApp::expect_settled(&app.verify().await);
}
