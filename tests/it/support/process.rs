//! The real program as a child process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use super::{Client, Database};

pub struct Command(pub std::process::Command);

impl Command {
    /// The program with a clean environment: nothing of the tester's settings leaks in.
    pub fn new(arguments: &[&str]) -> Self {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_legwork"));
        command.args(arguments);
        for (variable, _) in std::env::vars() {
            if variable.starts_with("LEGWORK_") {
                command.env_remove(variable);
            }
        }
        Self(command)
    }

    /// All tests share one PostgreSQL, which may be slow to take a connection.
    pub fn on(mut self, database: &Database) -> Self {
        self.0.arg("--data").arg(database.folder.path());
        if let Some(url) = database.url() {
            let more = if url.contains('?') { '&' } else { '?' };
            let patient = format!("{url}{more}connect_timeout=60");
            self.0.arg("--database-url").arg(patient);
        }
        self
    }

    /// Lets writes beyond a file size limit fail, as on a full disk, instead of ending the process.
    pub fn surviving_file_size_limits(self) -> Self {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
        shell.arg(self.0.get_program()).args(self.0.get_args());
        for (variable, _) in std::env::vars() {
            if variable.starts_with("LEGWORK_") {
                shell.env_remove(variable);
            }
        }
        Self(shell)
    }

    pub fn env(mut self, variable: &str, value: &str) -> Self {
        self.0.env(variable, value);
        self
    }

    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    pub fn output(mut self) -> Output {
        self.0.output().unwrap()
    }

    /// Standard output of a run that must succeed.
    #[track_caller]
    pub fn succeed(self) -> String {
        let output = self.output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a run that must fail.
    #[track_caller]
    pub fn fail(self) -> String {
        let output = self.output();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }
}

/// A running `legwork serve`. Killed when dropped.
pub struct Server {
    pub address: SocketAddr,
    /// What it said while it started.
    pub greeting: String,
    child: Child,
}

impl Server {
    pub fn start(database: &Database) -> Self {
        Self::spawn(Command::new(&["--listen", "127.0.0.1:0", "--log", "warn"]).on(database))
    }

    /// Its log goes where the command says; to the test's own output unless told.
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.0.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        let address = loop {
            let mut line = String::new();
            let read = output.read_line(&mut line).unwrap();
            assert!(read > 0, "the server did not start: {greeting}");
            if let Some(url) = line.strip_prefix("Legwork listens on ") {
                let (_, address) = url.trim().split_once("://").unwrap();
                break address.parse().unwrap();
            }
            greeting.push_str(&line);
        };
        Self {
            address,
            greeting,
            child,
        }
    }

    pub fn client(&self, key: &str) -> Client {
        Client::new(self.address, Some(key))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Nobody reads its log any more, if that goes to a pipe.
    pub fn close_log(&mut self) {
        drop(self.child.stderr.take());
    }

    /// `kill -9`: no chance to finish anything.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and the exit code.
    pub fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The key that a greeting shows.
pub fn key_in(greeting: &str, prefix: &str) -> String {
    let start = greeting.find(prefix).unwrap();
    let key = greeting[start..].chars();
    key.take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect()
}
