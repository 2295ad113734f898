//! The limit of creating tasks on PostgreSQL: the same statements by pgbench, with as many clients
//! as the server has connections. What the server pipelines, pgbench pipelines too.

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;
use crate::creation::{self, Cell, EVENTS, NUMBER, Own, Step};
use crate::limit::Limit;
use crate::load::Sample;
use crate::options::{ACCOUNTS, CONNECTIONS};
use crate::postgres::Database;
use crate::test_bed::{Engine, TestBed};

/// pgbench can generate numbers but no hashes: in its database, the hash of a key is a number
/// starting here.
const FIRST_KEY: i64 = 1_000_000_000_000_000_000;

/// Space for the tasks of one round.
const IDS_OF_A_ROUND: u32 = 100_000_000;

pub struct Pgbench {
    database: Database,
    script: PathBuf,
    /// The values that all tasks share, as `-D name=value`.
    values: Vec<String>,
    rounds: u32,
}

impl Pgbench {
    /// Works on a copy of the server's database, so schema and accounts are the same.
    pub fn new(bed: &mut TestBed) -> Result<Self> {
        bed.stop()?;
        let Engine::Postgres(original) = &bed.engine else {
            return Err("pgbench needs PostgreSQL".into());
        };
        let database = original.cluster.copy_of(original, "pgbench")?;
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
        let script = bed.folder.path().join("create-task.pgbench");
        std::fs::write(&script, script_text(&steps))?;
        let mut values = counted(&database, first)?;
        values.extend(shared(&steps));
        Ok(Self {
            database,
            script,
            values,
            rounds: 0,
        })
    }
}

impl Limit for Pgbench {
    fn name(&self) -> String {
        format!("pgbench, {CONNECTIONS} clients")
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        self.rounds += 1;
        let seconds = length.as_secs_f64().ceil().to_string();
        let output = self
            .database
            .cluster
            .tool("pgbench")
            .args(["-n", "-M", "prepared", "-j", "2", "-T", &seconds, "-f"])
            .arg(&self.script)
            .args(["-c", &CONNECTIONS.to_string()])
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
        let rate = text.lines().find_map(|line| {
            let rate = line.strip_prefix("tps = ")?;
            rate.split_whitespace().next()?.parse().ok()
        });
        Ok(Sample::of_rate(rate.ok_or("pgbench printed no rate")?))
    }
}

/// The key's holder (src/store/accounts/api_keys.rs), then the numbers, then everything else in one
/// pipeline. Here, a statement whose result is used cannot be pipelined: that is one more round
/// trip than the server needs.
fn script_text(steps: &[Step<Option<String>>]) -> String {
    let rows: String = (0..)
        .zip(steps)
        .map(|(number, step)| format!("{};\n", step_text(number, step)))
        .collect();
    format!(
        "\\set i :i + 1
\\set key {FIRST_KEY} + random(0, {last_account})
\\set id {FIRST_KEY} + (:base + :i) * 1000 + :client_id
SELECT k.id, k.account_id, k.environment, a.tier, a.status
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.key_hash = :key AND k.revoked_at IS NULL \\gset k_
BEGIN;
{number} \\gset
\\startpipeline
{rows}COMMIT;
\\endpipeline
",
        last_account = ACCOUNTS - 1,
        number = filled(NUMBER, &COUNTED.map(|(value, _)| value.to_owned())),
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
