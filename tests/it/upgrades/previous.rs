//! The previous version of the program, built from its commit.

use std::path::{Path, PathBuf};

use crate::support::{Command, Database, Server};

/// The last commit of the version before this one. After a release: that of the release.
const COMMIT: &str = "b62be6000709574d505aaa1f56d1678b501568fb";

pub struct Previous(PathBuf);

impl Previous {
    /// `LEGWORK_TEST_PREVIOUS` names one that is built already. Otherwise it is built once, under
    /// `target/`.
    pub fn build() -> Self {
        if let Ok(program) = std::env::var("LEGWORK_TEST_PREVIOUS") {
            return Self(program.into());
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let tree = root.join("target/previous").join(COMMIT);
        if !tree.join("Cargo.toml").exists() {
            let tree = tree.to_str().unwrap();
            // What is left of a tree that somebody deleted.
            run(root, "git", &["worktree", "prune"]);
            run(root, "git", &["worktree", "add", "--detach", tree, COMMIT]);
        }
        run(&tree, "cargo", &["build", "--quiet", "--bin", "legwork"]);
        Self(tree.join("target/debug/legwork"))
    }

    pub fn command(&self, arguments: &[&str], database: &Database) -> Command {
        let mut command = std::process::Command::new(&self.0);
        command.args(arguments);
        for (variable, _) in std::env::vars() {
            if variable.starts_with("LEGWORK_") {
                command.env_remove(variable);
            }
        }
        Command(command).on(database)
    }

    pub fn serve(&self, database: &Database) -> Server {
        let arguments = ["--listen", "127.0.0.1:0", "--log", "warn"];
        Server::spawn(self.command(&arguments, database))
    }
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let done = std::process::Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status();
    assert!(done.unwrap().success(), "{program} {arguments:?}");
}
