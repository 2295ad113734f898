//! Cost against size: the same statements on databases of a thousand, tens of thousands, a million and
//! (long form) ten million tasks.

mod databases;
mod probes;
mod seed;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use legwork::ambient::Clock;
use legwork::domain::{Owner, Status};
use legwork::maintenance::advance_ranges;
use legwork::store::Store;

use crate::Result;
use crate::report::plot::{Axis, Line, Lines};
use crate::test_bed::postgres::Cluster;
use databases::{Cost, Filled, middle};
use probes::{Group, PROBES};

pub const COMMAND: &str = "growth";

pub const HELP: &str = "\
Measures what each statement costs on databases of different sizes.

Usage: [scripts/with-postgres] cargo run --release -p bench -- growth [OPTIONS]

  --sizes N,N,...  Tasks in each database [default: 1000,30000,1000000]
  --long           Ten million tasks too
  --only ENGINE    sqlite or postgres
  --out FOLDER     Where to write tables and charts [default: bench/results]
";

struct Options {
    sizes: Vec<i64>,
    only: Option<String>,
    out: PathBuf,
}

impl Options {
    /// `None` if help was requested.
    fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let mut options = Self {
            sizes: vec![1_000, 30_000, 1_000_000],
            only: None,
            out: PathBuf::from("bench/results"),
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--sizes" => {
                    let sizes = value()?;
                    let sizes = sizes.split(',').map(str::parse);
                    options.sizes = sizes.collect::<std::result::Result<_, _>>()?;
                }
                "--long" => options.sizes.push(10_000_000),
                "--only" => options.only = Some(value()?),
                "--out" => options.out = value()?.into(),
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("{word} is not an option; see growth --help").into()),
            }
        }
        if options.sizes.len() < 2 {
            return Err("two sizes at least".into());
        }
        Ok(Some(options))
    }

    fn wants(&self, engine: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == engine)
    }
}

/// A row of the table: the costs by size.
struct Measured {
    group: Group,
    name: String,
    costs: Vec<Cost>,
}

pub fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let Some(options) = Options::read(words)? else {
        print!("{HELP}");
        return Ok(());
    };
    std::fs::create_dir_all(&options.out)?;
    if options.wants("sqlite") {
        measure(&options, "SQLite", "steps", Filled::sqlite)?;
    }
    if options.wants("postgres") {
        let Ok(url) = std::env::var("LEGWORK_TEST_POSTGRES_URL") else {
            return Err("LEGWORK_TEST_POSTGRES_URL is not set: run scripts/with-postgres".into());
        };
        let cluster = Cluster::new(&url)?;
        let fill = |tasks, now| Filled::postgres(&cluster, tasks, now);
        measure(&options, "PostgreSQL", "blocks", fill)?;
    }
    Ok(())
}

fn measure(
    options: &Options,
    engine: &str,
    unit: &str,
    fill: impl Fn(i64, i64) -> Result<Filled>,
) -> Result<()> {
    let now = Clock::system().now().as_millis();
    let mut measured: Vec<Measured> = Vec::new();
    for (place, tasks) in options.sizes.iter().enumerate() {
        eprintln!("bench: {engine}: filling in {tasks} tasks");
        let database = fill(*tasks, now)?;
        let deep = deep_page(&database)?;
        database.settle()?;
        for (number, probe) in PROBES.iter().enumerate() {
            let cost = database
                .cost(probe, now)
                .map_err(|error| format!("{}: {error}", probe.name))?;
            if place == 0 {
                measured.push(Measured {
                    group: probe.group,
                    name: probe.name.to_owned(),
                    costs: Vec::new(),
                });
            }
            measured[number].costs.push(cost);
        }
        if place == 0 {
            measured.push(Measured {
                group: Group::Developers,
                name: "GET /v1/tasks?status=completed at nine tenths (µs)".to_owned(),
                costs: Vec::new(),
            });
        }
        if let Some(last) = measured.last_mut() {
            last.costs.push(deep);
        }
    }
    write(options, engine, unit, &measured)
}

/// A page at nine tenths of the largest list, by the code of the server. It takes several statements, so
/// it is measured in time alone.
fn deep_page(database: &Filled) -> Result<Cost> {
    const RUNS: usize = 51;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let store = database.store()?;
    runtime.block_on(async {
        let mut after = None;
        loop {
            after = advance_ranges(&store, after).await?;
            if after.is_none() {
                break;
            }
        }
        let owner = largest(&store).await?;
        let page = |offset| {
            let page = move |tx: &mut legwork::store::Tx<'_>| {
                tx.tasks_of(owner, Some(Status::Completed), 20, offset)
            };
            store.snapshot(page)
        };
        let total = page(0).await?.total;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let begun = Instant::now();
            let found = page(total * 9 / 10).await?;
            times.push(begun.elapsed().as_secs_f64() * 1e6);
            if found.tasks.is_empty() {
                return Err("a deep page is empty".into());
            }
        }
        let microseconds = middle(times);
        Ok::<_, Box<dyn std::error::Error>>(Cost {
            units: microseconds,
            microseconds,
        })
    })
}

async fn largest(store: &Store) -> Result<Owner> {
    let accounts = store
        .snapshot(|tx| tx.developer_balances_after(None, 1))
        .await?;
    let first = accounts.first().ok_or("no account")?;
    Ok(first.owner)
}

fn write(options: &Options, engine: &str, unit: &str, measured: &[Measured]) -> Result<()> {
    let file = engine.to_lowercase();
    let mut text = format!(
        "# Cost against size: {engine}\n\nIn {unit} (and microseconds in the database). \
         Made by `bench -- growth`.\n\n| Statement |"
    );
    for tasks in &options.sizes {
        let _ = write!(text, " {tasks} tasks |");
    }
    text.push_str(" last / last but one |\n|---|");
    text.push_str(&"--:|".repeat(options.sizes.len() + 1));
    text.push('\n');
    for group in Group::ALL {
        let _ = writeln!(
            text,
            "| **{}** |{}",
            group.name(),
            " |".repeat(options.sizes.len() + 1)
        );
        for row in measured.iter().filter(|row| row.group == *group) {
            let _ = write!(text, "| {} |", row.name);
            for cost in &row.costs {
                let _ = write!(text, " {:.0} ({:.0}) |", cost.units, cost.microseconds);
            }
            let _ = writeln!(text, " {:.2} |", growth(row));
        }
        chart(options, engine, unit, *group, measured)?;
    }
    let path = options.out.join(format!("growth-{file}.md"));
    save(&path, &text)?;
    print!("{text}");
    Ok(())
}

/// How much dearer it is in the largest database than in the one before.
fn growth(row: &Measured) -> f64 {
    match row.costs.as_slice() {
        [.., before, last] => last.units / before.units.max(1.0),
        _ => 1.0,
    }
}

fn chart(
    options: &Options,
    engine: &str,
    unit: &str,
    group: Group,
    measured: &[Measured],
) -> Result<()> {
    let lines = measured.iter().filter(|row| row.group == group).map(|row| {
        let points = options.sizes.iter().zip(&row.costs);
        Line {
            label: row.name.clone(),
            points: points
                .map(|(tasks, cost)| (*tasks as f64, cost.units.max(1.0)))
                .collect(),
        }
    });
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        logarithmic: true,
    };
    let chart = Lines {
        title: format!("{engine}: {}", group.name()),
        x: axis("tasks"),
        y: axis(unit),
        lines: lines.collect(),
    };
    let name = format!("growth-{}-{}.svg", engine.to_lowercase(), group.name());
    save(&options.out.join(name), &chart.svg())
}

fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}
