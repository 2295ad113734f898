//! The limit of creating tasks on PostgreSQL: the same statements by pgbench, with as many clients
//! as the server has connections from its own.

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;
use crate::bed::{Bed, Engine};
use crate::figures::Limit;
use crate::load::Sample;
use crate::options::{ACCOUNTS, CONNECTIONS};
use crate::postgres::Database;

/// pgbench can make up numbers, not hashes: in its database a key's hash is a number from here on.
const FIRST_KEY: i64 = 1_000_000_000_000_000_000;

/// Room for the tasks of one round.
const IDS_OF_A_ROUND: u32 = 100_000_000;

pub struct Pgbench {
    database: Database,
    script: PathBuf,
    /// The values of a task that the server stored, as `-D name=value`.
    values: Vec<String>,
    rounds: u32,
}

impl Pgbench {
    /// Works on a copy of the server's database, so schema and accounts are the same.
    pub fn new(bed: &mut Bed) -> Result<Self> {
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
        let columns = columns(&database)?;
        let pattern = pattern(&database, &columns, &bed.accounts[0].id)?;
        let script = bed.folder.path().join("create-task.pgbench");
        std::fs::write(&script, script_text(&columns, &pattern))?;
        Ok(Self {
            values: values(&database, &columns, &pattern, &bed.accounts[0].id)?,
            database,
            script,
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
        Ok(Sample::of_rate(rate.ok_or("pgbench tells no rate")?))
    }
}

/// The statements that the server runs to create one task: who holds the key
/// (src/store/api_keys.rs), then a number and the row (src/store/tasks.rs).
fn script_text(columns: &[String], pattern: &[Option<String>]) -> String {
    let value = |(column, value): (&String, &Option<String>)| match column.as_str() {
        "id" => "'0000000000000' || :id".to_owned(),
        "account_id" => ":k_account_id".to_owned(),
        "environment" => ":k_environment".to_owned(),
        "number" => ":last_number".to_owned(),
        _ if value.is_none() => "NULL".to_owned(),
        _ => format!(":{column}"),
    };
    let values: Vec<_> = columns.iter().zip(pattern).map(value).collect();
    format!(
        "\\set i :i + 1
\\set key {FIRST_KEY} + random(0, {last_account})
\\set id {FIRST_KEY} + (:base + :i) * 1000 + :client_id
SELECT k.id, k.account_id, k.environment, a.tier, a.status
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.key_hash = :key AND k.revoked_at IS NULL \\gset k_
BEGIN;
UPDATE task_totals SET last_number = last_number + 1,
        month_tasks = CASE WHEN month = :month THEN month_tasks + 1 ELSE 1 END, month = :month,
        pending = pending + :pending, funded = funded + :funded
    WHERE account_id = :k_account_id AND environment = :k_environment
        AND (month <> :month OR month_tasks < :limit)
    RETURNING last_number \\gset
INSERT INTO tasks ({columns}) VALUES ({values});
COMMIT;
",
        last_account = ACCOUNTS - 1,
        columns = columns.join(", "),
        values = values.join(", ")
    )
}

pub fn columns(database: &Database) -> Result<Vec<String>> {
    let lines = database.run(
        "SELECT column_name FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = 'tasks' ORDER BY ordinal_position",
    )?;
    Ok(lines.lines().map(str::to_owned).collect())
}

/// The first task of an account, column by column.
fn pattern(database: &Database, columns: &[String], account: &str) -> Result<Vec<Option<String>>> {
    let cells: Vec<_> = columns
        .iter()
        .map(|column| format!("{column}::text"))
        .collect();
    let row = database.run(&format!(
        "SELECT json_build_array({}) FROM tasks
         WHERE account_id = '{account}' AND environment = 'test' AND number = 1",
        cells.join(", ")
    ))?;
    Ok(serde_json::from_str(&row)?)
}

fn values(
    database: &Database,
    columns: &[String],
    pattern: &[Option<String>],
    account: &str,
) -> Result<Vec<String>> {
    let month = database.run(&format!(
        "SELECT month FROM task_totals WHERE account_id = '{account}' AND environment = 'test'"
    ))?;
    let mut values = vec![
        format!("month={month}"),
        "limit=1000000000".to_owned(),
        "pending=0".to_owned(),
        "funded=1".to_owned(),
    ];
    for (column, value) in columns.iter().zip(pattern) {
        let made_up = ["id", "account_id", "environment", "number"].contains(&column.as_str());
        if let Some(value) = value.as_ref().filter(|_| !made_up) {
            values.push(format!("{column}={value}"));
        }
    }
    Ok(values)
}
