//! Several servers in one URL: the one that works is found, whatever the others do.

use std::time::{Duration, Instant};

use legwork::store::{Location, Store};

use super::cluster::Postgres;
use super::{NEVER, in_time, serve};
use crate::support::{Client, Database, Engine, eventually, key_in, runtime, storefront};

/// Five seconds on a machine that does nothing else.
const WRITES_BACK_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn writes_are_back_soon_after_a_frozen_primary_is_replaced() {
    let folder = Database::migrated(Engine::Sqlite);
    runtime().block_on(async {
        let primary = Postgres::primary();
        let standby = primary.standby().await;
        let url = primary.url_with(&standby);
        let server = serve(&folder, &url, 4, 10);
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        let mut acknowledged = Vec::new();
        for _ in 0..20 {
            acknowledged.push(create(&client).await.unwrap());
        }
        primary.freeze();
        standby.promote();
        let promoted = Instant::now();
        let back = async {
            loop {
                if let Some(id) = create(&client).await {
                    return id;
                }
            }
        };
        acknowledged.push(in_time(NEVER, back).await);
        let after = promoted.elapsed();
        assert!(
            after < WRITES_BACK_WITHIN,
            "writes are back after {after:?}"
        );
        for id in &acknowledged {
            let found = client.get(&format!("/v1/tasks/{id}")).await;
            found.expect(200);
        }
    });
}

#[test]
fn a_primary_that_becomes_read_only_is_left() {
    let folder = Database::migrated(Engine::Sqlite);
    runtime().block_on(async {
        let former = Postgres::primary();
        let next = former.standby().await;
        let url = former.url_with(&next);
        let server = serve(&folder, &url, 4, 10);
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        create(&client).await.unwrap();
        next.promote();
        // As a former primary behaves once it follows the next one, connections and all.
        let read_only = "ALTER SYSTEM SET default_transaction_read_only = on";
        former.ask(read_only).await;
        former.ask("SELECT pg_reload_conf()").await;
        let written = async || create(&client).await.is_some();
        eventually("writes go to the next primary", written).await;
        assert_eq!(next.ask("SELECT count(*) FROM tasks").await, "2");
    });
}

/// The id of the task, if the server is able to create one.
async fn create(client: &Client) -> Option<String> {
    let reply = client.post("/v1/tasks", &storefront()).await;
    match reply.status.as_u16() {
        201 => Some(reply.body["id"].as_str().unwrap().to_owned()),
        503 => None,
        other => panic!("{other}: {}", reply.text),
    }
}

#[test]
fn a_host_that_accepts_and_stays_silent_is_left() {
    let database = Database::migrated(Engine::Postgres);
    // The operating system completes connections that nobody accepts.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    let url = database
        .url()
        .unwrap()
        .replacen('@', &format!("@{place},"), 1);
    let location = Location::Postgres {
        url,
        connections: 2,
    };
    runtime().block_on(async {
        let opening = tokio::task::spawn_blocking(move || Store::open(&location));
        let store = in_time(NEVER, opening).await.unwrap().unwrap();
        for _ in 0..10 {
            in_time(NEVER, store.ping()).await.unwrap();
        }
    });
}
