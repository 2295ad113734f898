//! The whole move with the real program: killed in the middle, resumed, and the service goes on.

use std::process::Stdio;

use serde_json::Value;

use super::{execute, lived_in, rows_of_postgres, rows_of_sqlite};
use crate::support::{Command, Database, Engine, Server, runtime, storefront};

const FILL: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
    INSERT INTO idempotency_keys SELECT 'a', 'test', i, 'f', 200, hex(randomblob(100)), 0, i FROM n";

fn to_database(from: &Database, to: &Database) -> Command {
    Command::new(&["move", "--to", &to.url().unwrap()]).on(from)
}

/// A server on the new database, with everything else as it was.
fn server_on(to: &Database, from: &Database) -> Server {
    let url = to.url().unwrap();
    let arguments = ["--listen", "127.0.0.1:0", "--log", "warn", "--database-url"];
    let mut command = Command::new(&arguments);
    command.0.arg(url).arg("--data").arg(from.folder.path());
    Server::spawn(command)
}

#[track_caller]
fn start_is_refused(database: &Database, reason: &str) {
    let said = Command::new(&["serve", "--listen", "127.0.0.1:0"])
        .on(database)
        .fail();
    assert!(said.contains(reason), "{said}");
    let doctor = Command::new(&["doctor", "--listen", "127.0.0.1:0"]).on(database);
    let report = String::from_utf8(doctor.output().stdout).unwrap();
    let line = report.lines().find(|line| line.contains("FAIL database:"));
    assert!(line.is_some_and(|line| line.contains(reason)), "{report}");
}

/// `kill -9` while the largest table is copied.
fn killed_in_the_middle(from: &Database, to: &Database) {
    let mut command = to_database(from, to).0;
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let copied = "SELECT copied_rows::text FROM database_move_tables
        WHERE table_name = 'idempotency_keys'";
    runtime().block_on(async {
        while to.column(copied).await.is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "it was not killed");
            tokio::task::yield_now().await;
        }
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let rows = runtime().block_on(to.column(copied));
    assert!(rows[0].parse::<u32>().unwrap() < 60_000, "{rows:?}");
}

#[test]
fn a_move_that_was_killed_goes_on_and_the_service_with_it() {
    let (from, key) = lived_in();
    execute(&from, FILL);
    let to = Database::migrated(Engine::Postgres);
    killed_in_the_middle(&from, &to);
    start_is_refused(&from, "is not finished");
    start_is_refused(&to, "is not finished");
    let before = rows_of_sqlite(&from);
    let stored = before
        .iter()
        .filter(|row| row.starts_with("idempotency_keys:"));
    let stored = format!("idempotency_keys: {} rows", stored.count());

    let said = to_database(&from, &to).succeed();
    assert!(said.contains(&format!("{stored} copied")), "{said}");
    assert!(said.contains(&format!("{stored} compared")), "{said}");
    assert!(said.contains("The ledger is correct."), "{said}");
    assert!(said.contains("the master key: copy "), "{said}");
    assert_eq!(rows_of_sqlite(&from), before);
    assert_eq!(rows_of_postgres(&to), before);
    start_is_refused(&from, "was moved to PostgreSQL at ");
    let said = to_database(&from, &to).fail();
    assert!(said.contains("already moved"), "{said}");
    assert!(!said.contains("://"), "{said}");

    let server = server_on(&to, &from);
    runtime().block_on(async {
        let client = server.client(&key);
        let listed = client.get("/v1/tasks").await.expect(200);
        assert_eq!(listed["meta"]["total"], 3);
        let created: Value = client.post("/v1/tasks", &storefront()).await.expect(201);
        let path = crate::support::path(&created);
        client.get(&path).await.expect(200);
    });
    assert_eq!(server.terminate(), Some(0));

    let said = Command::new(&["move", "--undo"]).on(&from).succeed();
    assert!(said.contains("again"), "{said}");
    assert_eq!(Server::start(&from).terminate(), Some(0));
    let said = Command::new(&["move", "--undo"]).on(&from).succeed();
    assert_eq!(said, "Nothing was moved from here.\n");
}

/// The rows arrived, and the command was killed before the old database knew.
#[test]
fn a_move_that_was_killed_at_the_very_end_only_ends() {
    let (from, _) = lived_in();
    let to = Database::migrated(Engine::Postgres);
    let transfer = super::begin(&from, &to).unwrap();
    super::run(&transfer).unwrap();
    drop(transfer);
    // A server may use the new one already.
    assert_eq!(server_on(&to, &from).terminate(), Some(0));
    let said = to_database(&from, &to).succeed();
    assert!(said.contains("Moved."), "{said}");
    start_is_refused(&from, "was moved to ");
}

#[test]
fn a_ledger_with_differences_is_not_moved_silently() {
    let (from, _) = lived_in();
    execute(&from, "UPDATE tasks SET escrow_cents = escrow_cents + 1");
    let to = Database::migrated(Engine::Postgres);
    let output = to_database(&from, &to).output();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("DIFFERENCE"), "{said}");
    start_is_refused(&from, "is not finished");
}
