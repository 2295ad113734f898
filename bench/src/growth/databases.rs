//! Filled databases, and what a statement costs there: in steps of SQLite's virtual machine, and in
//! blocks that PostgreSQL touches. Neither depends on the machine. Time is noted beside it.

use std::time::Instant;

use legwork::store::{Location, Store, all_statements, session_settings};
use rusqlite::types::Value;
use rusqlite::{Connection, StatementStatus, params_from_iter};
use tempfile::TempDir;

use super::probes::Probe;
use super::seed;
use crate::Result;
use crate::test_bed::postgres::{Cluster, Database};

pub enum Filled {
    Sqlite {
        connection: Connection,
        /// Deleted with everything in it.
        folder: TempDir,
    },
    Postgres(Database),
}

#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub units: f64,
    pub microseconds: f64,
}

const RUNS: usize = 5;
const FILE: &str = "filled.db";

impl Filled {
    /// Indexes are made when the rows are there, which takes less time and less of the disk.
    pub fn sqlite(tasks: i64, now: i64) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join(FILE);
        drop(Store::open(&Location::Sqlite { file: file.clone() })?);
        let connection = Connection::open(file)?;
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000",
        )?;
        let indexes =
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL";
        let indexes: Vec<(String, String)> = connection
            .prepare(indexes)?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<std::result::Result<_, _>>()?;
        for (name, _) in &indexes {
            connection.execute_batch(&format!("DROP INDEX {name}"))?;
        }
        let script = seed::for_sqlite(tasks, now);
        connection.execute_batch(&format!("BEGIN; {script} COMMIT;"))?;
        for (_, sql) in &indexes {
            connection.execute_batch(sql)?;
        }
        connection.execute_batch("PRAGMA journal_mode = WAL")?;
        Ok(Self::Sqlite { connection, folder })
    }

    pub fn postgres(cluster: &Cluster, tasks: i64, now: i64) -> Result<Self> {
        let database = cluster.new_database(&format!("growth_{tasks}"))?;
        let url = database.url.clone();
        drop(Store::open(&Location::Postgres {
            url,
            connections: 1,
        })?);
        // Those of constraints stay. Each on one line: the database breaks those with a CASE.
        let indexes = database.run(
            "SELECT indexrelid::regclass || ';' || translate(pg_get_indexdef(indexrelid), E'\\n', ' ') FROM pg_index
             WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
                 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)",
        )?;
        let indexes = || indexes.lines().filter_map(|line| line.split_once(';'));
        for (name, _) in indexes() {
            database.run(&format!("DROP INDEX {name}"))?;
        }
        database.run(&seed::for_postgres(tasks, now))?;
        for (_, sql) in indexes() {
            database.run(sql)?;
        }
        database.run("VACUUM ANALYZE")?;
        Ok(Self::Postgres(database))
    }

    pub fn store(&self) -> Result<Store> {
        Ok(Store::open(&match self {
            Self::Sqlite { folder, .. } => Location::Sqlite {
                file: folder.path().join(FILE),
            },
            Self::Postgres(database) => Location::Postgres {
                url: database.url.clone(),
                connections: 2,
            },
        })?)
    }

    /// After the background has worked: what autovacuum would do soon.
    pub fn settle(&self) -> Result<()> {
        match self {
            Self::Sqlite { .. } => Ok(()),
            Self::Postgres(database) => database.run("VACUUM ANALYZE").map(drop),
        }
    }

    pub fn cost(&self, probe: &Probe, now: i64) -> Result<Cost> {
        let sql = statement(probe)?;
        let values: Vec<_> = probe
            .values
            .iter()
            .map(|value| value.replace("{now}", &now.to_string()))
            .collect();
        match self {
            Self::Sqlite { connection, .. } => on_sqlite(connection, sql, &values),
            Self::Postgres(database) => on_postgres(database, sql, &values),
        }
    }
}

/// The one statement with that text.
fn statement(probe: &Probe) -> Result<&'static str> {
    let plain = |sql: &str| {
        let words: Vec<_> = sql.split_whitespace().collect();
        words.join(" ")
    };
    let has_all_parts = |sql: &str| {
        let mut parts = probe.statement.split(" … ");
        let rest = parts.try_fold(sql, |rest, part| Some(rest.split_once(part)?.1));
        rest.is_some()
    };
    let mut found = all_statements().filter(|statement| has_all_parts(&plain(statement.sql())));
    let first = found
        .next()
        .ok_or(format!("no statement for {}", probe.name))?;
    match found.next() {
        None => Ok(first.sql()),
        Some(_) => Err(format!("several statements for {}", probe.name).into()),
    }
}

fn on_sqlite(connection: &Connection, sql: &str, values: &[String]) -> Result<Cost> {
    let read = |value: &String| {
        connection.query_row(&format!("SELECT {value}"), [], |row| row.get::<_, Value>(0))
    };
    let values: Vec<_> = values
        .iter()
        .map(read)
        .collect::<std::result::Result<_, _>>()?;
    let (mut units, mut times) = (0.0, Vec::new());
    let mut prepared = connection.prepare(sql)?;
    for _ in 0..RUNS {
        connection.execute_batch("BEGIN")?;
        prepared.reset_status(StatementStatus::VmStep);
        let begun = Instant::now();
        let mut rows = prepared.query(params_from_iter(&values))?;
        while rows.next()?.is_some() {}
        drop(rows);
        times.push(begun.elapsed().as_secs_f64() * 1e6);
        units = f64::from(prepared.get_status(StatementStatus::VmStep));
        connection.execute_batch("ROLLBACK")?;
    }
    Ok(Cost {
        units,
        microseconds: middle(times),
    })
}

fn on_postgres(database: &Database, sql: &str, values: &[String]) -> Result<Cost> {
    let mut literals = Vec::new();
    for value in values {
        let text = database.run(&format!("SELECT {value}"))?;
        literals.push(match value.as_str() {
            "NULL" => "NULL".to_owned(),
            _ => format!("'{text}'"),
        });
    }
    let sql = (1..=values.len())
        .rev()
        .fold(sql.to_owned(), |sql, number| {
            sql.replace(&format!("?{number}"), &format!("${number}"))
        });
    let execute = format!(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE measured({});",
        literals.join(", ")
    );
    // As the service has it, but for as long as it takes.
    let mut settings = session_settings();
    settings.retain(|setting| !setting.contains("timeout"));
    let script = format!(
        "{}; BEGIN; PREPARE measured AS {sql}; {} ROLLBACK; DEALLOCATE measured;",
        settings.join("; "),
        execute.repeat(RUNS)
    );
    let answer = database.run(&script)?;
    let plans = serde_json::Deserializer::from_str(&answer).into_iter::<serde_json::Value>();
    let (mut units, mut times) = (0.0, Vec::new());
    for plan in plans {
        let plan = plan?;
        let top = &plan[0]["Plan"];
        let blocks = |kind: &str| top[kind].as_f64().unwrap_or(0.0);
        units = blocks("Shared Hit Blocks") + blocks("Shared Read Blocks");
        times.push(plan[0]["Execution Time"].as_f64().unwrap_or(0.0) * 1e3);
    }
    if times.len() != RUNS {
        return Err(format!("no plan: {answer}").into());
    }
    Ok(Cost {
        units,
        microseconds: middle(times),
    })
}

pub fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::probes::PROBES;

    const NOW: i64 = 1_800_000_000_000;
    /// Where SQLite chooses an index by which it reads too much, it takes ten times as many.
    const MOST_STEPS: f64 = 15_000.0;
    /// Lists of deliveries reach back 10,000.
    const MOST_STEPS_OF_DELIVERIES: f64 = 130_000.0;

    #[test]
    fn no_statement_follows_the_size_of_the_database() {
        let filled = Filled::sqlite(10_000, NOW).unwrap();
        let follows = |probe: &Probe| {
            let most = match probe.name.contains("/deliveries") {
                true => MOST_STEPS_OF_DELIVERIES,
                false => MOST_STEPS,
            };
            let Cost { units, .. } = filled.cost(probe, NOW).unwrap();
            (units > most).then(|| format!("{}: {units} steps", probe.name))
        };
        let found: Vec<_> = PROBES.iter().filter_map(follows).collect();
        assert_eq!(found, Vec::<String>::new());
    }

    /// Statements change, and nobody runs the bench after each change.
    #[test]
    fn every_probe_has_one_statement_and_its_values() {
        let fault = |probe: &Probe| {
            let sql = match statement(probe) {
                Ok(sql) => sql,
                Err(error) => return Some(error.to_string()),
            };
            let takes = (1..).take_while(|n| sql.contains(&format!("?{n}"))).count();
            let gives = probe.values.len();
            (takes != gives).then(|| format!("{}: takes {takes} values, not {gives}", probe.name))
        };
        let faults: Vec<_> = PROBES.iter().filter_map(fault).collect();
        assert_eq!(faults, Vec::<String>::new());
    }
}
