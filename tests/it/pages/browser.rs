//! The pages in a real browser: `tests/browser/`. It visits the real program.

use std::process::Command;

use crate::support::{Database, Engine, Server};

#[test]
fn every_page_works_in_a_browser() {
    let database = Database::migrated(Engine::Sqlite);
    let server = Server::start(&database);
    let output = Command::new(needed("LEGWORK_TEST_NODE"))
        .arg("tests/browser/main.mjs")
        .arg(format!("http://localhost:{}", server.address.port()))
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

/// Set by scripts/with-peers.
fn needed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: see scripts/with-peers"))
}
