//! The command-line options.

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;

pub const HELP: &str = "\
Measures Legwork against the most that its database and its HTTP stack can do.

Usage: [scripts/with-postgres] cargo run --release -p bench -- [OPTIONS]

  --quick          Small counts and short measurements, to see that it works
  --seconds N      Length of each measurement [default: 10]
  --tasks N        Tasks of the large account, posted tasks, and waiting deliveries
                   [default: 1000000]
  --only NAME      Only this engine (sqlite, postgres) or figure (create, get, life, list,
                   start, grow, memory, find, deliver, upload, hostile); repeatable
  --json FILE      Also write the figures to a file
  --server FILE    Measure this binary [default: build legwork and use it]
";

const ENGINES: &[&str] = &["sqlite", "postgres"];
const FIGURES: &[&str] = &[
    "create", "get", "life", "list", "start", "grow", "memory", "find", "deliver", "upload",
    "hostile",
];

#[derive(Debug)]
pub struct Options {
    pub quick: bool,
    seconds: f64,
    /// Tasks of the large account. As many are posted for workers to find, and as many deliveries
    /// wait.
    pub tasks: i64,
    only: Vec<String>,
    pub json: Option<PathBuf>,
    pub server: Option<PathBuf>,
}

/// A figure and its limit are measured in turns, so that a temporary slowdown affects both.
pub const ROUNDS: u32 = 5;
pub const CONNECTIONS: usize = 64;
pub const ACCOUNTS: usize = 50;
/// Tasks of the small account, for comparison.
pub const FEW_TASKS: i64 = 1_000;

impl Options {
    /// `None` if help was requested.
    pub fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let mut options = Self {
            quick: false,
            seconds: 10.0,
            tasks: 1_000_000,
            only: Vec::new(),
            json: None,
            server: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--quick" => {
                    options.quick = true;
                    options.seconds = 2.0;
                    options.tasks = 20_000;
                }
                "--seconds" => options.seconds = value()?.parse()?,
                "--tasks" => options.tasks = value()?.parse()?,
                "--only" => options.only.push(known(value()?)?),
                "--json" => options.json = Some(value()?.into()),
                "--server" => options.server = Some(value()?.into()),
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("{word} is not an option; see --help").into()),
            }
        }
        if options.tasks < FEW_TASKS || options.seconds < 0.3 {
            return Err("too little to measure".into());
        }
        Ok(Some(options))
    }

    pub fn round(&self) -> Duration {
        Duration::from_secs_f64(self.seconds / f64::from(ROUNDS))
    }

    /// Whether an engine or a figure is selected. If none of its kind is named, all are.
    pub fn wants(&self, name: &str) -> bool {
        let kind = if ENGINES.contains(&name) {
            ENGINES
        } else {
            FIGURES
        };
        let mut named = self
            .only
            .iter()
            .filter(|only| kind.contains(&only.as_str()));
        let all = !self.only.iter().any(|only| kind.contains(&only.as_str()));
        all || named.any(|only| only == name)
    }

    pub fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }
}

fn known(name: String) -> Result<String> {
    if ENGINES.contains(&name.as_str()) || FIGURES.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(format!("--only {name}: not one of {ENGINES:?} or {FIGURES:?}").into())
}
