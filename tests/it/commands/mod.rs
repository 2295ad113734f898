//! The commands for users of the API, run as they are, against a server on a real socket.

mod demo;
mod listening;
mod owner;
mod profiles;
mod proofs;
mod screens;
mod tasks;

use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Command, TestApp};

/// Somebody with a terminal of their own: nothing of the tester's profiles leaks in.
pub struct User {
    home: TempDir,
    server: String,
}

impl User {
    pub fn of(app: &TestApp) -> Self {
        Self::at(format!("http://{}", app.address))
    }

    pub fn at(server: String) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { home, server }
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let home = self.home.path().to_str().unwrap();
        let mut command = Command::new(arguments).env("XDG_CONFIG_HOME", home);
        command.0.stdin(std::process::Stdio::null());
        command
    }

    /// Runs a command while the server of the test goes on.
    pub async fn run(&self, arguments: &[&str]) -> Output {
        let command = self.command(arguments);
        tokio::task::spawn_blocking(|| command.output())
            .await
            .unwrap()
    }

    /// The JSON that a command prints, which must succeed.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments).await;
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {problem}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The exit code and the one line that a command says, which must fail and print nothing else.
    pub async fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments).await;
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.stdout.is_empty(), "{arguments:?}");
        (output.status.code().unwrap(), said)
    }

    pub async fn log_in(&self, key: &str) {
        let output = self
            .run(&["login", "--server", &self.server, "--key", key])
            .await;
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{problem}");
    }
}
