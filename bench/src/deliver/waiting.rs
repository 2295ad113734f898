//! Deliveries that wait, filled in by the database itself: by tasks it would take minutes.

use legwork::domain::AccountId;
use rusqlite::Connection;

use crate::Result;
use crate::town::Ground;

const EVENT_IDS: &str = "0190dddd00007000";
const TASK_IDS: &str = "0190eeee00007000";

/// Fills in deliveries for every endpoint, in turns like the two events of the first task, which
/// the account that is the pattern has created; so every two are of one task.
pub struct Waiting {
    pub pattern: AccountId,
    /// How many each endpoint gets.
    pub each: i64,
    /// What their events carry, and when they are due: SQL over the event.
    pub data: &'static str,
    pub due_at: &'static str,
}

impl Waiting {
    /// Nobody has the database open.
    pub fn fill(&self, ground: &Ground) -> Result<()> {
        match ground {
            Ground::Sqlite(file) => {
                let connection = Connection::open(file)?;
                connection
                    .execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")?;
                let hex = |number: &str| format!("printf('%016x', {number})");
                for statement in self.statements(hex) {
                    connection.execute_batch(&statement)?;
                }
            }
            Ground::Postgres(database) => {
                let hex = |number: &str| format!("lpad(to_hex({number}), 16, '0')");
                for statement in self.statements(hex) {
                    database.run(&statement)?;
                }
                // What autovacuum would do soon, at a moment that disturbs no measurement.
                database.run("VACUUM ANALYZE")?;
                database.run("CHECKPOINT")?;
            }
        }
        Ok(())
    }

    fn statements(&self, hex: impl Fn(&str) -> String) -> [String; 3] {
        let events = format!(
            "WITH RECURSIVE series (n) AS (
                 SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {each}),
             developers (account_id, place) AS (
                 SELECT account_id, ROW_NUMBER() OVER (ORDER BY account_id) FROM webhook_endpoints)
             INSERT INTO events (id, account_id, environment, number, type, task_id, data, created_at)
             SELECT '{EVENT_IDS}' || {event}, d.account_id, e.environment, n + 2, e.type,
                 '{TASK_IDS}' || {task}, {data}, e.created_at
             FROM developers d, series, events e
             WHERE e.account_id = '{pattern}' AND e.number = 2 - n % 2",
            each = self.each,
            event = hex(&format!("d.place * {} + n", self.each)),
            task = hex(&format!("d.place * {} + (n + 1) / 2", self.each)),
            data = self.data,
            pattern = self.pattern,
        );
        let deliveries = format!(
            "INSERT INTO deliveries (event_id, account_id, environment, number, type, task_id,
                 status, tries, due_at, attempts, status_code, created_at, updated_at)
             SELECT id, account_id, environment, number, type, task_id, 'pending', 0, {due_at},
                 '[]', NULL, created_at, created_at
             FROM events WHERE number > 2",
            due_at = self.due_at,
        );
        let endpoints = "UPDATE webhook_endpoints SET due_at = (SELECT MIN(d.due_at)
             FROM deliveries d WHERE d.account_id = webhook_endpoints.account_id)";
        [events, deliveries, endpoints.to_owned()]
    }
}

/// How many deliveries have that status.
pub fn count(ground: &Ground, status: &str) -> Result<i64> {
    let sql = format!("SELECT COUNT(*) FROM deliveries WHERE status = '{status}'");
    match ground {
        Ground::Sqlite(file) => Ok(Connection::open(file)?.query_row(&sql, [], |row| row.get(0))?),
        Ground::Postgres(database) => Ok(database.run(&sql)?.parse()?),
    }
}
