//! The functions of docs/guides/webhooks.md, run as they stand there, over the vectors and over what
//! somebody might send who means no good.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use legwork::ambient::Clock;
use legwork::domain::accounts::api_key::hex;
use ring::hmac;
use serde_json::{Value, json};

use super::document::block;
use super::peers::{compile_typescript, folder, node, program, python};
use super::receiver;
use super::vectors::{self, Vector};

/// What a receiver sees.
#[derive(Clone)]
struct Delivery {
    name: String,
    secret: String,
    timestamp: String,
    signature: String,
    body: Vec<u8>,
    /// The receiver's clock; without one, the machine's.
    now: Option<i64>,
    valid: bool,
}

impl From<Vector> for Delivery {
    fn from(mut vector: Vector) -> Self {
        let mut header = |name: &str| vector.headers.remove(name).unwrap();
        Self {
            timestamp: header("X-Service-Timestamp"),
            signature: header("X-Service-Signature"),
            name: vector.name,
            secret: vector.secret,
            body: vector.body.into_bytes(),
            now: Some(vector.now),
            valid: vector.valid,
        }
    }
}

impl Delivery {
    fn named(&self, name: String, valid: bool) -> Self {
        let named = self.clone();
        Self {
            name,
            valid,
            ..named
        }
    }

    /// The same with another value of `X-Service-Signature`.
    fn with_signature(&self, signature: &str, valid: bool) -> Self {
        let signature = signature.to_owned();
        let shown: String = signature.chars().take(80).collect();
        let named = self.named(format!("the signature {shown:?}"), valid);
        Self { signature, ..named }
    }

    /// The same, rightly signed over other content.
    fn signed_over(&self, timestamp: &str, body: &[u8], valid: bool) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.as_bytes());
        let mac = hmac::sign(&key, &[timestamp.as_bytes(), body].join(&b'.'));
        let name = format!(
            "{:?} rightly signed at {timestamp:?}",
            body.escape_ascii().to_string()
        );
        Self {
            timestamp: timestamp.to_owned(),
            signature: format!("v1={}", hex(mac.as_ref())),
            body: body.to_owned(),
            ..self.named(name, valid)
        }
    }

    fn as_json(&self) -> Value {
        json!({"secret": self.secret, "timestamp": self.timestamp, "signature": self.signature,
            "body": BASE64_STANDARD.encode(&self.body), "now": self.now})
    }
}

/// A receiver never fails over what it is sent: it says no.
fn unusual(genuine: &Delivery) -> Vec<Delivery> {
    let right = genuine.signature.as_str();
    let value = right.strip_prefix("v1=").unwrap();
    let mut all = vec![
        genuine.with_signature(&format!("v2=00ff,{right}"), true),
        genuine.with_signature(&format!("v1={}, {right}", "0".repeat(64)), true),
        genuine.signed_over(&genuine.timestamp, b"", true),
        genuine.signed_over(&genuine.timestamp, b"\xff\xfe\0\r\n", true),
    ];
    let wrong = [
        value.to_owned(),
        format!("v1={}", value.to_uppercase()),
        format!("{right}0"),
        format!("v1={right}"),
        format!("v1 ={value}"),
        format!("v1={}", "0".repeat(100_000)),
    ];
    let garbage = ["", ",", ",,", "=", "v1", "v1=", "v1=é☕", "\0"].map(str::to_owned);
    let signatures = wrong.iter().chain(&garbage);
    all.extend(signatures.map(|signature| genuine.with_signature(signature, false)));
    let far = "9".repeat(400);
    for timestamp in ["", "soon", "NaN", "Infinity", "-1", "0", "é☕", "９", &far] {
        all.push(genuine.signed_over(timestamp, &genuine.body, false));
    }
    all
}

/// What is sent at this moment, and what was sent an hour ago.
fn by_the_clock(genuine: &Delivery) -> [Delivery; 2] {
    [(0, true), (3_600, false)].map(|(age, valid)| {
        let timestamp = (now() - age).to_string();
        let delivery = genuine.signed_over(&timestamp, &genuine.body, valid);
        Delivery {
            now: None,
            ..delivery
        }
    })
}

fn now() -> i64 {
    Clock::system().now().as_millis() / 1000
}

fn deliveries() -> Vec<Delivery> {
    let mut all: Vec<Delivery> = vectors::all().into_iter().map(Delivery::from).collect();
    let genuine = all[0].clone();
    all.extend(unusual(&genuine));
    all.extend(by_the_clock(&genuine));
    all
}

fn expect_right(language: &str, verdicts: &[bool]) {
    let deliveries = deliveries();
    assert_eq!(verdicts.len(), deliveries.len());
    for (delivery, verdict) in deliveries.iter().zip(verdicts) {
        assert_eq!(*verdict, delivery.valid, "{language}: {}", delivery.name);
    }
}

/// Runs a program of `tests/peers/webhooks/` that knows the function.
fn expect_right_from(language: &str, command: &mut Command) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let questions: Vec<_> = deliveries().iter().map(Delivery::as_json).collect();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(json!(questions).to_string().as_bytes())
        .unwrap();
    drop(input);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{language}: {}", done.status);
    let verdicts: Vec<bool> = serde_json::from_slice(&done.stdout).unwrap();
    expect_right(language, &verdicts);
}

/// Some languages are not on every machine that runs the tests.
fn is_installed(tool: &str) -> bool {
    let found = Command::new(tool).arg("--help").output().is_ok();
    if !found {
        eprintln!(
            "{tool} is not installed: its function in docs/guides/webhooks.md is not checked"
        );
    }
    found
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn in_python() {
    let folder = folder("python");
    write(
        &folder,
        "receiver.py",
        &block("python", "def is_from_legwork"),
    );
    expect_right_from("Python", &mut python("receive.py", &folder));
}

#[test]
fn in_typescript() {
    let folder = folder("node");
    compile_typescript(&folder, "receiver", &block("ts", "function isFromLegwork"));
    expect_right_from("TypeScript", &mut node("receive.mjs", &folder));
}

#[test]
fn in_go() {
    if !is_installed("go") {
        return;
    }
    let folder = folder("go");
    write(&folder, "go.mod", "module receive\n\ngo 1.19\n");
    write(
        &folder,
        "legwork/receiver.go",
        &block("go", "func IsFromLegwork"),
    );
    std::fs::copy(program("receive.go"), folder.join("main.go")).unwrap();
    let mut go = Command::new("go");
    go.args(["run", "."]).current_dir(&folder);
    go.env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    expect_right_from("Go", &mut go);
}

#[test]
fn in_ruby() {
    if !is_installed("ruby") {
        return;
    }
    let folder = folder("ruby");
    write(&folder, "receiver.rb", &block("ruby", "def from_legwork?"));
    let mut ruby = Command::new("ruby");
    expect_right_from(
        "Ruby",
        ruby.arg("-w").arg(program("receive.rb")).arg(&folder),
    );
}

#[test]
fn in_php() {
    if !is_installed("php") {
        return;
    }
    let folder = folder("php");
    write(
        &folder,
        "receiver.php",
        &block("php", "function is_from_legwork"),
    );
    let mut php = Command::new("php");
    expect_right_from("PHP", php.arg(program("receive.php")).arg(&folder));
}

#[test]
fn in_rust() {
    assert_eq!(
        block("rust", "fn is_from_legwork"),
        include_str!("receiver.rs")
    );
    let verdict = |delivery: &Delivery| {
        receiver::is_from_legwork(
            &delivery.secret,
            &delivery.timestamp,
            &delivery.signature,
            &delivery.body,
            delivery.now.unwrap_or_else(now) as u64,
        )
    };
    let verdicts: Vec<_> = deliveries().iter().map(verdict).collect();
    expect_right("Rust", &verdicts);
}
