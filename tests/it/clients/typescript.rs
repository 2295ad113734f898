//! The TypeScript library tells the stories, installed as a package in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use super::fake::Fake;
use super::stories::{self, output};
use crate::support::{TestApp, in_time, on_sqlite, peer, runtime};
use crate::webhooks::vectors;

on_sqlite!(a_life);

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/typescript");

/// A folder in which the library was built. It holds a package of it.
fn built() -> &'static Path {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("typescript-library");
        let _ = std::fs::remove_dir_all(&folder);
        // In a copy, so that nothing is left in the source tree.
        output(Command::new("cp").arg("-r").arg(LIBRARY).arg(&folder));
        output(typescript().arg("-p").arg(&folder));
        output(npm(&folder).args(["pack", "--silent", "--ignore-scripts"]));
        folder
    });
    &BUILT
}

/// A fresh folder with nothing but the package, and a program that uses it.
pub fn environment() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("typescript-user");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("package.json"),
            r#"{"type": "module", "private": true}"#,
        )
        .unwrap();
        let package = built().join("legwork-0.1.0.tgz");
        let quiet = [
            "install",
            "--silent",
            "--offline",
            "--no-audit",
            "--no-fund",
        ];
        output(npm(&folder).args(quiet).arg(package));
        std::fs::copy(peer::script("clients/story.ts"), folder.join("story.ts")).unwrap();
        compile(&folder, "story.ts");
        folder
    });
    &FOLDER
}

/// With all checks.
pub fn compile(folder: &Path, file: &str) {
    let types = peer::node_modules().join("@types");
    let mut compile = typescript();
    compile.args([
        "--strict", "--target", "ES2022", "--module", "NodeNext", "--types", "node",
    ]);
    compile
        .arg("--typeRoots")
        .arg(types)
        .args(["--noUncheckedIndexedAccess", file]);
    output(compile.current_dir(folder));
}

fn typescript() -> Command {
    let mut command = Command::new(peer::variable("LEGWORK_TEST_NODE"));
    command.arg(peer::node_modules().join("typescript/bin/tsc"));
    command
}

/// npm comes with Node.js, in the same folder.
fn npm(folder: &Path) -> Command {
    let node = PathBuf::from(peer::variable("LEGWORK_TEST_NODE"));
    let path = format!(
        "{}:{}",
        node.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = Command::new("npm");
    command.current_dir(folder).env("PATH", path);
    command
}

fn story(arguments: &[&str]) -> Command {
    let mut command = Command::new(peer::variable("LEGWORK_TEST_NODE"));
    command.arg(environment().join("story.js")).args(arguments);
    command
}

async fn a_life(app: TestApp) {
    let developer = app.developer().await;
    let (url, photo) = (format!("http://{}", app.address), stories::photo_file());
    let command = story(&[
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
        let (fake, address) = Fake::start().await;
        let url = format!("http://{address}");
        // Compiling the library, which the first of the tests does, has all the time it needs.
        let command = story(&[&url, "svc_test_x", "failures"]);
        let told = in_time(stories::told_by(command)).await;
        assert_eq!(told, stories::expected_of_failures());
        stories::check_requests(&fake, "shop/1.0 legwork-typescript/0.1.0");
    });
}

#[test]
fn waits_end_in_time_and_other_programs_are_told_apart() {
    let (_server, url) = stories::strange_server();
    let told = output(&mut story(&[&url, "svc_test_x", "strange"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told, stories::expected_of_strange_servers());
}

#[test]
fn webhooks_are_verified_by_both_schemes() {
    let vectors_file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/webhook-vectors.json");
    let verdicts: Vec<bool> =
        serde_json::from_str(&output(&mut story(&["webhooks", vectors_file]))).unwrap();
    let expected = vectors::all()
        .iter()
        .flat_map(|vector| [vector.valid; 2])
        .collect::<Vec<_>>();
    assert_eq!(verdicts, expected);
}

pub fn described() -> Value {
    let mut command = peer::node("clients/describe.mjs");
    command.arg(built()).arg(peer::node_modules());
    serde_json::from_str(&output(&mut command)).unwrap()
}
