//! The pages in a real browser: `tests/browser/`. It visits the real program.

use std::process::Command;

use crate::support::{self, Database, Engine, Server};

#[test]
fn every_page_works_in_a_browser() {
    let database = Database::migrated(Engine::Sqlite);
    let server = Server::start(&database);
    let output = Command::new(needed("LEGWORK_TEST_NODE"))
        .arg("tests/browser/main.mjs")
        .arg(format!("http://localhost:{}", server.address.port()))
        .env("LEGWORK_TEST_ADMIN_KEY", owner(&database))
        .env("LEGWORK_TEST_SECOND_ADMIN_KEY", owner(&database))
        .env("LEGWORK_TEST_THIRD_ADMIN_KEY", owner(&database))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    println!("{said}");
    assert!(output.status.success(), "{said}\n{errors}");
}

/// The key of an admin who may do everything.
fn owner(database: &Database) -> String {
    let create = [
        "admin",
        "create-key",
        "--name",
        "Ada",
        "--role",
        "owner",
        "--json",
    ];
    let created = support::Command::new(&create).on(database).succeed();
    let created: serde_json::Value = serde_json::from_str(&created).unwrap();
    created["key"].as_str().unwrap().to_owned()
}

/// Set by scripts/with-peers.
fn needed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: see scripts/with-peers"))
}
