//! The server of the demo: this program again, with a folder that is removed in the end.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cli::remote::failure::Failed;

pub struct House {
    folder: PathBuf,
    address: String,
    server: Option<Child>,
}

impl House {
    /// A free port, and an empty folder that nobody else can read. What can fail comes first: nothing removes a folder
    /// before there is a house.
    pub fn build(port: u16) -> Result<Self, Failed> {
        let free = std::net::TcpListener::bind(("127.0.0.1", port))
            .map_err(|error| Failed::usage(format!("port {port}: {error}")))?;
        let address = free.local_addr()?.to_string();
        let name = format!("legwork-demo-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        Ok(Self {
            folder,
            address,
            server: None,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Nothing of the user's settings leaks in.
    fn program(&self, arguments: &[&str]) -> Result<Command, Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        let ours = std::env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| name.to_string_lossy().starts_with("LEGWORK_"));
        for name in ours {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("LEGWORK_DATA", self.folder.join("data"))
            .env("LEGWORK_LISTEN", &self.address)
            .env("LEGWORK_RATE_LIMITS", "off")
            .env("LEGWORK_LOG", "error")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Runs a command of the operator, and returns what it prints.
    pub fn run(&self, arguments: &[&str]) -> Result<String, Failed> {
        let output = self.program(arguments)?.output()?;
        let (said, problem) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        match output.status.success() {
            true => Ok(said),
            false => Err(Failed::Refused(
                format!("{} {}", said.trim(), problem.trim())
                    .trim()
                    .to_owned(),
            )),
        }
    }

    pub fn run_json(&self, arguments: &[&str]) -> Result<Value, Failed> {
        let told = self.run(arguments)?;
        serde_json::from_str(&told).map_err(|error| Failed::Refused(error.to_string()))
    }

    /// Starts the server, and returns once it listens.
    pub fn open(&mut self) -> Result<(), Failed> {
        let mut server = self
            .program(&["serve"])?
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = server.stdout.take();
        self.server = Some(server);
        let mut lines = BufReader::new(output.ok_or_else(|| Failed::usage("no output"))?).lines();
        while let Some(Ok(line)) = lines.next() {
            if line.contains("listens on") {
                // What it prints later is read, so that it never waits.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(());
            }
        }
        Err(Failed::Refused(
            "the server of the demo did not start".to_owned(),
        ))
    }

    /// Stops the server as an operator would, and checks that every cent is accounted for.
    pub fn close(&mut self) -> Result<String, Failed> {
        if let Some(mut server) = self.server.take() {
            let _ = kill_process(Pid::from_child(&server), Signal::TERM);
            server.wait()?;
        }
        self.run(&["ledger", "verify"])
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
