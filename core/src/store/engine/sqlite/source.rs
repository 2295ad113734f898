//! A SQLite database that is moved elsewhere. Nobody else writes to it meanwhile: other programs of
//! ours are held off by the lock of the marker, everybody else by SQLite's write lock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::Connection;

use crate::domain::Timestamp;
use crate::store::engine::migrate::{self, Migration};
use crate::store::engine::moves::{self, DatabaseMove};
use crate::store::engine::sqlite::marker::Marker;
use crate::store::engine::sqlite::{connect, error, execute_cached};
use crate::store::engine::transfer::{Kind, OWN_TABLES, TableColumn, quoted};
use crate::store::engine::{Row, RowCells, StoreError, Table, Tx, Value};

pub struct Source {
    connection: Connection,
    _alone: Marker,
}

impl Source {
    /// Takes the write lock, and keeps it until the source is dropped.
    pub fn open(file: &Path, migrations: &[Migration]) -> Result<Self, StoreError> {
        if !file.exists() {
            let reason = format!("{}: there is no database here", file.display());
            return Err(StoreError::Incompatible(reason));
        }
        let alone = Marker::open_alone(file)?;
        let connection = connect(file)?;
        execute_cached(&connection, "BEGIN IMMEDIATE")?;
        let lacking = migrate::lacking(&mut Tx::sqlite(&connection), migrations)?;
        if lacking > 0 {
            return Err(StoreError::Incompatible(format!(
                "the database lacks {lacking} migrations of this program: run `legwork migrate` first"
            )));
        }
        Ok(Self {
            connection,
            _alone: alone,
        })
    }

    pub fn tx(&self) -> Tx<'_> {
        Tx::sqlite(&self.connection)
    }

    /// The move from here that was begun or is over.
    pub fn own_move(&self) -> Result<Option<DatabaseMove>, StoreError> {
        moves::from_here(&mut self.tx())
    }

    /// From now on no server starts here.
    pub fn begin(&self, id: &str, other: &str, now: Timestamp) -> Result<(), StoreError> {
        moves::begin(&mut self.tx(), id, other, now)?;
        self.commit()
    }

    pub fn finish(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        moves::finish(&mut self.tx(), id, now)?;
        self.commit()
    }

    pub fn forget(&self) -> Result<bool, StoreError> {
        let forgotten = moves::forget(&mut self.tx())?;
        self.commit()?;
        Ok(forgotten)
    }

    /// Commits, and takes the lock again. In between, programs of ours are held off by the marker.
    fn commit(&self) -> Result<(), StoreError> {
        execute_cached(&self.connection, "COMMIT")?;
        execute_cached(&self.connection, "BEGIN IMMEDIATE")
    }

    /// Every table that is copied. One that refers to another comes after it.
    pub fn tables(&self) -> Result<Vec<Table>, StoreError> {
        let names = self.texts(
            "SELECT name, name FROM sqlite_master
             WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )?;
        let names = names.into_iter().map(|(name, _)| name);
        let mut left: BTreeSet<String> = names
            .filter(|name| !OWN_TABLES.contains(&name.as_str()))
            .collect();
        let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let references = self.texts(
            "SELECT m.name, f.\"table\" FROM sqlite_master m, pragma_foreign_key_list(m.name) f
             WHERE m.type = 'table'",
        )?;
        for (table, other) in references {
            needs.entry(table).or_default().insert(other);
        }
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let free = |table: &&String| needs.get(*table).is_none_or(|n| n.is_disjoint(&left));
            let Some(next) = left.iter().find(free).cloned() else {
                return Err(StoreError::Failed("tables refer to each other".into()));
            };
            left.remove(&next);
            ordered.push(self.table(&next)?);
        }
        Ok(ordered)
    }

    fn table(&self, name: &str) -> Result<Table, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT name, upper(type), pk FROM pragma_table_info(?1) ORDER BY cid")
            .map_err(error)?;
        let rows = statement.query_map([name], |row| {
            Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        });
        let (mut columns, mut key) = (Vec::new(), Vec::new());
        for (at, row) in rows.map_err(error)?.enumerate() {
            let (name, declared, place) = row.map_err(error)?;
            let kind = Kind::parse(&declared)?;
            columns.push(TableColumn { name, kind });
            if place > 0 {
                key.push((place, at));
            }
        }
        if key.is_empty() {
            let reason = format!("the table {name} has no primary key");
            return Err(StoreError::Failed(reason));
        }
        key.sort_unstable();
        Ok(Table {
            name: name.to_owned(),
            columns,
            key: key.into_iter().map(|(_, at)| at).collect(),
        })
    }

    fn texts(&self, sql: &str) -> Result<Vec<(String, String)>, StoreError> {
        let mut statement = self.connection.prepare(sql).map_err(error)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.map_err(error)?
            .collect::<Result<_, _>>()
            .map_err(error)
    }

    pub fn count(&self, table: &Table) -> Result<u64, StoreError> {
        let sql = format!("SELECT COUNT(*) FROM {}", quoted(&table.name));
        let count = self
            .connection
            .query_row(&sql, [], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(error)
    }

    /// The rows after a key, in the order of the key: at most so many, and about so many bytes.
    pub fn rows_after(
        &self,
        table: &Table,
        after: Option<&[Value<'_>]>,
        (most, bytes): (usize, usize),
    ) -> Result<Vec<RowCells>, StoreError> {
        let (columns, key) = (table.column_list(), table.key_list());
        let after = after.unwrap_or(&[]);
        let beyond = match after.len() {
            0 => String::new(),
            values => format!("WHERE ({key}) > ({})", vec!["?"; values].join(", ")),
        };
        let sql = format!(
            "SELECT {columns} FROM {} {beyond} ORDER BY {key}",
            quoted(&table.name)
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(error)?;
        for (at, value) in after.iter().enumerate() {
            statement.raw_bind_parameter(at + 1, value).map_err(error)?;
        }
        let mut rows = statement.raw_query();
        let (mut found, mut size) = (Vec::new(), 0);
        while found.len() < most && size < bytes {
            let Some(row) = rows.next().map_err(error)? else {
                break;
            };
            let row: RowCells = Row::sqlite(row).read().map_err(|failure| {
                StoreError::Failed(format!("a row of {}: {failure}", table.name))
            })?;
            size += row.0.iter().map(size_of_value).sum::<usize>();
            found.push(row);
        }
        Ok(found)
    }
}

fn size_of_value(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) => text.len() + 8,
        _ => 8,
    }
}
