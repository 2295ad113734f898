//! `legwork move`: from SQLite to PostgreSQL, from a folder to S3.

mod files;
mod program;
mod refusals;
mod rows;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use legwork::ambient::Clock;
use legwork::store::{HeldDatabase, Step, Transfer, TransferError};
use tokio_postgres::NoTls;

use crate::support::{Database, Engine, TestApp, runtime};

const NAMES: [&str; 2] = ["the old one", "the new one"];
/// Each database has its own of these.
const OWN: [&str; 4] = [
    "migrations",
    "migration_lock",
    "database_moves",
    "database_move_tables",
];

/// What an account leaves behind that has paid for work, and a worker who has done it. Returns the
/// account's live key.
fn lived_in() -> (Database, String) {
    let runtime = runtime();
    let database = Arc::new(Database::migrated(Engine::Sqlite));
    let key = runtime.block_on(async {
        let app = TestApp::start(&database).await;
        let dev = app.developer().await;
        let worker = app.ready_worker().await;
        for seed in ["one", "two"] {
            let task = dev.create_paid_task().await;
            app.jobs.drain().await.unwrap();
            worker.begin(&task).await;
            let proof = worker.prove(&task, seed).await;
            dev.review(&task, &proof, "approve").await.expect(200);
            app.jobs.drain().await.unwrap();
        }
        dev.create_live_task().await;
        dev.create_task().await;
        dev.live_key.clone()
    });
    // The server ends with its runtime, and with it the last use of the database.
    drop(runtime);
    let database = Arc::into_inner(database).expect("nobody uses it any more");
    (database, key)
}

fn begin(from: &Database, to: &Database) -> Result<Transfer, TransferError> {
    let now = Clock::system().now();
    let held = HeldDatabase::open(&from.location(), now)?;
    Transfer::begin(held, &to.location(), NAMES, now)
}

fn run(transfer: &Transfer) -> Result<(), TransferError> {
    transfer.run(Clock::system().now(), &mut |_: Step<'_>| {
        ControlFlow::Continue(())
    })
}

/// Does to a database what no command does.
fn execute(database: &Database, sql: &str) {
    runtime().block_on(database.execute(sql));
}

/// Every row of every copied table, as text.
fn rows_of_sqlite(database: &Database) -> BTreeSet<String> {
    use rusqlite::types::Value;
    let connection = rusqlite::Connection::open(database.file()).unwrap();
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = connection.prepare(tables).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let tables = tables.map(Result::unwrap);
    let mut all = BTreeSet::new();
    for table in tables.filter(|table| !OWN.contains(&table.as_str())) {
        let select = format!("SELECT * FROM {table}");
        let mut select = connection.prepare(&select).unwrap();
        let columns: Vec<String> = select.column_names().map(ToString::to_string).collect();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let cells = columns.iter().enumerate().map(|(at, column)| {
                let cell = match row.get(at).unwrap() {
                    Value::Null => "nothing".to_owned(),
                    Value::Integer(int) => int.to_string(),
                    Value::Real(real) => format!("{:x}", real.to_bits()),
                    Value::Text(text) => format!("{text:?}"),
                    Value::Blob(_) => panic!("there are no blobs"),
                };
                format!("{column}={cell}")
            });
            all.insert(line(&table, cells.collect()));
        }
    }
    all
}

fn rows_of_postgres(database: &Database) -> BTreeSet<String> {
    runtime().block_on(async {
        let url = database.url().unwrap();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
        let tables = client.query(tables, &[]).await.unwrap();
        let mut all = BTreeSet::new();
        for table in tables.iter().map(|row| row.get::<_, String>(0)) {
            if OWN.contains(&table.as_str()) {
                continue;
            }
            let select = format!("SELECT * FROM {table}");
            for row in client.query(&select, &[]).await.unwrap() {
                let columns = row.columns().iter().enumerate();
                let cells = columns.map(|(at, column)| {
                    let cell = match column.type_().name() {
                        "int8" => row.get::<_, Option<i64>>(at).map(|int| int.to_string()),
                        "float8" => {
                            let real = row.get::<_, Option<f64>>(at);
                            real.map(|real| format!("{:x}", real.to_bits()))
                        }
                        _ => row
                            .get::<_, Option<&str>>(at)
                            .map(|text| format!("{text:?}")),
                    };
                    let cell = cell.unwrap_or_else(|| "nothing".to_owned());
                    format!("{}={cell}", column.name())
                });
                all.insert(line(&table, cells.collect()));
            }
        }
        all
    })
}

/// The columns of a table may be in another order in each database.
fn line(table: &str, mut cells: Vec<String>) -> String {
    cells.sort();
    format!("{table}: {}", cells.join(" "))
}
