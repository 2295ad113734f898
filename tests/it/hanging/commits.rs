//! A commit that waits for a standby that hangs.

use super::cluster::Postgres;
use super::{NEVER, in_time, is_unavailable, serve};
use crate::support::{Database, Engine, eventually, key_in, runtime, storefront};

const CONNECTIONS: u32 = 4;

/// If such a commit were cancelled, PostgreSQL would report it as done although only the primary has
/// it. What is acknowledged then would be lost with the primary.
#[test]
fn a_commit_is_acknowledged_only_once_the_standby_has_it() {
    let folder = Database::migrated(Engine::Sqlite);
    runtime().block_on(async {
        let primary = Postgres::primary();
        let standby = primary.standby().await;
        let server = serve(&folder, &primary.url(), CONNECTIONS, 2);
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        client.post("/v1/tasks", &storefront()).await.expect(201);
        standby.freeze();
        let key = [("Idempotency-Key", "one")];
        let task = storefront();
        for _ in 0..2 {
            let reply = in_time(NEVER, client.post_with("/v1/tasks", &key, &task)).await;
            is_unavailable(&reply);
            let count = "SELECT count(*) FROM pg_stat_activity
                WHERE application_name = 'legwork' AND backend_type = 'client backend'";
            let backends: u32 = primary.ask(count).await.parse().unwrap();
            assert!(backends <= CONNECTIONS + 1, "{backends} connections");
        }
        assert_eq!(primary.ask("SELECT count(*) FROM tasks").await, "1");
        standby.thaw();
        let stored = async || {
            let reply = client.post_with("/v1/tasks", &key, &task).await;
            reply.status == 201
        };
        eventually("the task is stored", stored).await;
        let list = client.get("/v1/tasks").await.expect(200);
        assert_eq!(list["meta"]["total"], 2, "the task was created twice");
    });
}
