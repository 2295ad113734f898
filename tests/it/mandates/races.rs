//! Many creations at once: a limit is exact.

use std::sync::Arc;

use futures_util::future::join_all;
use legwork::domain::Tier;
use serde_json::json;

use super::{Limited, task, with};
use crate::support::{Client, Database, Engine, Server, TestApp, runtime, tell};

const CREATIONS: usize = 200;
const ALLOWED: usize = 50;

/// Sends all creations at once, and counts those that were allowed.
async fn race(clients: &[Client]) -> usize {
    let creations = (0..CREATIONS).map(|number| {
        let client = clients[number % clients.len()].clone();
        tokio::spawn(async move { client.post("/v1/tasks", &task(500)).await })
    });
    let mut allowed = 0;
    for reply in join_all(creations.collect::<Vec<_>>()).await {
        let reply = reply.unwrap();
        match reply.status.as_u16() {
            201 => allowed += 1,
            403 => drop(reply.expect_error(403, "MANDATE_EXCEEDED")),
            // Too many wait: nothing was created.
            503 => {}
            _ => panic!("{}", reply.text),
        }
    }
    allowed
}

/// Races until the limit is reached, and holds what is counted against what exists.
async fn ends_at_the_limit(agent: &Limited, clients: &[Client]) {
    let mut allowed = 0;
    while allowed < ALLOWED {
        let more = race(clients).await;
        assert!(more > 0, "nothing was created, and {allowed} are allowed");
        allowed += more;
    }
    assert_eq!(allowed, ALLOWED);
    assert_eq!(race(clients).await, 0);
    let tasks = agent.client.get("/v1/tasks?limit=1").await.expect(200);
    assert_eq!(tasks["meta"]["total"], ALLOWED);
    let spent = agent.used("spending_limits.total").await;
    assert_eq!(spent, 500 * ALLOWED as i64);
}

fn limit() -> serde_json::Value {
    let cents = 500 * ALLOWED;
    with(
        "spending_limits",
        json!([{"interval": "total", "cents": cents}]),
    )
}

#[test]
fn two_processes_on_postgresql_end_at_exactly_the_limit() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Postgres));
        let app = TestApp::start(&database).await;
        app.set_time_to_now();
        let dev = app.developer_on(Tier::Enterprise).await;
        let agent = Limited::in_test(&app, &dev, limit()).await;
        let servers = [Server::start(&database), Server::start(&database)];
        let clients = servers.each_ref().map(|server| server.client(&agent.key));
        ends_at_the_limit(&agent, &clients).await;
    });
}

#[test]
fn one_process_on_sqlite_ends_at_exactly_the_limit() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let dev = app.developer_on(Tier::Enterprise).await;
        let agent = Limited::in_test(&app, &dev, limit()).await;
        ends_at_the_limit(&agent, std::slice::from_ref(&agent.client)).await;
    });
}

#[test]
fn what_is_refunded_while_others_are_created_is_counted_exactly() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        tell(engine, async |app: TestApp| {
            let dev = app.developer_on(Tier::Enterprise).await;
            let agent = Arc::new(Limited::in_test(&app, &dev, limit()).await);
            let lives = (0..80).map(|_| {
                let agent = agent.clone();
                tokio::spawn(async move {
                    let made = agent.create(500).await;
                    if made.status != 201 {
                        return 0;
                    }
                    let id = made.body["id"].as_str().unwrap().to_owned();
                    let cancel = format!("/v1/tasks/{id}/cancel");
                    let gone = agent.client.post(&cancel, &json!({})).await;
                    i64::from(gone.status != 200) * 500
                })
            });
            let mut left = 0;
            for life in join_all(lives.collect::<Vec<_>>()).await {
                left += life.unwrap();
            }
            assert_eq!(agent.used("spending_limits.total").await, left);
        });
    }
}
