//! Backup and restore, with the real program: beside a server, on a full disk, killed, lied to.

mod refusals;
mod safety;

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use serde_json::Value;

use crate::support::{Client, Command, Database, Engine, Server, storefront};

/// A place for backups.
fn shelf() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn backup(database: &Database, to: &Path) -> Command {
    Command::new(&["backup", to.to_str().unwrap()]).on(database)
}

fn restore(from: &Path, database: &Database) -> Command {
    Command::new(&["restore", from.to_str().unwrap()]).on(database)
}

/// What a restored database consists of: after it is restored, it is opened to see whether the master
/// key fits, which leaves the small file that tells other processes of commits.
const RESTORED: [&str; 2] = ["legwork.db", "legwork.db-commits"];

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries
        .map(name)
        .map(|n| n.into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A database with an account and rows enough to take some time.
fn filled(rows: u32) -> Database {
    let database = Database::create(Engine::Sqlite);
    let account = [
        "account",
        "create",
        "--email",
        "ada@example.com",
        "--name",
        "Ada",
    ];
    Command::new(&account).on(&database).succeed();
    let connection = Connection::open(database.file()).unwrap();
    let fill = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
         INSERT INTO idempotency_keys SELECT 'a', 'test', i, 'f', 200, hex(randomblob(100)), 0, i
         FROM n"
    );
    connection.execute_batch(&fill).unwrap();
    database
}

/// Every row of every table, as text, in an order of its own.
fn rows(file: &Path) -> Vec<String> {
    let connection = Connection::open(file).unwrap();
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    let mut tables = connection.prepare(tables).unwrap();
    let tables: Vec<String> = {
        let names = tables.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    assert!(tables.len() > 20);
    let mut all = Vec::new();
    for table in tables {
        let mut select = connection
            .prepare(&format!("SELECT * FROM {table}"))
            .unwrap();
        let columns = select.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            let cells = (0..columns).map(|index| row.get::<_, rusqlite::types::Value>(index));
            Ok(format!(
                "{table} {:?}",
                cells.collect::<Result<Vec<_>, _>>()?
            ))
        };
        let found = select.query_map([], read).unwrap();
        all.extend(found.map(Result::unwrap));
    }
    all.sort();
    all
}

/// Clients that create tasks until they are told to stop.
struct Writers {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<Mutex<Vec<String>>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Writers {
    fn start(clients: Vec<Client>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        let write = |client: Client| {
            let (stop, acknowledged) = (stop.clone(), acknowledged.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::SeqCst) {
                    let task = client.post("/v1/tasks", &storefront()).await.expect(201);
                    let id = task["id"].as_str().unwrap().to_owned();
                    acknowledged.lock().unwrap().push(id);
                }
            })
        };
        let tasks = clients.into_iter().map(write).collect();
        Self {
            stop,
            acknowledged,
            tasks,
        }
    }

    fn acknowledged(&self) -> Vec<String> {
        self.acknowledged.lock().unwrap().clone()
    }

    async fn have_written(&self, count: usize) {
        while self.acknowledged.lock().unwrap().len() < count {
            tokio::task::yield_now().await;
        }
    }

    async fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

/// An account without narrow limits, whose live tasks are charged to a good card.
async fn paying_account(database: &Database, server: &Server) -> Value {
    let arguments = [
        "account",
        "create",
        "--email",
        "ada@example.com",
        "--name",
        "Ada",
        "--tier",
        "enterprise",
        "--json",
    ];
    let account = Command::new(&arguments).on(database).succeed();
    let account: Value = serde_json::from_str(&account).unwrap();
    let live = server.client(account["live_key"].as_str().unwrap());
    let method = r#"{"payment_method": "pm_card_visa"}"#;
    let path = "/v1/account/payment_method";
    live.send("PUT", path, &[], method).await.expect(200);
    account
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_serving_database_has_all_that_was_acknowledged() {
    let database = Database::create(Engine::Sqlite);
    let fast = [
        "--listen",
        "127.0.0.1:0",
        "--log",
        "warn",
        "--rate-limits",
        "off",
    ];
    let server = Server::spawn(Command::new(&fast).on(&database));
    let account = paying_account(&database, &server).await;
    let keys = ["test_key", "live_key"].map(|key| account[key].as_str().unwrap());
    let clients = (0..16).map(|index| server.client(keys[index % 2]));
    let writers = Writers::start(clients.collect());
    let shelf = shelf();
    let mut backups = Vec::new();
    for round in 1..=3 {
        writers.have_written(round * 150).await;
        let file = shelf.path().join(format!("{round}.db"));
        let before = writers.acknowledged();
        let command = backup(&database, &file);
        let said = tokio::task::spawn_blocking(move || command.succeed());
        let said = said.await.unwrap();
        assert!(said.contains("bytes, schema version "), "{said}");
        assert!(said.contains("files are not included. Copy "), "{said}");
        let after = writers.acknowledged();
        assert!(after.len() > before.len(), "nobody wrote meanwhile");
        backups.push((file, before));
    }
    writers.stop().await;
    drop(server);
    for (file, acknowledged) in &backups {
        expect_restored(&database, file, acknowledged, keys).await;
    }
}

/// A database made of that file has these tasks, its ledger is right, and a server goes on with it.
async fn expect_restored(
    original: &Database,
    file: &Path,
    acknowledged: &[String],
    keys: [&str; 2],
) {
    let database = Database::create(Engine::Sqlite);
    original.give_key_to(&database);
    let said = restore(file, &database).succeed();
    let kept = database.column("SELECT id FROM tasks ORDER BY id").await;
    let counted = format!("2 accounts, {} tasks", kept.len());
    assert!(said.contains(&counted), "{said}");
    assert!(said.contains("legwork ledger verify"), "{said}");
    let is_kept = |id: &String| kept.binary_search(id).is_ok();
    assert!(acknowledged.iter().all(is_kept));
    let verified = Command::new(&["ledger", "verify"]).on(&database).succeed();
    assert!(verified.contains("The ledger is correct."), "{verified}");
    let server = Server::start(&database);
    for key in keys {
        let client = server.client(key);
        let list = client.get("/v1/tasks?limit=1").await.expect(200);
        assert_ne!(list["meta"]["total"], 0);
        client.post("/v1/tasks", &storefront()).await.expect(201);
    }
}
