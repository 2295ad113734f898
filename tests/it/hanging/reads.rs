//! Rows that are found by their keys have connections of their own.

use std::time::Duration;

use futures_util::future::join_all;

use super::cluster::Postgres;
use super::{NEVER, in_time, is_unavailable, serve};
use crate::support::{Client, Database, Engine, Server, eventually, key_in, runtime, storefront};

const CONNECTIONS: u32 = 4;
/// The queries of the readers, and of nobody else.
const READERS: &str = "FROM pg_stat_activity
    WHERE application_name = 'legwork' AND query LIKE '%WITH ORDINALITY%'";

async fn first_task(server: &Server) -> (Client, String) {
    let client = server.client(&key_in(&server.greeting, "svc_test_"));
    let task = client.post("/v1/tasks", &storefront()).await.expect(201);
    let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
    (client, path)
}

async fn readers_are_used(client: &Client, path: &str, postgres: &Postgres) {
    let used = async || {
        for reply in join_all((0..8).map(|_| client.get(path))).await {
            reply.expect(200);
        }
        postgres.ask(&format!("SELECT count(*) {READERS}")).await == "2"
    };
    eventually("both readers have answered", used).await;
}

#[test]
fn reads_go_on_while_commits_wait_for_a_standby() {
    let folder = Database::migrated(Engine::Sqlite);
    runtime().block_on(async {
        let primary = Postgres::primary();
        let standby = primary.standby().await;
        let server = serve(&folder, &primary.url(), CONNECTIONS, 8);
        let (client, path) = first_task(&server).await;
        readers_are_used(&client, &path, &primary).await;
        standby.freeze();
        let task = storefront();
        let writing = join_all((0..8).map(|_| client.post("/v1/tasks", &task)));
        let reading = async {
            let waiting = "SELECT count(*) >= 2 FROM pg_stat_activity
                WHERE application_name = 'legwork' AND wait_event = 'SyncRep'";
            let stuck = async || primary.ask(waiting).await == "t";
            eventually("the pool waits for the standby", stuck).await;
            for _ in 0..20 {
                client.get(&path).await.expect(200);
            }
            assert_eq!(primary.ask(waiting).await, "t", "the commits were through");
            standby.thaw();
        };
        in_time(NEVER, futures_util::future::join(writing, reading)).await;
    });
}

#[test]
fn a_frozen_postgres_lets_no_read_wait() {
    let folder = Database::migrated(Engine::Sqlite);
    let postgres = Postgres::primary();
    let server = serve(&folder, &postgres.url(), CONNECTIONS, 3);
    runtime().block_on(async {
        let (client, path) = first_task(&server).await;
        readers_are_used(&client, &path, &postgres).await;
        postgres.freeze();
        let reads = join_all((0..30).map(|_| client.get(&path)));
        for reply in in_time(Duration::from_secs(20), reads).await {
            is_unavailable(&reply);
        }
        postgres.thaw();
        let back = async || client.get(&path).await.status == 200;
        eventually("reads are back", back).await;
        readers_are_used(&client, &path, &postgres).await;
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'legwork'";
        let settled = async || postgres.ask(count).await.parse::<u32>().unwrap() <= CONNECTIONS;
        eventually("no more connections than configured", settled).await;
    });
}

#[test]
fn a_read_whose_connection_is_lost_is_answered_by_another() {
    let folder = Database::migrated(Engine::Sqlite);
    let postgres = Postgres::primary();
    let server = serve(&folder, &postgres.url(), CONNECTIONS, 10);
    runtime().block_on(async {
        let (client, path) = first_task(&server).await;
        for _ in 0..5 {
            readers_are_used(&client, &path, &postgres).await;
            let ended = format!("SELECT count(pg_terminate_backend(pid)) {READERS}");
            assert_eq!(postgres.ask(&ended).await, "2");
            for reply in join_all((0..30).map(|_| client.get(&path))).await {
                reply.expect(200);
            }
        }
    });
}

#[test]
fn reads_are_back_after_a_promotion() {
    let folder = Database::migrated(Engine::Sqlite);
    runtime().block_on(async {
        let primary = Postgres::primary();
        let standby = primary.standby().await;
        let url = primary.url_with(&standby);
        let server = serve(&folder, &url, CONNECTIONS, 10);
        let (client, path) = first_task(&server).await;
        readers_are_used(&client, &path, &primary).await;
        primary.freeze();
        standby.promote();
        let back = async || client.get(&path).await.status == 200;
        eventually("reads are back", back).await;
        readers_are_used(&client, &path, &standby).await;
    });
}
