//! The database goes away, and comes back.

use std::sync::Arc;

use legwork::store::Location;

use crate::support::{Command, Database, Engine, Proxy, Server, TestApp, key_in, storefront, tell};

#[test]
fn a_lost_postgres_is_a_503_and_comes_back_by_itself() {
    tell(Engine::Postgres, async |app| {
        let url = app.database.url().unwrap();
        let proxy = Proxy::to(&url).await;
        let (user, _) = url
            .strip_prefix("postgres://")
            .unwrap()
            .split_once('@')
            .unwrap();
        let (_, name) = url.rsplit_once('/').unwrap();
        let cuttable = Location::Postgres {
            url: format!("postgres://{user}@{}/{name}", proxy.address),
            connections: 4,
        };
        let store = app.database.open_at(cuttable).await;
        let app = TestApp::start_on(store, &app.database).await;
        loses_and_finds_its_database(&app, &proxy).await;
    });
}

async fn loses_and_finds_its_database(app: &TestApp, proxy: &Proxy) {
    let dev = app.developer().await;
    dev.create_task().await;
    for _ in 0..3 {
        proxy.cut();
        for _ in 0..6 {
            let reply = dev.test.post("/v1/tasks", &storefront()).await;
            let reply = reply.expect_error(503, "UNAVAILABLE");
            assert_eq!(reply.header("retry-after"), "1");
            assert!(!reply.text.contains("postgres") && !reply.text.contains("connect"));
        }
        assert_eq!(app.client().get("/healthz").await.status, 200);
        assert_eq!(app.client().get("/readyz").await.status, 503);
        proxy.mend();
        assert_eq!(app.client().get("/readyz").await.status, 200);
        dev.create_task().await;
    }
    let list = dev.test.get("/v1/tasks").await.expect(200);
    assert_eq!(list["meta"]["total"], 4, "what was refused was kept");
}

#[test]
fn a_full_disk_is_a_503_and_loses_nothing_that_was_acknowledged() {
    // The limit on file size stands in for the disk: writes beyond it fail all the same.
    let database = Arc::new(Database::migrated(Engine::Sqlite));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(fills_the_disk(&database));
}

async fn fills_the_disk(database: &Database) {
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "off"]).on(database);
    let server = Server::spawn(command.surviving_file_size_limits());
    let key = key_in(&server.greeting, "svc_test_");
    let client = server.client(&key);
    let mut task = storefront();
    task["description"] = "x".repeat(2_000).into();
    task["instructions"] = "x".repeat(5_000).into();
    let log = database.file().with_extension("db-wal");
    let limit = std::fs::metadata(log).unwrap().len() + 4_000_000;
    limit_file_size(server.pid(), &limit.to_string());
    let mut acknowledged = Vec::new();
    let refused = loop {
        let reply = client.post("/v1/tasks", &task).await;
        if reply.status != 201 {
            break reply;
        }
        acknowledged.push(reply.body["id"].as_str().unwrap().to_owned());
        assert!(acknowledged.len() < 900, "the limit has no effect");
    };
    assert!(acknowledged.len() > 10);
    refused.expect_error(503, "UNAVAILABLE");
    limit_file_size(server.pid(), "unlimited");
    client.post("/v1/tasks", &task).await.expect(201);
    server.kill();
    let server = Server::start(database);
    let client = server.client(&key);
    for id in &acknowledged {
        client.get(&format!("/v1/tasks/{id}")).await.expect(200);
    }
    let list = client.get("/v1/tasks").await.expect(200);
    assert_eq!(list["meta"]["total"], acknowledged.len() + 1);
}

fn limit_file_size(pid: u32, bytes: &str) {
    let limited = std::process::Command::new("prlimit")
        .args([
            "--pid",
            &pid.to_string(),
            &format!("--fsize={bytes}:unlimited"),
        ])
        .status()
        .unwrap();
    assert!(limited.success());
}
