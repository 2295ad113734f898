//! The Python library tells the stories, installed as a package in an environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use super::fake::Fake;
use super::stories::{self, output};
use crate::support::{TestApp, in_time, on_sqlite, peer, runtime};
use crate::webhooks::vectors;

on_sqlite!(asynchronously, synchronously);

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python");

/// A fresh environment with nothing but the library and what it needs.
pub fn environment() -> &'static Path {
    static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-library");
        let _ = std::fs::remove_dir_all(&folder);
        let mut make = Command::new(peer::variable("LEGWORK_TEST_PYTHON"));
        output(make.args(["-m", "venv"]).arg(&folder));
        let python = folder.join("bin/python");
        // The library is built from a copy, which leaves nothing in the source tree.
        let source = folder.join("source");
        output(Command::new("cp").arg("-r").arg(LIBRARY).arg(&source));
        let mut install = Command::new(&python);
        install.args([
            "-m",
            "pip",
            "install",
            "-q",
            "--no-index",
            "--disable-pip-version-check",
        ]);
        install
            .arg("--find-links")
            .arg(peer::variable("LEGWORK_TEST_WHEELS"));
        output(install.arg(&source));
        python
    });
    &PYTHON
}

fn story(arguments: &[&str]) -> Command {
    let mut command = Command::new(environment());
    command
        .arg("-B")
        .arg(peer::script("clients/story.py"))
        .args(arguments);
    // The synchronous story is made by the script that makes the synchronous client.
    command.env("PYTHONPATH", LIBRARY);
    command
}

async fn asynchronously(app: TestApp) {
    life("async", &app).await;
}

async fn synchronously(app: TestApp) {
    life("sync", &app).await;
}

async fn life(kind: &str, app: &TestApp) {
    let developer = app.developer().await;
    let (url, photo) = (format!("http://{}", app.address), stories::photo_file());
    let command = story(&[
        kind,
        &url,
        &developer.test_key,
        "life",
        photo.path().to_str().unwrap(),
    ]);
    assert_eq!(
        stories::told_by(command).await,
        stories::expected_of_a_life()
    );
}

#[test]
fn failures_are_overcome_or_told() {
    runtime().block_on(async {
        for kind in ["async", "sync"] {
            let (fake, address) = Fake::start().await;
            let url = format!("http://{address}");
            // Installing the library, which the first of the tests does, has all the time it needs.
            let command = story(&[kind, &url, "svc_test_x", "failures"]);
            let told = in_time(stories::told_by(command)).await;
            assert_eq!(told, stories::expected_of_failures(), "{kind}");
            stories::check_requests(&fake, "shop/1.0 legwork-python/0.1.0");
        }
    });
}

#[test]
fn waits_end_in_time_and_other_programs_are_told_apart() {
    for kind in ["async", "sync"] {
        let (_server, url) = stories::strange_server();
        let told = output(&mut story(&[kind, &url, "svc_test_x", "strange"]));
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told, stories::expected_of_strange_servers(), "{kind}");
    }
}

#[test]
fn webhooks_are_verified_by_both_schemes() {
    let mut command = Command::new(environment());
    command.arg("-B").arg(peer::script("clients/webhooks.py"));
    command.arg(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/webhook-vectors.json"
    ));
    let verdicts: Vec<bool> = serde_json::from_str(&output(&mut command)).unwrap();
    let expected = vectors::all()
        .iter()
        .flat_map(|vector| [vector.valid; 2])
        .collect::<Vec<_>>();
    assert_eq!(verdicts, expected);
}

#[test]
fn the_synchronous_client_is_made_from_the_asynchronous_one() {
    let code =
        "import generate_sync as g; print((g.FOLDER / '_sync.py').read_text() == g.synchronous())";
    let mut command = Command::new(peer::variable("LEGWORK_TEST_PYTHON"));
    let same = output(command.args(["-B", "-c", code]).env("PYTHONPATH", LIBRARY));
    assert_eq!(
        same.trim(),
        "True",
        "run python3 clients/python/generate_sync.py"
    );
}

/// With all checks, the library and a program that uses it.
#[test]
fn its_types_are_right() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mypy");
    let mut check = Command::new(peer::variable("LEGWORK_TEST_PYTHON"));
    check
        .args(["-B", "-m", "mypy", "--strict", "--cache-dir"])
        .arg(cache);
    check
        .args(["src/legwork", "generate_sync.py"])
        .arg(peer::script("clients/story.py"));
    output(check.current_dir(LIBRARY).env("MYPYPATH", "src"));
}

pub fn described() -> Value {
    let mut command = Command::new(peer::variable("LEGWORK_TEST_PYTHON"));
    command
        .arg("-B")
        .arg(peer::script("clients/describe.py"))
        .arg(LIBRARY);
    serde_json::from_str(&output(&mut command)).unwrap()
}
