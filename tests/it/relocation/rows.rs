//! Every row of every table arrives as it was, however often the move is interrupted.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use legwork::ambient::Clock;
use legwork::store::{Step, StoreError, TransferError};

use super::{OWN, begin, execute, lived_in, rows_of_postgres, rows_of_sqlite, run};
use crate::support::{Database, Engine};

const ROWS: i64 = 7;

/// Rows in every table, with values that are easily spoiled.
fn all_tables_filled() -> Database {
    let database = Database::migrated(Engine::Sqlite);
    let connection = rusqlite::Connection::open(database.file()).unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = OFF")
        .unwrap();
    let sql = "SELECT m.name, c.name, upper(c.type), c.\"notnull\", c.pk
        FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid";
    let mut select = connection.prepare(sql).unwrap();
    let columns = select
        .query_map([], |row| {
            let (table, column): (String, String) = (row.get(0)?, row.get(1)?);
            let (kind, not_null): (String, bool) = (row.get(2)?, row.get(3)?);
            Ok((table, column, kind, not_null, row.get::<_, i64>(4)? > 0))
        })
        .unwrap();
    let columns: Vec<_> = columns.map(Result::unwrap).collect();
    let tables: BTreeSet<_> = columns.iter().map(|column| &column.0).collect();
    for table in tables.iter().filter(|table| !OWN.contains(&table.as_str())) {
        let own = columns.iter().filter(|column| column.0 == **table);
        for row in 1..=ROWS {
            let cells = own.clone().map(|(_, column, kind, not_null, key)| {
                let refers = column.ends_with("_id") || column == "token_hash";
                let is_id = *key || refers || column == "id";
                match kind.as_str() {
                    _ if !not_null && row % 3 == 0 => "NULL".to_owned(),
                    "TEXT" if is_id => format!("'k{row}'"),
                    "TEXT" => format!("'é ''quoted'' \"\\' || char(10) || '🦀 {row}'"),
                    "BIGINT" if column.ends_with("_cents") => "0".to_owned(),
                    "BIGINT" if !not_null => (i64::MAX - row).to_string(),
                    "BIGINT" => row.to_string(),
                    _ => format!("{}", 1.0 / row as f64),
                }
            });
            let cells = cells.collect::<Vec<_>>().join(", ");
            let names = own.clone().map(|column| format!("\"{}\"", column.1));
            let names = names.collect::<Vec<_>>().join(", ");
            let insert = format!("INSERT OR REPLACE INTO {table} ({names}) VALUES ({cells})");
            connection
                .execute_batch(&insert)
                .unwrap_or_else(|e| panic!("{e}: {insert}"));
        }
    }
    drop(select);
    drop(connection);
    database
}

#[test]
fn every_row_of_every_table_arrives_after_many_interruptions() {
    let (from, to) = (all_tables_filled(), Database::create(Engine::Postgres));
    let before = rows_of_sqlite(&from);
    let mut seen = BTreeSet::new();
    let mut stops = 0;
    loop {
        let transfer = begin(&from, &to).unwrap().with_batches_of(3);
        let tables: BTreeSet<_> = transfer.tables().map(str::to_owned).collect();
        let mut new = 0;
        let ended = transfer.run(Clock::system().now(), &mut |step: Step<'_>| {
            let is_new = seen.insert((step.table.to_owned(), step.comparing, step.rows));
            new += usize::from(is_new && !step.comparing);
            if new == 4 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        match ended {
            Err(TransferError::Stopped) => stops += 1,
            ended => {
                ended.unwrap();
                transfer.finish(Clock::system().now()).unwrap();
                let filled = before.iter().map(|row| row.split(':').next().unwrap());
                let filled: BTreeSet<_> = filled.map(str::to_owned).collect();
                assert_eq!(tables, filled);
                break;
            }
        }
    }
    assert!(stops > 20, "{stops}");
    assert!(before.len() as i64 > 30 * ROWS);
    assert_eq!(rows_of_postgres(&to), before);
}

#[test]
fn no_table_of_the_new_schema_is_forgotten() {
    let (from, to) = (
        Database::migrated(Engine::Sqlite),
        Database::migrated(Engine::Postgres),
    );
    let transfer = begin(&from, &to).unwrap();
    let copied: BTreeSet<_> = transfer.tables().map(str::to_owned).collect();
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
    let tables = crate::support::runtime().block_on(to.column(tables));
    let rest = tables.into_iter().filter(|table| !copied.contains(table));
    let rest: BTreeSet<_> = rest.collect();
    assert_eq!(rest, OWN.map(str::to_owned).into());
    assert!(copied.len() > 30);
}

#[test]
fn a_move_goes_on_after_the_connection_is_lost() {
    let (from, to) = (all_tables_filled(), Database::create(Engine::Postgres));
    let transfer = begin(&from, &to).unwrap().with_batches_of(3);
    let mut calls = 0;
    let cut = transfer.run(Clock::system().now(), &mut |_: Step<'_>| {
        calls += 1;
        if calls == 40 {
            execute(
                &to,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            );
        }
        ControlFlow::Continue(())
    });
    let error = cut.unwrap_err();
    let lost = matches!(&error, TransferError::Store(StoreError::Unavailable(_)));
    assert!(lost, "{error}");
    drop(transfer);
    let transfer = begin(&from, &to).unwrap();
    run(&transfer).unwrap();
    transfer.finish(Clock::system().now()).unwrap();
    assert_eq!(rows_of_postgres(&to), rows_of_sqlite(&from));
}

/// Copies everything, and stops before it is compared.
fn copied() -> (Database, Database) {
    let (from, _) = lived_in();
    let to = Database::create(Engine::Postgres);
    let transfer = begin(&from, &to).unwrap();
    let stopped = transfer.run(Clock::system().now(), &mut |step: Step<'_>| {
        if step.comparing {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(matches!(stopped, Err(TransferError::Stopped)));
    (from, to)
}

#[test]
fn what_somebody_else_changes_in_the_new_database_is_found() {
    let (from, to) = copied();
    let look = || run(&begin(&from, &to).unwrap()).unwrap_err().to_string();

    execute(
        &to,
        "UPDATE tasks SET location_latitude = location_latitude + 1e-14",
    );
    let found = look();
    assert!(found.starts_with("tasks: the row [\""), "{found}");
    assert!(found.contains("is different"), "{found}");
    execute(&to, "DELETE FROM tasks");
    let found = look();
    assert!(found.contains("is missing"), "{found}");
}

#[test]
fn a_row_too_many_is_found() {
    let (from, to) = copied();
    execute(
        &to,
        "INSERT INTO processes (id, alive_until) VALUES ('x', 1)",
    );
    let found = run(&begin(&from, &to).unwrap()).unwrap_err().to_string();
    assert!(found.starts_with("processes: "), "{found}");
}
