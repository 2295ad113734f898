//! `legwork demo`, from the first line to the empty folder.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Stdio};

use super::User;
use crate::support::{Client, eventually, key_in, runtime};

/// A demo that is ended even if the test fails: it then ends its server.
struct Demo {
    child: Child,
    output: BufReader<ChildStdout>,
    said: String,
}

impl Demo {
    /// Returns once it has said everything that somebody needs.
    fn start(user: &User, arguments: &[&str], folder: &str) -> Self {
        let mut command = user.command(arguments).env("TMPDIR", folder);
        let command = command.0.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut demo = Self {
            child,
            output,
            said: String::new(),
        };
        while !demo.said.contains("Ctrl-C ends it") {
            let read = demo.output.read_line(&mut demo.said).unwrap();
            assert!(read > 0, "it ended: {}", demo.said);
        }
        demo
    }

    fn line(&self, name: &str) -> &str {
        let mut lines = self.said.lines().map(str::trim_start);
        let found = lines.find_map(|line| line.strip_prefix(name));
        found
            .unwrap_or_else(|| panic!("{name}: {}", self.said))
            .trim()
    }

    /// As Ctrl-C does. What it said, and its progress.
    fn end(mut self) -> (String, String) {
        self.signal();
        self.output.read_to_string(&mut self.said).unwrap();
        let mut progress = String::new();
        let errors = self.child.stderr.as_mut().unwrap();
        errors.read_to_string(&mut progress).unwrap();
        assert!(self.child.wait().unwrap().success(), "{progress}");
        (std::mem::take(&mut self.said), progress)
    }

    fn signal(&self) {
        let pid = self.child.id().to_string();
        let kill = std::process::Command::new("kill").arg(pid).status();
        assert!(kill.unwrap().success());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal();
            let _ = self.child.wait();
        }
    }
}

#[test]
fn a_town_lives_and_leaves_nothing_behind() {
    let user = User::at(String::new());
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_str().unwrap();
    let demo = Demo::start(&user, &["demo", "--seed", "7", "--speed", "6000"], folder);
    assert!(
        demo.said.contains("40 workers and 60 tasks of history"),
        "{}",
        demo.said
    );
    let (test, live) = (
        key_in(&demo.said, "svc_test_"),
        key_in(&demo.said, "svc_live_"),
    );
    // A browser keeps our cookies for this name, and not for an address.
    let port = demo.line("Dashboard").strip_prefix("http://localhost:");
    let (port, path) = port.unwrap().split_once('/').unwrap();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let agents = format!("legwork mcp --server http://{address} --key {test}");
    assert_eq!(demo.line("Agents"), agents);
    runtime().block_on(async {
        let owner = Client::new(address, Some(&live));
        let invited = owner.get(&format!("/{path}")).await;
        assert!(invited.status == 200 && invited.text.contains("password"));
        // People take tasks that came after the history, and do them.
        eventually("somebody works", || async {
            let tasks = owner.get("/v1/tasks?limit=100").await.expect(200);
            let tasks = tasks["data"].as_array().unwrap().clone();
            let new = tasks.iter().rev().skip(60);
            let mut done = new.filter(|task| task["status"] == "completed");
            done.next().is_some()
        })
        .await;
    });
    let (said, progress) = demo.end();
    assert!(progress.contains("40 people sign up"), "{progress}");
    assert!(said.contains("The ledger is correct."), "{said}");
    assert!(said.contains("is removed."), "{said}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn a_port_that_is_taken_leaves_nothing_behind() {
    let user = User::at(String::new());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_str().unwrap();
    let command = user.command(&["demo", "--port", &port]);
    let said = command.env("TMPDIR", folder).fail();
    assert!(said.contains(&format!("port {port}")), "{said}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

/// As with `legwork demo | head`.
#[test]
fn a_reader_that_has_gone_leaves_nothing_behind() {
    let user = User::at(String::new());
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_str().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let command = user.command(&["demo", "--for", "1"]);
    let mut command = command.env("TMPDIR", folder);
    command.0.stdout(writer.try_clone().unwrap()).stderr(writer);
    assert!(command.0.status().unwrap().success());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}
