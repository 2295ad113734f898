//! The limit of creating tasks on PostgreSQL: the same statements by pgbench. With one task a
//! transaction it has as many clients as the server has connections. With several, all are of one
//! account, as in a group commit, and the clients are few. What the server pipelines, pgbench
//! pipelines too.

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;
use crate::limit::Limit;
use crate::limit::creation::{self, Cell, EVENTS, NUMBER, Own, Step};
use crate::load::Sample;
use crate::options::{ACCOUNTS, CONNECTIONS};
use crate::test_bed::postgres::Database;
use crate::test_bed::{Engine, TestBed};

/// pgbench can generate numbers but no hashes: in its database, the hash of a key is a number
/// starting here.
const FIRST_KEY: i64 = 1_000_000_000_000_000_000;

/// Space for the tasks of one round.
const IDS_OF_A_ROUND: u32 = 100_000_000;

/// In seconds. Not measured: each client prepares its statements.
const WARM_UP: usize = 1;
const SHORTEST: usize = 2;

/// With several tasks a transaction. More would wait for each other's accounts.
const CLIENTS_OF_BATCHES: usize = 8;

pub struct Pgbench {
    /// Tasks in one transaction.
    batch: usize,
    database: Database,
    script: PathBuf,
    /// The values that all tasks share, as `-D name=value`.
    values: Vec<String>,
    rounds: u32,
}

impl Pgbench {
    /// Works on a copy of the server's database, so schema and accounts are the same.
    pub fn new(bed: &mut TestBed, purpose: &str, batch: usize) -> Result<Self> {
        bed.stop()?;
        let Engine::Postgres(original) = &bed.engine else {
            return Err("pgbench needs PostgreSQL".into());
        };
        let database = original.cluster.copy_of(original, purpose)?;
        for (number, account) in bed.accounts.iter().enumerate() {
            let key = FIRST_KEY + number as i64;
            database.run(&format!(
                "UPDATE api_keys SET key_hash = '{key}'
                 WHERE account_id = '{}' AND environment = 'test'",
                account.id
            ))?;
        }
        database.run("VACUUM ANALYZE")?;
        let first = &bed.accounts[0].id;
        let steps = creation::steps(|sql| row(&database, sql, first))?;
        let script = bed.folder.path().join(format!("{purpose}.sql"));
        std::fs::write(&script, script_text(&steps, batch))?;
        let mut values = counted(&database, first)?;
        values.extend(shared(&steps));
        Ok(Self {
            batch,
            database,
            script,
            values,
            rounds: 0,
        })
    }
}

impl Pgbench {
    fn clients(&self) -> usize {
        match self.batch {
            1 => CONNECTIONS,
            _ => CLIENTS_OF_BATCHES,
        }
    }
}

impl Limit for Pgbench {
    fn name(&self) -> String {
        match self.batch {
            1 => format!("pgbench, {CONNECTIONS} clients, one task a transaction"),
            batch => format!(
                "pgbench, {} clients, {batch} tasks a transaction",
                self.clients()
            ),
        }
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        self.rounds += 1;
        let seconds = WARM_UP + SHORTEST.max(length.as_secs_f64().ceil() as usize);
        let output = self
            .database
            .cluster
            .tool("pgbench")
            .args(["-n", "-M", "prepared", "-j", "2", "-P", "1"])
            .args(["-T", &seconds.to_string(), "-f"])
            .arg(&self.script)
            .args(["-c", &self.clients().to_string()])
            .args([
                "-D",
                "i=0",
                "-D",
                &format!("base={}", self.rounds * IDS_OF_A_ROUND),
            ])
            .args(self.values.iter().flat_map(|value| ["-D", value]))
            .arg(&self.database.url)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let failed = text
            .lines()
            .find_map(|line| line.strip_prefix("number of failed transactions: "))
            .is_some_and(|count| !count.starts_with("0 "));
        if failed || !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("pgbench: {errors}{text}").into());
        }
        let progress = String::from_utf8_lossy(&output.stderr);
        let rate = rate_of(&progress).ok_or("pgbench printed no rate")?;
        Ok(Sample::of_rate(rate * self.batch as f64))
    }
}

/// The mean rate of the seconds after the warm-up.
fn rate_of(progress: &str) -> Option<f64> {
    let rates = progress.lines().filter_map(|line| {
        let (_, rate) = line.strip_prefix("progress: ")?.split_once(" s, ")?;
        rate.split_whitespace().next()?.parse::<f64>().ok()
    });
    let rates: Vec<_> = rates.skip(WARM_UP).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// The key's holder (core/src/store/accounts/api_keys.rs), once for each task, then for each the numbers
/// and everything else in one pipeline. Here, a statement whose result is used cannot be pipelined:
/// that is one more round trip than the server needs.
fn script_text(steps: &[Step<Option<String>>], batch: usize) -> String {
    const HOLDER: &str = "SELECT k.id, k.account_id, k.environment, a.tier, a.status
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.key_hash = :key AND k.revoked_at IS NULL";
    let rows: String = (0..)
        .zip(steps)
        .map(|(number, step)| format!("{};\n", step_text(number, step)))
        .collect();
    let number = filled(NUMBER, &COUNTED.map(|(value, _)| value.to_owned()));
    let task = |place: usize| {
        let end = if place + 1 == batch { "COMMIT;\n" } else { "" };
        format!(
            "\\set id {FIRST_KEY} + ((:base + :i) * {batch} + {place}) * 1000 + :client_id
{number} \\gset
\\startpipeline
{rows}{end}\\endpipeline
"
        )
    };
    let other_holders = match batch {
        1 => String::new(),
        _ => format!(
            "\\startpipeline\n{}\\endpipeline\n",
            format!("{HOLDER};\n").repeat(batch - 1)
        ),
    };
    format!(
        "\\set i :i + 1
\\set key {FIRST_KEY} + random(0, {last_account})
{HOLDER} \\gset k_
{other_holders}BEGIN;
{tasks}",
        last_account = ACCOUNTS - 1,
        tasks = (0..batch).map(task).collect::<String>(),
    )
}

/// The values of `NUMBER`, and where the shared ones are read from.
const COUNTED: [(&str, Option<(&str, &str)>); 9] = [
    (":k_account_id", None),
    (":k_environment", None),
    (":month", Some(("month", "task_totals"))),
    ("1000000000", None),
    ("0", None),
    ("1", None),
    (":cents", Some(("processor_cents", "ledger_entries"))),
    ("2", None),
    (":now", Some(("created_at", "tasks"))),
];

fn counted(database: &Database, account: &str) -> Result<Vec<String>> {
    let read = COUNTED
        .iter()
        .filter_map(|(name, from)| Some((name, (*from)?)));
    let value = |(name, (column, table)): (&&str, (&str, &str))| {
        let value = database.run(&format!(
            "SELECT {column} FROM {table} WHERE account_id = '{account}' AND environment = 'test'"
        ))?;
        Ok(format!("{}={value}", name.trim_start_matches(':')))
    };
    read.map(value).collect()
}

fn step_text(number: usize, step: &Step<Option<String>>) -> String {
    let places: Vec<_> = (1..)
        .zip(&step.cells)
        .map(|(place, cell)| match cell {
            Cell::Own(own) => made_up(*own),
            Cell::Shared(Some(_)) => format!(":{}", variable(number, place)),
            Cell::Shared(None) => "NULL".to_owned(),
        })
        .collect();
    filled(&step.sql, &places)
}

fn variable(step: usize, place: usize) -> String {
    format!("step_{step}_{place}")
}

fn shared(steps: &[Step<Option<String>>]) -> impl Iterator<Item = String> {
    (0..).zip(steps).flat_map(|(number, step)| {
        (1..)
            .zip(&step.cells)
            .filter_map(move |(place, cell)| match cell {
                Cell::Shared(Some(value)) => Some(format!("{}={value}", variable(number, place))),
                _ => None,
            })
    })
}

/// Replaces the placeholders `?1`, `?2` and so on.
fn filled(sql: &str, places: &[String]) -> String {
    // Starts with the last, because `?1` is a prefix of `?12`.
    let numbered = (1..).zip(places).collect::<Vec<(usize, _)>>();
    numbered
        .iter()
        .rev()
        .fold(sql.to_owned(), |sql, (n, with)| {
            sql.replace(&format!("?{n}"), with)
        })
}

/// The values that differ by task. An id is as long as the server's.
fn made_up(own: Own) -> String {
    match own {
        Own::Account => ":k_account_id".to_owned(),
        Own::Task => "'0000000000000' || :id".to_owned(),
        Own::Number => ":last_number".to_owned(),
        Own::Event(event) => format!("'{}000000000000' || :id", event + 1),
        Own::EventNumber(event) => {
            let later = EVENTS.len() - 1 - event;
            format!("CAST(:last_event AS BIGINT) - {later}")
        }
        Own::EventTime => ":last_event_at".to_owned(),
    }
}

/// The row of a query about an account, each value as text.
fn row(database: &Database, sql: &str, account: &str) -> Result<Vec<(String, Option<String>)>> {
    let sql = sql.replace("?1", &format!("'{account}'"));
    let lines = database.run(&format!(
        "SELECT json_agg(json_build_array(key, value))
         FROM ({sql}) found, json_each_text(row_to_json(found))"
    ))?;
    Ok(serde_json::from_str(&lines)?)
}

pub fn columns(database: &Database, table: &str) -> Result<Vec<String>> {
    let lines = database.run(&format!(
        "SELECT column_name FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = '{table}'
         ORDER BY ordinal_position"
    ))?;
    Ok(lines.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_gets_its_own_value() {
        let places: Vec<_> = (1..=12).map(|n| format!(":v{n}")).collect();
        let sql = "INSERT INTO t VALUES (?1, ?2, ?12, ?11, ?1)";
        assert_eq!(
            filled(sql, &places),
            "INSERT INTO t VALUES (:v1, :v2, :v12, :v11, :v1)"
        );
    }

    #[test]
    fn the_first_second_does_not_count() {
        let text = "pgbench (15.14)\nprogress: 1.0 s, 100.5 tps, lat 6.1 ms stddev 1.2, 0 failed\n\
            progress: 2.0 s, 300.0 tps, lat 2.0 ms stddev 0.1, 0 failed\n\
            progress: 3.0 s, 500.0 tps, lat 2.0 ms stddev 0.1, 0 failed\n";
        assert_eq!(rate_of(text), Some(400.0));
        assert_eq!(rate_of("progress: 1.0 s, 100.5 tps, lat 6.1 ms"), None);
    }

    #[test]
    fn a_batch_commits_once_and_no_two_tasks_have_one_id() {
        let script = script_text(&[], 3);
        assert_eq!(script.matches("COMMIT;").count(), 1);
        assert_eq!(script.matches("FROM api_keys").count(), 3);
        for place in 0..3 {
            assert!(script.contains(&format!(":i) * 3 + {place}) * 1000")));
        }
        assert!(!script_text(&[], 1).contains("\\startpipeline\nSELECT"));
    }

    #[test]
    fn what_tasks_share_is_handed_over_by_name() {
        let step = Step {
            sql: "INSERT INTO t (a, b, c) VALUES (?1, ?2, ?3)".to_owned(),
            cells: vec![
                Cell::Shared(Some("x y".to_owned())),
                Cell::Own(Own::EventNumber(0)),
                Cell::Shared(None),
            ],
        };
        let text =
            "INSERT INTO t (a, b, c) VALUES (:step_7_1, CAST(:last_event AS BIGINT) - 1, NULL)";
        assert_eq!(step_text(7, &step), text);
        assert_eq!(shared(&[step]).collect::<Vec<_>>(), ["step_0_1=x y"]);
    }
}
