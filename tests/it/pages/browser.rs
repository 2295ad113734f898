//! The pages in a real browser: `tests/browser/`. It visits the real program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::support::{self, Database, Engine, Server};

#[test]
fn every_page_works_in_a_browser() {
    visit(&[
        "frontDoor",
        "signingUp",
        "firstTask",
        "keptForm",
        "reviewing",
        "keys",
        "settings",
        "live",
        "limitedKey",
        "webhook",
        "dispute",
        "secondFactor",
        "passkeys",
        "adminConsole",
        "tour",
    ]);
}

#[test]
fn every_page_of_workers_works_in_a_browser() {
    visit(&["worker"]);
}

#[test]
fn the_workers_app_is_installed_and_renewed() {
    visit(&["workerShell"]);
}

#[test]
fn proof_is_captured_on_a_phone() {
    visit(&["workerCapture"]);
}

#[test]
fn a_task_goes_from_a_desk_to_a_phone_and_back() {
    visit(&["workerStory"]);
}

#[test]
fn nothing_that_was_captured_is_lost() {
    visit(&["workerOutbox", "workerCuts"]);
}

/// Tells these stories on a server of their own.
fn visit(stories: &[&str]) {
    let database = Database::migrated(Engine::Sqlite);
    let mut server = Server::start(&database);
    let address = server.address.to_string();
    let mut browser = Command::new(needed("LEGWORK_TEST_NODE"))
        .arg("tests/browser/main.mjs")
        .arg(format!("http://localhost:{}", server.address.port()))
        .args(stories)
        .env("LEGWORK_TEST_ADMIN_KEY", owner(&database))
        .env("LEGWORK_TEST_SECOND_ADMIN_KEY", owner(&database))
        .env("LEGWORK_TEST_THIRD_ADMIN_KEY", owner(&database))
        .env("LEGWORK_TEST_FOURTH_ADMIN_KEY", owner(&database))
        .env("LEGWORK_TEST_LIVE_KEY", live_key(&database))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = browser.stdin.take().unwrap();
    let mut said = String::new();
    for line in BufReader::new(browser.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "RESTART" {
            server.kill();
            server = restarted(&database, &address);
            writeln!(told, "ready").unwrap();
        }
        said = said + &line + "\n";
    }
    let is_right = browser.wait().unwrap().success();
    if !is_right {
        // At once, not after all other tests: whoever looks at a long run sees why.
        std::io::stderr().write_all(said.as_bytes()).unwrap();
    }
    println!("{said}");
    assert!(is_right, "a story failed: see above");
}

/// Where it was before.
fn restarted(database: &Database, address: &str) -> Server {
    let serve = ["--listen", address, "--log", "warn"];
    Server::spawn(support::Command::new(&serve).on(database))
}

/// The key of a developer for live tasks.
fn live_key(database: &Database) -> String {
    let create = [
        "account",
        "create",
        "--email",
        "dev@example.com",
        "--name",
        "Dev",
        "--json",
    ];
    let created = support::Command::new(&create).on(database).succeed();
    let created: serde_json::Value = serde_json::from_str(&created).unwrap();
    created["live_key"].as_str().unwrap().to_owned()
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
