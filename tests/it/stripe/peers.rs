//! The two programs that stand for Stripe: localstripe, which behaves like it, and a checker that
//! knows its documentation. Each is started once for all tests, and ends when they do: its standard
//! input closes then.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use serde_json::Value;

use crate::support::Client;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run ./test, or scripts/with-stripe-peers cargo test")
    })
}

fn start(script: &str, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");
    let mut child = Command::new(variable("LEGWORK_TEST_PYTHON"))
        .arg(format!("{folder}/{script}"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    let read = output.read_line(&mut line).unwrap();
    assert!(read > 0, "the peer has ended");
    line
}

/// localstripe, as somebody with this key reaches it.
pub fn localstripe(key: &str) -> Client {
    static RUNNING: OnceLock<(u16, Child)> = OnceLock::new();
    let (port, _) = RUNNING.get_or_init(|| {
        let (child, mut output) = start("serve_localstripe.py", &[]);
        (line(&mut output).trim().parse().unwrap(), child)
    });
    Client::new(([127, 0, 0, 1], *port).into(), Some(key))
}

struct Checker {
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _child: Child,
}

/// What Stripe's documentation finds wrong with this; `tests/peers/check_stripe.py` says what it
/// may be.
pub fn faults(question: &Value) -> Vec<String> {
    static RUNNING: OnceLock<Mutex<Checker>> = OnceLock::new();
    let checker = RUNNING.get_or_init(|| {
        let document = variable("LEGWORK_TEST_STRIPE_OPENAPI");
        let (mut child, answers) = start("check_stripe.py", &[&document]);
        Mutex::new(Checker {
            questions: child.stdin.take().unwrap(),
            answers,
            _child: child,
        })
    });
    let mut checker = checker.lock().unwrap();
    writeln!(checker.questions, "{question}").unwrap();
    serde_json::from_str(&line(&mut checker.answers)).unwrap()
}
