//! The command-line options.

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;

pub const HELP: &str = "\
Measures Legwork against the most that its database and its HTTP stack can do.

Usage: [scripts/with-postgres] cargo run --release -p bench -- [OPTIONS]

  --quick          The figures of the first table only, short and on a small database: three minutes
  --seconds N      Length of each measurement [default: 10]
  --tasks N        Tasks of the large account, posted tasks, and waiting deliveries
                   [default: 1000000]
  --only NAME      Only this engine (sqlite, postgres) or figure (create, get, delivered, life, start,
                   memory, cost, mandate, logs, list, pages, grow, find, deliver, upload,
                   mixed, hostile); repeatable
  --output FOLDER  Also write the page there: page.md, page.json and a chart of each kind of figure
  --json FILE      Also write the figures to a file
  --server FILE    Measure this binary [default: build legwork and use it]
";

const ENGINES: &[&str] = &["sqlite", "postgres"];

/// A figure that can be asked for, and whether it is part of a quick run.
pub type Known = (&'static str, bool);

#[derive(Debug)]
pub struct Options {
    pub quick: bool,
    pub seconds: f64,
    /// Tasks of the large account. As many are posted for workers to find, and as many deliveries
    /// wait.
    pub tasks: i64,
    only: Vec<String>,
    figures: Vec<Known>,
    pub json: Option<PathBuf>,
    pub output: Option<PathBuf>,
    pub server: Option<PathBuf>,
}

/// A figure and its limit are measured in turns, so that a temporary slowdown affects both.
pub const ROUNDS: u32 = 5;
const QUICK_ROUNDS: u32 = 3;
pub const CONNECTIONS: usize = 64;
pub const ACCOUNTS: usize = 20;
/// Tasks of the small account, for comparison.
pub const FEW_TASKS: i64 = 1_000;

impl Options {
    /// `None` if help was requested.
    pub fn read(
        mut words: impl Iterator<Item = String>,
        figures: Vec<Known>,
    ) -> Result<Option<Self>> {
        let mut options = Self {
            quick: false,
            seconds: 10.0,
            tasks: 1_000_000,
            only: Vec::new(),
            figures,
            json: None,
            output: None,
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
                "--only" => {
                    let name = options.known(value()?)?;
                    options.only.push(name);
                }
                "--json" => options.json = Some(value()?.into()),
                "--output" => options.output = Some(value()?.into()),
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

    pub fn rounds(&self) -> u32 {
        if self.quick { QUICK_ROUNDS } else { ROUNDS }
    }

    pub fn round(&self) -> Duration {
        Duration::from_secs_f64(self.seconds / f64::from(self.rounds()))
    }

    /// Whether an engine or a figure is selected. If no engine is named, all are. If no figure is
    /// named, all are, or those of a quick run.
    pub fn wants(&self, name: &str) -> bool {
        let engine = ENGINES.contains(&name);
        let mut of_its_kind = self
            .only
            .iter()
            .filter(|only| ENGINES.contains(&only.as_str()) == engine)
            .peekable();
        if of_its_kind.peek().is_some() {
            return of_its_kind.any(|only| only == name);
        }
        engine || !self.quick || self.figures.contains(&(name, true))
    }

    pub fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    fn known(&self, name: String) -> Result<String> {
        let mut all = ENGINES
            .iter()
            .chain(self.figures.iter().map(|(name, _)| name));
        if all.any(|known| *known == name) {
            return Ok(name);
        }
        let figures: Vec<_> = self.figures.iter().map(|(name, _)| name).collect();
        Err(format!("--only {name}: not one of {ENGINES:?} or {figures:?}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Options> {
        let words = words.split_whitespace().map(str::to_owned);
        let figures = vec![("create", true), ("hostile", false)];
        Ok(Options::read(words, figures)?.unwrap())
    }

    fn wanted(words: &str) -> Vec<&'static str> {
        let options = read(words).unwrap();
        let names = ["sqlite", "postgres", "create", "hostile"].into_iter();
        names.filter(|name| options.wants(name)).collect()
    }

    #[test]
    fn what_is_named_is_measured_and_otherwise_all_or_what_is_quick() {
        assert_eq!(wanted(""), ["sqlite", "postgres", "create", "hostile"]);
        assert_eq!(wanted("--quick"), ["sqlite", "postgres", "create"]);
        assert_eq!(
            wanted("--quick --only hostile --only sqlite"),
            ["sqlite", "hostile"]
        );
        assert_eq!(wanted("--only create"), ["sqlite", "postgres", "create"]);
        assert!(read("--only nothing").is_err());
        assert_eq!(read("--quick").unwrap().rounds(), QUICK_ROUNDS);
    }
}
