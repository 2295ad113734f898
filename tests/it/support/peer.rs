//! The programs of `tests/peers/`. Each is started once for all tests and ends when they do: its
//! standard input closes then.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

pub struct Peer {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _child: Child,
}

impl Peer {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            _child: child,
        }
    }

    /// The next line that it prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).unwrap();
        assert!(read > 0, "the peer has ended");
        line
    }

    /// Many print where they listen once they do.
    pub fn port(&mut self) -> u16 {
        self.line().trim().parse().expect("the port of the peer")
    }

    /// Others answer each line with a line.
    pub fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.input, "{question}").unwrap();
        serde_json::from_str(&self.line()).unwrap()
    }
}

/// A program that does not mind its standard input: a shell ends it when that closes. What it prints
/// goes to a file.
pub fn ended_by_shell(program: &str, arguments: &[&str], log: &Path) -> Command {
    let script = "log=$1; shift; \"$@\" >>\"$log\" 2>&1 </dev/null & child=$!
        read -r _; kill -KILL $child; wait $child 2>/dev/null";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(log);
    command.arg(program).args(arguments);
    command
}

/// What `scripts/with-peers` found or installed.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run ./test, or scripts/with-peers cargo test")
    })
}

/// A file of `tests/peers/`.
pub fn script(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");
    Path::new(folder).join(name)
}

/// A script of `tests/peers/`, run by Python. It leaves no compiled files in the source tree.
pub fn python(name: &str) -> Command {
    let mut command = Command::new(variable("LEGWORK_TEST_PYTHON"));
    command.arg("-B").arg(script(name));
    command
}

/// A script of `tests/peers/`, run by Node.js.
pub fn node(name: &str) -> Command {
    let mut command = Command::new(variable("LEGWORK_TEST_NODE"));
    command.arg(script(name));
    command
}

/// The npm packages.
pub fn node_modules() -> PathBuf {
    PathBuf::from(variable("LEGWORK_TEST_NODE_MODULES"))
}
