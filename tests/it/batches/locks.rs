//! Batches hold the locks of several transactions. Nobody may wait for them in a circle.

use std::sync::Arc;

use futures_util::future::join_all;
use legwork::domain::{Outcome, ProcessorName, WorkerId};
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use super::{Held, account, add_event, now};
use crate::hanging::cluster::ask;
use crate::support::{
    Client, Database, Developer, Engine, TestApp, eventually, runtime, storefront, tell,
};

fn path(task: &Value, action: &str) -> String {
    format!("/v1/tasks/{}/{action}", task["id"].as_str().unwrap())
}

#[test]
fn one_that_waits_for_a_lock_waits_alone() {
    tell(Engine::Postgres, async |app: TestApp| {
        let dev = app.developer().await;
        let task = dev.create_task().await;
        let url = app.database.url().unwrap();
        let (locker, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let id = task["id"].as_str().unwrap();
        let lock = format!("BEGIN; SELECT id FROM tasks WHERE id = '{id}' FOR UPDATE");
        locker.batch_execute(&lock).await.unwrap();
        let cancelling = tokio::spawn({
            let (dev, cancel) = (dev.clone(), path(&task, "cancel"));
            async move { dev.test.post(&cancel, &json!({})).await }
        });
        let waits = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        // Others of the account are served, whether they come before it in the batch or after.
        let mut waiting = String::new();
        while waiting != "1" {
            join_all((0..20).map(|_| dev.create_task())).await;
            waiting = ask(&url, waits).await;
        }
        join_all((0..20).map(|_| dev.create_task())).await;
        assert!(!cancelling.is_finished());
        locker.batch_execute("COMMIT").await.unwrap();
        cancelling.await.unwrap().expect(200);
    });
}

/// What two servers do with the tasks of the same accounts at the same time.
#[test]
fn two_servers_do_not_block_each_other() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Postgres));
        let url = database.url().unwrap();
        let first = TestApp::start(&database).await;
        let second = TestApp::start(&database).await;
        let developers = join_all((0..4).map(|_| first.developer())).await;
        let on_second = |dev: &Developer| Client::new(second.address, Some(&dev.test_key));
        let life = |number: usize| {
            let dev = developers[number % developers.len()].clone();
            let (one, other) = match number % 8 < 4 {
                true => (dev.test.clone(), on_second(&dev)),
                false => (on_second(&dev), dev.test.clone()),
            };
            tokio::spawn(async move {
                let task = one.post("/v1/tasks", &storefront()).await;
                let task = task.expect(201);
                let id = task["id"].as_str().unwrap();
                let advance = format!("/v1/test_helpers/tasks/{id}/advance");
                let to = json!({"to": "in_progress"});
                let (cancel, no_fields) = (path(&task, "cancel"), json!({}));
                let moves = tokio::join!(other.post(&advance, &to), one.post(&cancel, &no_fields));
                // One of them may find the task moved by the other; nobody fails otherwise.
                assert!(
                    [200, 409].contains(&moves.0.status.as_u16()),
                    "{}",
                    moves.0.text
                );
                assert!(
                    [200, 409].contains(&moves.1.status.as_u16()),
                    "{}",
                    moves.1.text
                );
            })
        };
        // Fewer at a time than a server takes for an overload.
        for _ in 0..6 {
            for life in join_all((0..40).map(life)).await {
                life.unwrap();
            }
        }
        drop((first, second));
        assert_eq!(deadlocks(&url).await, "0");
    });
}

/// Once nobody is connected any more: the server counts what a connection did when it ends, at the latest.
async fn deadlocks(url: &str) -> String {
    let open = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'legwork' AND datname = current_database()";
    eventually("all connections are closed", async || {
        ask(url, open).await == "0"
    })
    .await;
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    ask(url, deadlocks).await
}

/// What two servers do with the webhook of one account, while it creates tasks.
#[test]
fn the_settings_of_a_webhook_are_locked_in_one_order() {
    const WEBHOOK: &str = "/v1/account/webhook";
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Postgres));
        let url = database.url().unwrap();
        let first = TestApp::start(&database).await;
        let second = TestApp::start(&database).await;
        let dev = first.developer().await;
        let clients = [
            dev.test.clone(),
            Client::new(second.address, Some(&dev.test_key)),
        ];
        let change = |number: usize| {
            let client = clients[number % 2].clone();
            tokio::spawn(async move {
                let hook = json!({"url": "https://127.0.0.1:9/"}).to_string();
                let answer = match number % 5 {
                    0 | 1 => client.send("PUT", WEBHOOK, &[], hook).await,
                    2 => {
                        client
                            .post(&format!("{WEBHOOK}/rotate_secret"), &json!({}))
                            .await
                    }
                    3 => client.delete(WEBHOOK).await,
                    _ => client.post("/v1/tasks", &storefront()).await,
                };
                let status = answer.status.as_u16();
                assert!([200, 201, 409].contains(&status), "{}", answer.text);
            })
        };
        for _ in 0..8 {
            for changed in join_all((0..40).map(change)).await {
                changed.unwrap();
            }
        }
        drop((first, second));
        assert_eq!(deadlocks(&url).await, "0");
    });
}

/// Transactions of many accounts write it, so a batch that held it early would have others wait for all of its rest.
#[test]
fn the_row_of_a_worker_is_locked_last() {
    tell(Engine::Postgres, async |app: TestApp| {
        let (account, worker) = (account(&app).await, app.ready_worker().await);
        let id = WorkerId::parse(&worker.id).unwrap();
        let (reach, reached) = tokio::sync::oneshot::channel();
        let (release, wait) = std::sync::mpsc::channel();
        let mut reach = Some(reach);
        let mut held = Held::of(&app.store, account).await;
        let work = move |tx: &mut legwork::store::Tx<'_>| {
            tx.count_outcome(id, Outcome::Completed)?;
            // Answered at once. Foreign keys refer to workers, but this makes none.
            tx.record_processor_event(ProcessorName::Sandbox, "evt_of_a_test", now())?;
            if let Some(reach) = reach.take() {
                reach.send(()).unwrap();
                wait.recv().unwrap();
            }
            Ok(())
        };
        held.queue(&app.store, account, work).await;
        held.queue(&app.store, account, move |tx| add_event(tx, account))
            .await;
        let answers = tokio::spawn(held.let_go());
        reached.await.unwrap();
        let free = format!("SELECT id FROM workers WHERE id = '{id}' FOR UPDATE SKIP LOCKED");
        assert_eq!(app.database.column(&free).await, [id.to_string()]);
        release.send(()).unwrap();
        for answer in answers.await.unwrap() {
            answer.unwrap();
        }
        let counted = "SELECT CAST(completed_tasks AS TEXT) FROM workers";
        assert_eq!(app.database.column(counted).await, ["1"]);
    });
}
