//! PgBouncer between the servers and PostgreSQL. `LEGWORK_TEST_PGBOUNCER` names another program than
//! that of Debian's package.

use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use tokio_postgres::config::Host;

use crate::support::{
    Client, Command, Database, Engine, Server, eventually, free_port, key_in, path, runtime,
    server_url, storefront,
};

struct PgBouncer {
    address: SocketAddr,
    child: Child,
    _folder: tempfile::TempDir,
}

impl PgBouncer {
    /// With fewer connections to PostgreSQL than the server has to it, so that they change hands.
    async fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let server: tokio_postgres::Config = server_url().parse().unwrap();
        let host = match &server.get_hosts()[0] {
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) => folder.to_str().unwrap().to_owned(),
        };
        let (port, user) = (server.get_ports()[0], server.get_user().unwrap());
        let text = format!(
            "[databases]\n* = host={host} port={port} user={user}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\n\
             default_pool_size = 8\n{settings}\n",
            address.port()
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, text).unwrap();
        let child = program(&folder)
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("pgbouncer: {e}; run scripts/with-peers cargo test"));
        let started = Self {
            address,
            child,
            _folder: folder,
        };
        eventually("PgBouncer listens", async || {
            tokio::net::TcpStream::connect(address).await.is_ok()
        })
        .await;
        started
    }

    fn url(&self, database: &Database) -> String {
        let url: tokio_postgres::Config = database.url().unwrap().parse().unwrap();
        let name = url.get_dbname().unwrap();
        format!("postgres://legwork@{}/{name}", self.address)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// It does not run as root.
fn program(folder: &tempfile::TempDir) -> std::process::Command {
    let pgbouncer = pgbouncer();
    if !rustix::process::geteuid().is_root() {
        return std::process::Command::new(pgbouncer);
    }
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), readable).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(pgbouncer);
    command
}

fn pgbouncer() -> String {
    std::env::var("LEGWORK_TEST_PGBOUNCER").unwrap_or_else(|_| "/usr/sbin/pgbouncer".to_owned())
}

/// Whether it can keep prepared statements while connections change hands: from 1.21 on.
fn keeps_statements() -> bool {
    let asked = std::process::Command::new(pgbouncer())
        .arg("--version")
        .output()
        .unwrap_or_else(|e| panic!("pgbouncer: {e}; run scripts/with-peers cargo test"));
    let text = String::from_utf8(asked.stdout).unwrap();
    let version = text.split_whitespace().nth(1).unwrap();
    let mut numbers = version.split('.').map(|n| n.parse::<u32>().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap()) >= (1, 21)
}

fn command(database: &Database, url: &str) -> Command {
    let arguments = ["--listen", "127.0.0.1:0", "--log", "warn"];
    let mut command = Command::new(&arguments);
    command.0.args(["--database-url", url]);
    command.0.arg("--data").arg(database.folder.path());
    command
}

/// What a pooler could break: many transactions at once, statements that are prepared on one
/// connection and used on another, jobs, a move of a task, a replayed answer.
async fn all_works(server: &Server) {
    let client = server.client(&key_in(&server.greeting, "svc_test_"));
    let task = storefront();
    for _ in 0..5 {
        let replies = join_all((0..40).map(|_| client.post("/v1/tasks", &task))).await;
        for reply in replies {
            let made = reply.expect(201);
            let found = client.get(&path(&made)).await.expect(200);
            assert_eq!(found["id"], made["id"]);
        }
    }
    let list = client.get("/v1/tasks?limit=5").await.expect(200);
    assert_eq!(list["meta"]["total"], 200);
    let keyed = [("Idempotency-Key", "once")];
    let first = client
        .post_with("/v1/tasks", &keyed, &task)
        .await
        .expect(201);
    let again = client
        .post_with("/v1/tasks", &keyed, &task)
        .await
        .expect(201);
    assert_eq!(first["id"], again["id"]);
    let advance = format!(
        "/v1/test_helpers/tasks/{}/advance",
        first["id"].as_str().unwrap()
    );
    let moved = client.post(&advance, &json!({"to": "in_progress"})).await;
    assert_eq!(moved.expect(200)["status"], "in_progress");
    live_task_is_charged(server).await;
}

async fn live_task_is_charged(server: &Server) {
    let client: Client = server.client(&key_in(&server.greeting, "svc_live_"));
    let method = json!({"payment_method": "pm_card_visa"}).to_string();
    let set = client.send("PUT", "/v1/account/payment_method", &[], method);
    set.await.expect(200);
    let task = client.post("/v1/tasks", &storefront()).await.expect(201);
    eventually("the task is posted", async || {
        client.get(&path(&task)).await.expect(200)["status"] == "posted"
    })
    .await;
}

#[test]
fn all_works_when_each_session_has_a_connection() {
    runtime().block_on(async {
        let database = Arc::new(Database::create(Engine::Postgres));
        let pooler = PgBouncer::start("pool_mode = session").await;
        let url = pooler.url(&database);
        let server =
            Server::spawn(command(&database, &url).env("LEGWORK_DATABASE_CONNECTIONS", "4"));
        all_works(&server).await;
        assert_eq!(server.terminate(), Some(0));
    });
}

#[test]
fn all_works_when_each_transaction_has_another_connection_and_statements_are_kept() {
    if !keeps_statements() {
        // Debian 12 has 1.18. Then the test below holds.
        return;
    }
    runtime().block_on(async {
        let database = Arc::new(Database::create(Engine::Postgres));
        let settings = "pool_mode = transaction\nmax_prepared_statements = 500";
        let pooler = PgBouncer::start(settings).await;
        let url = pooler.url(&database);
        let first = Server::spawn(command(&database, &url));
        all_works(&first).await;
        let processes = "SELECT pid::text FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND backend_type = 'client backend'";
        assert!(database.column(processes).await.len() <= 8);
        assert_eq!(first.terminate(), Some(0));
    });
}

#[test]
fn a_pooler_that_loses_prepared_statements_is_refused() {
    runtime().block_on(async {
        let database = Arc::new(Database::create(Engine::Postgres));
        let off = if keeps_statements() {
            "max_prepared_statements = 0"
        } else {
            ""
        };
        let pooler = PgBouncer::start(&format!("pool_mode = transaction\n{off}")).await;
        let url = pooler.url(&database);
        let said = command(&database, &url).fail();
        assert!(said.contains("max_prepared_statements"), "{said}");
        assert!(said.contains("pool_mode = session"), "{said}");
        // Nothing was migrated.
        let tables = "SELECT table_name::text FROM information_schema.tables
            WHERE table_schema = current_schema()";
        assert!(database.column(tables).await.is_empty());
    });
}
