//! Waiting deliveries, inserted by the database itself: creating tasks would take minutes.

use legwork::domain::AccountId;
use rusqlite::Connection;

use crate::Result;
use crate::service::TestDatabase;

const EVENT_IDS: &str = "0190dddd00007000";
const TASK_IDS: &str = "0190eeee00007000";

/// Inserts deliveries for every endpoint, alternating like the two events of the first task, which
/// the template account created. So every two belong to one task.
pub struct Waiting {
    pub pattern: AccountId,
    /// How many each endpoint gets.
    pub each: i64,
    /// The data of their events, and when they are due: SQL over the event.
    pub data: &'static str,
    pub due_at: &'static str,
}

impl Waiting {
    /// No one may have the database open.
    pub fn fill(&self, database: &TestDatabase) -> Result<()> {
        match database {
            TestDatabase::Sqlite(file) => {
                let connection = Connection::open(file)?;
                connection
                    .execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")?;
                let hex = |number: &str| format!("printf('%016x', {number})");
                for statement in self.statements(hex) {
                    connection.execute_batch(&statement)?;
                }
            }
            TestDatabase::Postgres(database) => {
                let hex = |number: &str| format!("lpad(to_hex({number}), 16, '0')");
                for statement in self.statements(hex) {
                    database.run(&statement)?;
                }
                // What autovacuum would do soon, done now so that it disturbs no measurement.
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

/// How many deliveries have this status.
pub fn count(database: &TestDatabase, status: &str) -> Result<i64> {
    let sql = format!("SELECT COUNT(*) FROM deliveries WHERE status = '{status}'");
    match database {
        TestDatabase::Sqlite(file) => {
            Ok(Connection::open(file)?.query_row(&sql, [], |row| row.get(0))?)
        }
        TestDatabase::Postgres(database) => Ok(database.run(&sql)?.parse()?),
    }
}
