//! `kill -9` between what happened and its delivery.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Client, Command, Database, Engine, Receiver, Response, Server, TestApp, path, storefront,
};

fn serve(database: &Database, receiver: &Receiver) -> Server {
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "warn"]).on(database);
    let command = command
        .env(
            "LEGWORK_WEBHOOK_CA_FILE",
            receiver.ca_file.to_str().unwrap(),
        )
        .env("LEGWORK_WEBHOOK_RETRY_SECONDS", "1,1,1");
    Server::spawn(command)
}

/// Creates and cancels tasks until the server is gone; tells which were acknowledged.
async fn work(client: Client) -> Vec<Value> {
    let mut made = Vec::new();
    loop {
        let Some(task) = client.try_post("/v1/tasks", &storefront()).await else {
            return made;
        };
        let task = task.expect(201);
        let cancelled = client
            .try_post(&format!("{}/cancel", path(&task)), &json!({}))
            .await;
        made.push(task);
        if cancelled.is_none() {
            return made;
        }
    }
}

fn every_event_arrives(engine: Engine) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let database = Arc::new(Database::migrated(engine));
        let app = TestApp::start(&database).await;
        let dev = app.developer_on(legwork::domain::Tier::Enterprise).await;
        let receiver = Receiver::start().await;
        receiver.answer(|_| Response::status(200));
        let mut made = Vec::new();
        for round in 0..3 {
            let server = serve(&database, &receiver);
            let client = server.client(&dev.test_key);
            if round == 0 {
                let body = json!({"url": receiver.url("/hook")}).to_string();
                let set = client.send("PUT", "/v1/account/webhook", &[], body).await;
                set.expect(200);
            }
            let working = tokio::spawn(work(client));
            // Not before something was delivered in this round: then any moment will do.
            receiver.until(receiver.received().len() + 20).await;
            server.kill();
            made.extend(working.await.unwrap());
            // The next server need not wait until this one counts as dead; only the last one does.
            if round < 2 {
                database
                    .execute("UPDATE processes SET alive_until = 0")
                    .await;
            }
        }
        // The last server is left alone until all has arrived.
        let server = serve(&database, &receiver);
        let client = server.client(&dev.test_key);
        let events = super::all_events(&client).await;
        let missing = async || {
            let received = receiver.received();
            let ids: Vec<_> = received
                .iter()
                .map(|one| one.header("webhook-id").unwrap())
                .collect();
            let missing = |event: &&Value| !ids.contains(&event["id"].as_str().unwrap());
            events.iter().filter(missing).count()
        };
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while missing().await > 0 {
            assert!(
                tokio::time::Instant::now() < deadline,
                "{} never arrived",
                missing().await
            );
            let next = receiver.until(receiver.received().len() + 1);
            let _ = tokio::time::timeout(Duration::from_secs(1), next).await;
        }
        // Everything that was acknowledged has happened, and each task was told of in order.
        let mut first: HashMap<String, Vec<String>> = HashMap::new();
        for one in receiver.received() {
            let told: Value = serde_json::from_slice(&one.body).unwrap();
            let seen = first
                .entry(told["data"]["id"].as_str().unwrap().to_owned())
                .or_default();
            let event = told["event"].as_str().unwrap().to_owned();
            if !seen.contains(&event) {
                seen.push(event);
            }
        }
        let order = ["task.created", "task.funded", "task.cancelled"];
        for task in &made {
            let seen = &first[task["id"].as_str().unwrap()];
            assert_eq!(seen[..], order[..seen.len()]);
        }
        assert_eq!(server.terminate(), Some(0));
    });
}

#[test]
fn every_event_arrives_on_sqlite() {
    every_event_arrives(Engine::Sqlite);
}

#[test]
fn every_event_arrives_on_postgres() {
    every_event_arrives(Engine::Postgres);
}
