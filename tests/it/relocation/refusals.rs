//! What a move does not touch, and who is kept away meanwhile.

use legwork::ambient::Clock;
use legwork::store::{HeldDatabase, Store};

use super::{begin, execute, run};
use crate::support::{Command, Database, Engine, Server, runtime, storefront};

/// The two sides of a move.
fn pair() -> (Database, Database) {
    let from = Database::migrated(Engine::Sqlite);
    (from, Database::migrated(Engine::Postgres))
}

fn refusal(from: &Database, to: &Database) -> String {
    match begin(from, to) {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_database_with_rows_is_not_filled() {
    let (from, to) = pair();
    execute(
        &to,
        "INSERT INTO processes (id, alive_until) VALUES ('x', 1)",
    );
    let said = refusal(&from, &to);
    assert!(said.contains("its table processes has rows"), "{said}");
    // Nothing was begun: a server may still start.
    drop(Store::open(&from.location()).unwrap());
}

#[test]
fn a_database_with_tables_of_others_is_not_filled() {
    let (from, to) = (
        Database::migrated(Engine::Sqlite),
        Database::create(Engine::Postgres),
    );
    execute(&to, "CREATE TABLE theirs (id TEXT)");
    let said = refusal(&from, &to);
    assert!(said.contains("the target is not empty"), "{said}");
}

#[test]
fn the_audit_log_alone_fills_a_database_too() {
    let (from, to) = pair();
    execute(&to, "UPDATE audit_head SET number = 1");
    let said = refusal(&from, &to);
    assert!(said.contains("audit_head"), "{said}");
}

#[test]
fn the_target_of_another_move_is_not_filled() {
    let (from, to) = pair();
    drop(begin(&from, &to).unwrap());
    let other = Database::migrated(Engine::Sqlite);
    let said = refusal(&other, &to);
    assert!(said.contains("another move"), "{said}");
}

#[test]
fn both_sides_must_be_of_this_version() {
    let (from, to) = pair();
    let newest = "(SELECT MAX(version) FROM migrations)";
    execute(
        &to,
        &format!("DELETE FROM migrations WHERE version = {newest}"),
    );
    let said = refusal(&from, &to);
    assert!(said.contains("lacks 1 migrations"), "{said}");

    let (from, to) = pair();
    execute(
        &from,
        &format!("DELETE FROM migrations WHERE version = {newest}"),
    );
    let said = refusal(&from, &to);
    assert!(said.contains("run `legwork migrate` first"), "{said}");

    let (from, to) = pair();
    execute(&to, "INSERT INTO migrations VALUES (999, 'later', 'x')");
    let said = refusal(&from, &to);
    assert!(said.contains("newer legwork"), "{said}");
}

#[test]
fn a_database_that_a_server_uses_is_not_moved() {
    let (from, to) = pair();
    let server = Server::start(&from);
    let url = to.url().unwrap();
    let said = Command::new(&["move", "--to", &url]).on(&from).fail();
    assert!(said.contains("stop it first"), "{said}");
    let key = crate::support::key_in(&server.greeting, "svc_test_");
    runtime().block_on(async {
        let created = server.client(&key).post("/v1/tasks", &storefront()).await;
        created.expect(201);
    });
}

#[test]
fn nobody_writes_to_a_database_that_is_being_moved() {
    let (from, _) = pair();
    let held = HeldDatabase::open(&from.location(), Clock::system().now()).unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"]] {
        let said = Command::new(command).on(&from).fail();
        assert!(said.contains("another process is moving it"), "{said}");
    }
    // A program that does not know of our lock meets SQLite's.
    let connection = rusqlite::Connection::open(from.file()).unwrap();
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let write = "INSERT INTO processes (id, alive_until) VALUES ('x', 1)";
    let error = connection.execute_batch(write).unwrap_err().to_string();
    assert!(error.contains("locked"), "{error}");
    drop(held);
    connection.execute_batch(write).unwrap();
}

#[test]
fn a_value_that_postgresql_cannot_hold_is_named() {
    let (from, to) = pair();
    let broken = "INSERT INTO processes (id, alive_until) VALUES ('a' || char(0) || 'b', 1)";
    execute(&from, broken);
    let said = run(&begin(&from, &to).unwrap()).unwrap_err().to_string();
    assert!(said.contains("processes, in the rows up to"), "{said}");
}

#[test]
fn a_command_without_a_target_says_what_it_needs() {
    let from = Database::migrated(Engine::Sqlite);
    let said = Command::new(&["move", "--to", "sqlite"]).on(&from).fail();
    assert!(said.contains("--to must be a postgres:// URL"), "{said}");
    let said = Command::new(&["move"]).on(&from).fail();
    assert!(said.contains("--to"), "{said}");
}
