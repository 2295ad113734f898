//! The programs that take notices. Each is started once for all tests, and ends when they do: its
//! standard input closes then.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::Client;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run ./test, or scripts/with-notice-peers cargo test")
    })
}

/// The program, and the line it says when it is ready.
fn start(program: &str, script: &str, arguments: &[String]) -> (Child, Value) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/notices");
    let mut child = Command::new(variable(program))
        .arg(format!("{folder}/{script}"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let ready = serde_json::from_str(&line);
    (child, ready.expect("what the peer says when it is ready"))
}

/// Starts web-push-testing, which is push service and browser in one.
pub fn push_service() -> Client {
    static RUNNING: OnceLock<(Child, Value)> = OnceLock::new();
    let (_, port) = RUNNING.get_or_init(|| {
        let folder = variable("LEGWORK_TEST_WEB_PUSH");
        start("LEGWORK_TEST_NODE", "serve_web_push.js", &[folder])
    });
    let port = port.as_u64().unwrap() as u16;
    Client::new(([127, 0, 0, 1], port).into(), None)
}

/// The mail server of `serve_smtp.py`, which says what it has.
pub struct MailServer(&'static Value);

pub fn mail_server() -> MailServer {
    static RUNNING: OnceLock<(Child, Value)> = OnceLock::new();
    let running = RUNNING.get_or_init(|| start("LEGWORK_TEST_AIOSMTPD", "serve_smtp.py", &[]));
    MailServer(&running.1)
}

impl MailServer {
    pub fn port(&self, door: &str) -> u64 {
        self.0[door].as_u64().unwrap()
    }

    fn folder(&self) -> &str {
        self.0["folder"].as_str().unwrap()
    }

    /// As part of a URL: trust the authority behind its certificate.
    pub fn trust(&self) -> String {
        format!("sslrootcert={}/ca.pem", self.folder())
    }

    /// The mails that it has taken for this address, oldest first.
    pub fn mails(&self, recipient: &str) -> Vec<Value> {
        let lines = std::fs::read_to_string(format!("{}/{recipient}", self.folder()));
        let lines = lines.unwrap_or_default();
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The only mail that it has taken for this address.
    #[track_caller]
    pub fn mail(&self, recipient: &str) -> Value {
        let mails = self.mails(recipient);
        assert_eq!(mails.len(), 1, "{mails:?}");
        mails[0].clone()
    }
}

/// What this header of a mail says. It is there once.
#[track_caller]
pub fn header<'a>(mail: &'a Value, name: &str) -> &'a str {
    let headers = mail["headers"].as_array().unwrap();
    let mut named = headers.iter().filter(|header| header[0] == name);
    let value = named.next().unwrap_or_else(|| panic!("no {name}: {mail}"));
    assert!(named.next().is_none(), "{name} twice: {mail}");
    value[1].as_str().unwrap()
}
