//! A PostgreSQL database that a move fills, on a connection of its own.
//!
//! A batch of rows and the record of how far the table is copied are one transaction. A move that was
//! killed, or whose connection was lost while it committed, asks that record where to go on.

use std::pin::pin;

use bytes::Bytes;
use tokio::runtime::Runtime;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Statement};

use crate::domain::Timestamp;
use crate::store::engine::migrate::{self, Migration};
use crate::store::engine::moves::Role;
use crate::store::engine::postgres::connect::connector::{Connector, Link};
use crate::store::engine::postgres::connect::runtime::own_runtime;
use crate::store::engine::postgres::{Engine, Mode, Session, describe};
use crate::store::engine::transfer::{Kind, key_from_json, key_to_json, quoted};
use crate::store::engine::{Row, RowCells, StoreError, Table, Tx, Value};

pub struct Target {
    runtime: Runtime,
    link: Link,
}

/// How far a table is copied.
pub struct Copied {
    pub rows: u64,
    pub last_key: Vec<Value<'static>>,
}

/// What the target says about a move to it.
pub struct Arriving {
    pub id: String,
    pub finished: bool,
}

impl Target {
    /// Migrates a database without tables. Any other must be of this version.
    pub fn open(url: &str, migrations: &'static [Migration]) -> Result<Self, StoreError> {
        if lacks_everything(url)? {
            drop(Engine::open(url, 1, migrations)?);
        }
        let mut session = Session::new(Connector::new(url)?)?;
        session.open(Mode::Read, None)?;
        let lacking = migrate::lacking(&mut Tx::postgres(&mut session), migrations)?;
        if lacking > 0 {
            return Err(StoreError::Incompatible(format!(
                "the target is not empty, and lacks {lacking} migrations of this program: \
                 give an empty database"
            )));
        }
        drop(session);
        Self::connect(url)
    }

    fn connect(url: &str) -> Result<Self, StoreError> {
        let runtime = own_runtime()?;
        let connector = Connector::new(url)?;
        let link = runtime.block_on(connector.connect(None))?;
        let target = Self { runtime, link };
        // Counting and analyzing large tables takes its time.
        target.batch("SET statement_timeout = 0; SET lock_timeout = 0")?;
        Ok(target)
    }

    fn client(&self) -> &Client {
        &self.link.client
    }

    fn batch(&self, sql: &str) -> Result<(), StoreError> {
        let ran = self.runtime.block_on(self.client().batch_execute(sql));
        ran.map_err(|e| failed(&e))
    }

    fn query(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let rows = self.runtime.block_on(self.client().query(sql, values));
        rows.map_err(|e| failed(&e))
    }

    /// Moves that this database takes part in: those to it, and those from it, which are over.
    pub fn arriving(&self) -> Result<Option<Arriving>, StoreError> {
        let rows = self.query(
            "SELECT id, finished_at IS NOT NULL FROM database_moves WHERE role = $1",
            &[&Role::Target.as_str()],
        )?;
        Ok(rows.first().map(|row| Arriving {
            id: row.get(0),
            finished: row.get(1),
        }))
    }

    /// The first table with rows that no migration has put there.
    pub fn filled_table<'t>(&self, tables: &'t [Table]) -> Result<Option<&'t str>, StoreError> {
        for table in tables {
            let beyond = match table.name.as_str() {
                "audit_head" => "WHERE number > 0",
                // How far counting has come. What is counted stands in other tables.
                "worker_count_walk" => "WHERE false",
                _ => "",
            };
            let any = format!("SELECT 1 FROM {} {beyond} LIMIT 1", quoted(&table.name));
            if !self.query(&any, &[])?.is_empty() {
                return Ok(Some(&table.name));
            }
        }
        Ok(None)
    }

    /// Records the move, and removes what the migrations have put into the empty tables.
    pub fn begin(&self, id: &str, other: &str, now: Timestamp) -> Result<(), StoreError> {
        self.transact(async |client: &Client| {
            let record = "INSERT INTO database_moves (id, role, other_database, begun_at)
                 VALUES ($1, $2, $3, $4)";
            let role = Role::Target.as_str();
            let values: [&(dyn ToSql + Sync); 4] = [&id, &role, &other, &now.as_millis()];
            client.execute(record, &values).await?;
            client
                .batch_execute("DELETE FROM audit_head; DELETE FROM worker_count_walk")
                .await
        })
    }

    pub fn finish(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        self.batch("ANALYZE")?;
        self.transact(async |client: &Client| {
            let done = "UPDATE database_moves SET finished_at = $2 WHERE id = $1";
            client.execute(done, &[&id, &now.as_millis()]).await?;
            client
                .batch_execute("DELETE FROM database_move_tables")
                .await
        })
    }

    /// How far a table is copied. None if nothing of it is.
    pub fn copied(&self, table: &Table) -> Result<Option<Copied>, StoreError> {
        let rows = self.query(
            "SELECT copied_rows, last_key FROM database_move_tables WHERE table_name = $1",
            &[&table.name],
        )?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        Ok(Some(Copied {
            rows: row.get::<_, i64>(0).cast_unsigned(),
            last_key: key_from_json(row.get(1))?,
        }))
    }

    /// Adds rows to a table, and records how many it has then and which is the last.
    pub fn append(&self, table: &Table, rows: &[RowCells], total: u64) -> Result<(), StoreError> {
        let Some(last) = rows.last() else {
            return Ok(());
        };
        let last = key_to_json(&table.key_of(last));
        let copy = format!(
            "COPY {} ({}) FROM STDIN (FORMAT binary)",
            quoted(&table.name),
            table.column_list()
        );
        let appended = self.transact(async |client: &Client| {
            let sink = client.copy_in::<_, Bytes>(&copy).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, &types(table)));
            for row in rows {
                writer.as_mut().write_raw(row.0.iter()).await?;
            }
            writer.finish().await?;
            let record = "INSERT INTO database_move_tables (table_name, copied_rows, last_key)
                 VALUES ($1, $2, $3) ON CONFLICT (table_name) DO UPDATE
                 SET copied_rows = excluded.copied_rows, last_key = excluded.last_key";
            let values: [&(dyn ToSql + Sync); 3] = [&table.name, &total.cast_signed(), &last];
            client.execute(record, &values).await.map(drop)
        });
        appended.map_err(|error| match error {
            StoreError::Failed(reason) => StoreError::Failed(format!(
                "{}, in the rows up to {last}: {reason}",
                table.name
            )),
            other => other,
        })
    }

    pub fn count(&self, table: &Table) -> Result<u64, StoreError> {
        let sql = format!("SELECT COUNT(*) FROM {}", quoted(&table.name));
        let rows = self.query(&sql, &[])?;
        Ok(rows
            .first()
            .map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
    }

    /// Prepares the statement that finds rows by their keys.
    pub fn prepare_lookup(&self, table: &Table) -> Result<Statement, StoreError> {
        let prepared = self.runtime.block_on(self.client().prepare(&lookup(table)));
        prepared.map_err(|e| failed(&e))
    }

    /// For each of these rows the one with the same key here, if there is one.
    pub fn rows_like(
        &self,
        table: &Table,
        lookup: &Statement,
        rows: &[RowCells],
    ) -> Result<Vec<Option<RowCells>>, StoreError> {
        let keys = table.key.iter().map(|at| array(table, *at, rows));
        let keys = keys.collect::<Vec<_>>();
        let keys: Vec<&(dyn ToSql + Sync)> = keys.iter().map(AsRef::as_ref).collect();
        let found = self.runtime.block_on(self.client().query(lookup, &keys));
        let found = found.map_err(|e| failed(&e))?;
        let read = |row: &tokio_postgres::Row| {
            let cells: RowCells = Row::postgres(row).read()?;
            // No key has a NULL: this is the outer join's row for nothing.
            let is_there = cells.0[table.key[0]] != Value::Null;
            Ok(is_there.then_some(cells))
        };
        found.iter().map(read).collect()
    }

    fn transact(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<(), tokio_postgres::Error>,
    ) -> Result<(), StoreError> {
        let client = self.client();
        let done = self.runtime.block_on(async {
            client.batch_execute("BEGIN").await?;
            match work(client).await {
                Ok(()) => client.batch_execute("COMMIT").await,
                Err(error) => {
                    let _ = client.batch_execute("ROLLBACK").await;
                    Err(error)
                }
            }
        });
        done.map_err(|e| failed(&e))
    }
}

/// Whether the database has no tables at all.
fn lacks_everything(url: &str) -> Result<bool, StoreError> {
    let mut session = Session::new(Connector::new(url)?)?;
    session.open(Mode::Read, None)?;
    Ok(Tx::postgres(&mut session).schema()?.is_empty())
}

fn types(table: &Table) -> Vec<Type> {
    let kinds = table.columns.iter().map(|column| match column.kind {
        Kind::Text => Type::TEXT,
        Kind::Int => Type::INT8,
        Kind::Real => Type::FLOAT8,
    });
    kinds.collect()
}

/// One column of the key of all these rows.
fn array(table: &Table, column: usize, rows: &[RowCells]) -> Box<dyn ToSql + Sync> {
    let values = rows.iter().map(|row| &row.0[column]);
    match table.columns[column].kind {
        Kind::Int => Box::new(
            values
                .map(|value| match value {
                    Value::Int(int) => Some(*int),
                    _ => None,
                })
                .collect::<Vec<_>>(),
        ),
        Kind::Text | Kind::Real => Box::new(
            values
                .map(|value| match value {
                    Value::Text(text) => Some(text.as_ref().to_owned()),
                    _ => None,
                })
                .collect::<Vec<_>>(),
        ),
    }
}

/// One row for each key, in the order of the keys, whatever collation the database has.
fn lookup(table: &Table) -> String {
    let columns = table
        .columns
        .iter()
        .map(|c| format!("t.{}", quoted(&c.name)));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let (mut arrays, mut names, mut same) = (Vec::new(), Vec::new(), Vec::new());
    for (number, at) in table.key.iter().enumerate() {
        let column = &table.columns[*at];
        let array = match column.kind {
            Kind::Int => "bigint[]",
            Kind::Text | Kind::Real => "text[]",
        };
        arrays.push(format!("${}::{array}", number + 1));
        names.push(format!("k{number}"));
        same.push(format!("t.{} = k.k{number}", quoted(&column.name)));
    }
    format!(
        "SELECT {columns} FROM unnest({}) WITH ORDINALITY AS k ({}, place)
         LEFT JOIN {} t ON {} ORDER BY k.place",
        arrays.join(", "),
        names.join(", "),
        quoted(&table.name),
        same.join(" AND ")
    )
}

/// What the server said is final; what the connection said may be over the next time.
fn failed(error: &tokio_postgres::Error) -> StoreError {
    let text = describe(error);
    let ended = |state: &str| {
        ["08", "53", "57P", "58"]
            .iter()
            .any(|c| state.starts_with(c))
    };
    match error.code() {
        Some(state) if !ended(state.code()) => StoreError::Failed(text),
        None if text.contains("serializing") => StoreError::Failed(text),
        _ => StoreError::Unavailable(text),
    }
}
