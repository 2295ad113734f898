//! Many redeem one quote at the same time: there is one task.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;

use super::{quote, redeem, tasks};
use crate::support::{
    Client, Database, Engine, Reply, Server, TestApp, on_both_engines, path, runtime,
};

on_both_engines!(
    of_many_who_redeem_a_quote_one_creates_the_task,
    two_servers_on_one_database_create_one_task,
);

/// All have the same answer, and all but one say that it was given before.
fn expect_one_task(replies: &[Reply]) {
    for reply in replies {
        assert_eq!(reply.status, 201, "{}", reply.text);
        assert_eq!(reply.text, replies[0].text);
    }
    let fresh = |reply: &&Reply| reply.headers.get("idempotent-replayed").is_none();
    assert_eq!(replies.iter().filter(fresh).count(), 1);
}

async fn of_many_who_redeem_a_quote_one_creates_the_task(app: TestApp) {
    let dev = app.developer().await;
    for client in [&dev.test, &dev.live] {
        let quote = quote(client).await;
        let body = json!({"quote_id": quote["id"]});
        let keys: Vec<_> = (0..20).map(|place| format!("key {place}")).collect();
        let with_keys = keys.iter().map(async |key| {
            let headers = [("idempotency-key", key.as_str())];
            client.post_with("/v1/tasks", &headers, &body).await
        });
        let without = (0..20).map(async |_| redeem(client, &quote).await);
        let (with_keys, without) = futures_util::join!(join_all(with_keys), join_all(without));
        let all: Vec<_> = with_keys.into_iter().chain(without).collect();
        expect_one_task(&all);
        assert_eq!(tasks(client).await, 1);
    }
}

async fn two_servers_on_one_database_create_one_task(app: TestApp) {
    let other = TestApp::start(&app.database).await;
    let dev = app.developer().await;
    let servers = [&app, &other].map(|app| Client::new(app.address, Some(&dev.live_key)));
    for round in 1..=5 {
        let quote = quote(&servers[0]).await;
        let sent = (0..16).map(|place| redeem(&servers[place % 2], &quote));
        expect_one_task(&join_all(sent).await);
        assert_eq!(tasks(&servers[1]).await, round);
    }
    TestApp::expect_settled(&app.verify().await);
}

#[test]
fn two_processes_on_postgresql_create_one_task() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Postgres));
        let app = TestApp::start(&database).await;
        let dev = app.developer().await;
        let servers = [Server::start(&database), Server::start(&database)];
        let clients = [0, 1].map(|place| servers[place].client(&dev.test_key));
        for round in 1..=5 {
            let quote = quote(&clients[0]).await;
            let sent = (0..40).map(|place| redeem(&clients[place % 2], &quote));
            let replies = join_all(sent).await;
            expect_one_task(&replies);
            let task = clients[1].get(&path(&replies[0].body)).await.expect(200);
            assert_eq!(task, replies[0].body);
            assert_eq!(tasks(&clients[1]).await, round);
        }
    });
}
