//! PostgreSQL stops in the middle of everything, and goes on later.

use std::time::Duration;

use super::cluster::Postgres;
use super::{in_time, is_unavailable, serve};
use crate::support::{Client, Database, Engine, Server, eventually, key_in, runtime, storefront};

const CONNECTIONS: u32 = 4;
/// How long a request may wait, as the program is told.
const REQUEST_SECONDS: u32 = 3;

#[test]
fn a_frozen_postgres_is_a_503_in_time_and_comes_back() {
    let folder = Database::migrated(Engine::Sqlite);
    let postgres = Postgres::primary();
    let server = serve(&folder, &postgres.url(), CONNECTIONS, REQUEST_SECONDS);
    runtime().block_on(async {
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        client.post("/v1/tasks", &storefront()).await.expect(201);
        postgres.freeze();
        everything_is_answered(&client).await;
        postgres.thaw();
        works_again(&client, &postgres).await;
        counts_its_connections(&client).await;
        postgres.freeze();
        stops_all_the_same(server, &client).await;
    });
}

async fn everything_is_answered(client: &Client) {
    let limit = Duration::from_secs(20);
    let task = storefront();
    let writes = (0..8).map(|_| client.post("/v1/tasks", &task));
    let reads = (0..8).map(|_| client.get("/v1/tasks"));
    let healthy = client.get("/healthz");
    let ready = client.get("/readyz");
    let answered = futures_util::future::join4(
        futures_util::future::join_all(writes),
        futures_util::future::join_all(reads),
        in_time(Duration::from_secs(5), healthy),
        in_time(Duration::from_secs(2), ready),
    );
    let (writes, reads, healthy, ready) = in_time(limit, answered).await;
    for reply in writes.iter().chain(&reads) {
        is_unavailable(reply);
    }
    assert_eq!((healthy.status.as_u16(), ready.status.as_u16()), (200, 503));
}

async fn works_again(client: &Client, postgres: &Postgres) {
    eventually("ready", async || client.get("/readyz").await.status == 200).await;
    client.post("/v1/tasks", &storefront()).await.expect(201);
    let list = client.get("/v1/tasks").await.expect(200);
    assert_eq!(list["meta"]["total"], 2, "what was refused was kept");
    let settled = async || backends(postgres).await <= CONNECTIONS;
    eventually("no more connections than configured", settled).await;
}

async fn backends(postgres: &Postgres) -> u32 {
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'legwork'";
    postgres.ask(count).await.parse().unwrap()
}

async fn counts_its_connections(client: &Client) {
    let metrics = client.get("/metrics").await.text;
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name}"));
        line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
    };
    let connections = value("legwork_pool_connections ");
    assert!((1.0..=f64::from(CONNECTIONS)).contains(&connections));
    assert!(value("legwork_transaction_wait_seconds_count") > 1.0);
}

async fn stops_all_the_same(server: Server, client: &Client) {
    let (client, stopping) = (client.clone(), server);
    let asking = tokio::spawn(async move { client.get("/v1/tasks").await });
    let stopped = tokio::task::spawn_blocking(move || stopping.terminate());
    let code = in_time(Duration::from_secs(25), stopped).await.unwrap();
    assert_eq!(code, Some(0));
    asking.abort();
}
