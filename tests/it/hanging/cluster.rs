//! PostgreSQL servers that a test may freeze, kill and promote.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio_postgres::NoTls;

use crate::support::free_port;

pub struct Postgres {
    folder: tempfile::TempDir,
    port: u16,
    server: Child,
}

impl Postgres {
    pub fn primary() -> Self {
        let folder = folder();
        let data = folder.path().join("data");
        let made = program("initdb")
            .arg("-D")
            .arg(&data)
            .args(["-U", "legwork", "-A", "trust", "--no-sync", "-E", "UTF8"])
            .args(["--locale=C"])
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        Self::start(folder)
    }

    /// Each commit of the primary waits for it.
    pub async fn standby(&self) -> Self {
        let folder = folder();
        let data = folder.path().join("data");
        let copied = program("pg_basebackup")
            .args(["-R", "--no-sync", "-c", "fast", "-d", &self.url(), "-D"])
            .arg(&data)
            .status();
        assert!(copied.unwrap().success());
        let standby = Self::start(folder);
        let settings = "ALTER SYSTEM SET synchronous_standby_names = '*'";
        self.ask(settings).await;
        self.ask("SELECT pg_reload_conf()").await;
        let attached = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        crate::support::eventually("the standby is attached", async || {
            self.ask(attached).await == "1"
        })
        .await;
        standby
    }

    fn start(folder: tempfile::TempDir) -> Self {
        let port = free_port();
        let data = folder.path().join("data");
        let server = program("postgres")
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", "max_connections=40", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Self {
            folder,
            port,
            server,
        };
        started.wait_until_ready();
        started
    }

    fn wait_until_ready(&self) {
        let begun = Instant::now();
        let ready = || {
            let asked = program("pg_isready")
                .args(["-q", "-d", "postgres", "-h"])
                .arg(self.folder.path())
                .args(["-p", &self.port.to_string()])
                .status();
            asked.unwrap().success()
        };
        while !ready() {
            assert!(begun.elapsed() < super::NEVER, "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `host:port`
    pub fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn url(&self) -> String {
        format!("postgres://legwork@{}/postgres", self.place())
    }

    /// With another server, which may take its place.
    pub fn url_with(&self, other: &Self) -> String {
        let (first, second) = (self.place(), other.place());
        format!("postgres://legwork@{first},{second}/postgres")
    }

    /// The first value of the first row.
    pub async fn ask(&self, sql: &str) -> String {
        ask(&self.url(), sql).await
    }

    /// Stops every process, as a machine that hangs does.
    pub fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }

    fn signal_all(&self, signal: Signal) {
        // The first process first: it makes no others then.
        let first = self.server.id();
        let mut all = vec![first];
        all.extend(children(first));
        for process in all {
            let process = Pid::from_raw(process as i32).unwrap();
            // A connection may have ended since.
            let _ = kill_process(process, signal);
        }
    }

    pub fn promote(&self) {
        let promoted = program("pg_ctl")
            .args(["promote", "-w", "-D"])
            .arg(self.folder.path().join("data"))
            .stdout(Stdio::null())
            .status();
        assert!(promoted.unwrap().success());
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.thaw();
        let first = Pid::from_raw(self.server.id() as i32).unwrap();
        let _ = kill_process(first, Signal::QUIT);
        let _ = self.server.wait();
    }
}

/// The first value of the first row; nothing if there is none.
pub async fn ask(url: &str, sql: &str) -> String {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let messages = client.simple_query(sql).await.unwrap();
    let mut rows = messages.iter().filter_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    rows.next().unwrap_or_default().to_owned()
}

/// Every process that this one has started.
fn children(of: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let ids = processes.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        // After the name, which is in parentheses: the state, and who started it.
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(&of.to_string())
    })
    .collect()
}

/// PostgreSQL does not run as root.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        let (user, group) = (number("-u"), number("-g"));
        std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).unwrap();
    }
    folder
}

fn number(of: &str) -> u32 {
    let output = Command::new("id").args([of, "postgres"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().expect("the user postgres")
}

fn program(name: &str) -> Command {
    let program = newest().join(name);
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(program)
        .current_dir("/");
    command
}

/// The programs of Debian's package.
fn newest() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.expect("PostgreSQL is not installed: run ./test");
    let number = |folder: &Path| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions
        .map(|entry| entry.unwrap().path())
        .max_by_key(|folder| number(folder));
    newest.unwrap().join("bin")
}
