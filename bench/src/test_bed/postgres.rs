//! A PostgreSQL server, accessed with its own tools.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::Result;
use crate::test_bed::server;

#[derive(Clone)]
pub struct Cluster {
    url: String,
    tools: PathBuf,
}

/// A database for this run, which is dropped with this value.
pub struct Database {
    pub cluster: Cluster,
    pub name: String,
    pub url: String,
}

impl Cluster {
    pub fn new(url: &str) -> Result<Self> {
        Ok(Self {
            url: url.to_owned(),
            tools: tools()?,
        })
    }

    pub fn new_database(&self, purpose: &str) -> Result<Database> {
        self.create(purpose, "")
    }

    /// A copy of a database that has no connections.
    pub fn copy_of(&self, original: &Database, purpose: &str) -> Result<Database> {
        self.create(purpose, &format!(" TEMPLATE {}", original.name))
    }

    fn create(&self, purpose: &str, template: &str) -> Result<Database> {
        let name = format!("legwork_bench_{}_{purpose}", std::process::id());
        self.run(&self.url, &format!("CREATE DATABASE {name}{template}"))?;
        Ok(Database {
            cluster: self.clone(),
            url: with_database(&self.url, &name),
            name,
        })
    }

    pub fn tool(&self, name: &str) -> Command {
        Command::new(self.tools.join(name))
    }

    fn run(&self, url: &str, sql: &str) -> Result<String> {
        answer(&self.psql(url, sql).output()?)
    }

    fn psql(&self, url: &str, sql: &str) -> Command {
        let mut command = self.tool("psql");
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"])
            .args(["-d", url, "-c", sql]);
        command
    }
}

fn answer(output: &Output) -> Result<String> {
    if !output.status.success() {
        return Err(format!("psql: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(str::from_utf8(&output.stdout)?.trim_end().to_owned())
}

impl Database {
    /// Runs one statement. Returns its rows as lines, with columns separated by `
    /// `.
    pub fn run(&self, sql: &str) -> Result<String> {
        self.cluster.run(&self.url, sql)
    }

    /// The processor time of all processes of the server so far. `None` if it is on another machine.
    pub fn processor_time(&self) -> Result<Option<Duration>> {
        let child =
            self.run("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")?;
        let Ok(child) = child.parse() else {
            return Ok(None);
        };
        Ok(server::family_time(child).ok())
    }

    /// Runs a `COPY FROM STDIN` with these lines.
    pub fn copy_in(&self, sql: &str, lines: impl Iterator<Item = String>) -> Result<()> {
        let mut psql = self
            .cluster
            .psql(&self.url, sql)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = BufWriter::new(psql.stdin.take().ok_or("no standard input")?);
        // If psql ends early, its output explains more than the broken pipe.
        let written = { lines }.try_for_each(|line| stdin.write_all(line.as_bytes()));
        let written = written.and_then(|()| stdin.flush());
        drop(stdin);
        answer(&psql.wait_with_output()?)?;
        Ok(written?)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let dropping = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        if let Err(error) = self.cluster.run(&self.cluster.url, &dropping) {
            eprintln!("bench: {error}");
        }
    }
}

/// `postgres://user@host/this?option=value` with another database for `this`.
fn with_database(url: &str, name: &str) -> String {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let host_starts = place.find("://").map_or(0, |at| at + 3);
    let place = match place[host_starts..].rfind('/') {
        Some(at) => &place[..host_starts + at],
        None => place,
    };
    let mark = if options.is_empty() { "" } else { "?" };
    format!("{place}/{name}{mark}{options}")
}

/// Debian installs pgbench beside the server, not on the path.
fn tools() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut folders: Vec<_> = versions.flatten().map(|v| v.path().join("bin")).collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    let complete = |folder: &PathBuf| ["psql", "pgbench"].iter().all(|t| folder.join(t).exists());
    let found = folders.into_iter().rev().find(complete);
    found.ok_or_else(|| "psql or pgbench not found: install PostgreSQL".into())
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn only_the_database_of_a_url_changes() {
        for (url, changed) in [
            (
                "postgres://me@%2Ftmp%2Fx/postgres",
                "postgres://me@%2Ftmp%2Fx/b",
            ),
            (
                "postgres://h:1/a?sslmode=require",
                "postgres://h:1/b?sslmode=require",
            ),
            ("postgres://h", "postgres://h/b"),
        ] {
            assert_eq!(with_database(url, "b"), changed);
        }
    }
}
