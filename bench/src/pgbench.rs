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
    /// The values of a task and its entry that the server stored, as `-D name=value`.
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
        let first = &bed.accounts[0].id;
        let task = Pattern::read(&database, "tasks", "number = 1", first)?;
        let entry = Pattern::read(&database, "ledger_entries", "step = 'payment'", first)?;
        let script = bed.folder.path().join("create-task.pgbench");
        std::fs::write(&script, script_text(&task, &entry))?;
        Ok(Self {
            values: values(&database, &task, &entry, first)?,
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
/// (src/store/api_keys.rs), then a number and the row (src/store/tasks.rs), and the line of the
/// journal (src/store/ledger.rs).
fn script_text(task: &Pattern, entry: &Pattern) -> String {
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
        pending = pending + :pending, funded = funded + :funded,
        processor_cents = processor_cents + :ledger_entries_processor_cents
    WHERE account_id = :k_account_id AND environment = :k_environment
        AND (month <> :month OR month_tasks < :limit)
    RETURNING last_number \\gset
{insert_task};
{insert_entry};
COMMIT;
",
        last_account = ACCOUNTS - 1,
        insert_task = task.insert(),
        insert_entry = entry.insert(),
    )
}

/// A row that the server stored: all others are like it, but for what pgbench makes up.
struct Pattern {
    table: &'static str,
    cells: Vec<(String, Option<String>)>,
}

impl Pattern {
    /// Reads the test row of an account that the condition finds.
    fn read(
        database: &Database,
        table: &'static str,
        condition: &str,
        account: &str,
    ) -> Result<Self> {
        let columns = columns(database, table)?;
        let cells: Vec<_> = columns
            .iter()
            .map(|column| format!("{column}::text"))
            .collect();
        let row = database.run(&format!(
            "SELECT json_build_array({}) FROM {table}
             WHERE account_id = '{account}' AND environment = 'test' AND {condition}",
            cells.join(", ")
        ))?;
        let values: Vec<_> = serde_json::from_str(&row)?;
        let cells = columns.into_iter().zip(values).collect();
        Ok(Self { table, cells })
    }

    fn insert(&self) -> String {
        let columns: Vec<_> = self
            .cells
            .iter()
            .map(|(column, _)| column.as_str())
            .collect();
        let value = |(column, value): &(String, Option<String>)| match (made_up(column), value) {
            (Some(made_up), _) => made_up.to_owned(),
            (None, Some(_)) => format!(":{}_{column}", self.table),
            (None, None) => "NULL".to_owned(),
        };
        let values: Vec<_> = self.cells.iter().map(value).collect();
        format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.table,
            columns.join(", "),
            values.join(", ")
        )
    }

    /// The values that all rows share. Columns of two tables may have the same name.
    fn values(&self) -> impl Iterator<Item = String> {
        let shared = self
            .cells
            .iter()
            .filter(|(column, _)| made_up(column).is_none());
        shared.filter_map(|(column, value)| {
            let value = value.as_ref()?;
            Some(format!("{}_{column}={value}", self.table))
        })
    }
}

/// What each row has of its own.
fn made_up(column: &str) -> Option<&'static str> {
    match column {
        "id" | "task_id" => Some("'0000000000000' || :id"),
        "account_id" => Some(":k_account_id"),
        "environment" => Some(":k_environment"),
        "number" => Some(":last_number"),
        _ => None,
    }
}

pub fn columns(database: &Database, table: &str) -> Result<Vec<String>> {
    let lines = database.run(&format!(
        "SELECT column_name FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = '{table}'
         ORDER BY ordinal_position"
    ))?;
    Ok(lines.lines().map(str::to_owned).collect())
}

fn values(
    database: &Database,
    task: &Pattern,
    entry: &Pattern,
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
    values.extend(task.values().chain(entry.values()));
    Ok(values)
}
