//! Moves the whole database from SQLite to PostgreSQL: every table of the schema, in batches, and then
//! compares every row. It can be stopped at any point and goes on where it stopped.
//! `database_moves` on both sides keeps servers away meanwhile, and from the old one afterwards.

use std::ops::ControlFlow;

use crate::ambient;
use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;
use crate::store::engine::{RowCells, Source, Table, Target, key_to_json};
use crate::store::{FileCursor, Location, MIGRATIONS, Store, StoreError, StoredFiles, Value};

/// How much is in memory at a time.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_ROWS: usize = 5_000;

#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("{0}")]
    Refused(String),
    /// A row of the target is not the one of the source.
    #[error(
        "{table}: the row {key} {how}. Something else has written to the new database: empty it, run \
         `legwork move --undo`, and move again"
    )]
    Differs {
        table: String,
        key: String,
        how: &'static str,
    },
    #[error(
        "{table}: {source_rows} rows here, {target_rows} in the new database. Something else has \
         written to it: empty it, run `legwork move --undo`, and move again"
    )]
    Counts {
        table: String,
        source_rows: u64,
        target_rows: u64,
    },
    #[error("stopped")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far a move has come.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub table: &'a str,
    /// After everything is copied, everything is compared.
    pub comparing: bool,
    pub rows: u64,
    pub total: u64,
}

/// Told of every batch; it may stop the move.
pub type Progress<'a> = dyn FnMut(Step<'_>) -> ControlFlow<()> + 'a;

/// A database that no server uses while this value lives.
pub struct HeldDatabase(Held);

enum Held {
    Sqlite(Source),
    Postgres(Store, Location),
}

impl HeldDatabase {
    /// Refuses a database that a server uses, and one that was moved. Blocks.
    pub fn open(location: &Location, now: Timestamp) -> Result<Self, TransferError> {
        let held = match location {
            Location::Sqlite { file } => {
                let source = Source::open(file, MIGRATIONS)?;
                refuse_if_finished(&source)?;
                Held::Sqlite(source)
            }
            Location::Postgres { .. } => {
                refuse_if_served(location, now)?;
                Held::Postgres(Store::open(location)?, location.clone())
            }
        };
        Ok(Self(held))
    }

    /// Refuses if a server uses the database after all. SQLite is locked; on PostgreSQL a server may have been
    /// started since. Blocks.
    pub fn refuse_if_used(&self, now: Timestamp) -> Result<(), TransferError> {
        match &self.0 {
            Held::Sqlite(_) => Ok(()),
            Held::Postgres(_, location) => refuse_if_served(location, now),
        }
    }

    /// Lets servers use a database again that was moved. Returns whether it was.
    pub fn undo(location: &Location) -> Result<bool, TransferError> {
        match location {
            Location::Sqlite { file } => Ok(Source::open(file, MIGRATIONS)?.forget()?),
            Location::Postgres { .. } => Err(refused(
                "only a move from SQLite can be undone: nothing moves from PostgreSQL",
            )),
        }
    }

    /// Records with files after a cursor, and the cursor after them. None once there are no more.
    pub async fn files_after(
        &self,
        after: &FileCursor,
        limit: i64,
    ) -> Result<Option<(Vec<StoredFiles>, FileCursor)>, StoreError> {
        let cursor = after.clone();
        let (files, after) = match &self.0 {
            Held::Sqlite(source) => source.tx().stored_files(&cursor, limit)?,
            Held::Postgres(store, _) => {
                store
                    .snapshot(move |tx| tx.stored_files(&cursor, limit))
                    .await?
            }
        };
        Ok((!files.is_empty()).then_some((files, after)))
    }
}

/// A move that is under way.
pub struct Transfer {
    source: Source,
    target: Target,
    tables: Vec<Table>,
    id: String,
    batch_rows: usize,
    arrived: bool,
}

impl Transfer {
    /// Begins a move, or goes on with one. `names` are the two databases in words. Blocks.
    pub fn begin(
        from: HeldDatabase,
        to: &Location,
        names: [&str; 2],
        now: Timestamp,
    ) -> Result<Self, TransferError> {
        let (Held::Sqlite(source), Location::Postgres { url, .. }) = (from.0, to) else {
            return Err(refused(
                "a database can be moved from SQLite to PostgreSQL only",
            ));
        };
        let tables = source.tables()?;
        let target = Target::open(url, MIGRATIONS)?;
        let begun = source.own_move()?;
        let id = begun.map_or_else(|| hex(&ambient::random::<16>()), |begun| begun.id);
        let arriving = target.arriving()?;
        match &arriving {
            Some(arriving) if arriving.id == id => {}
            Some(_) => return Err(refused("the target has been filled by another move")),
            None => {
                if let Some(table) = target.filled_table(&tables)? {
                    let reason = format!(
                        "the target is not empty: its table {table} has rows. Give an empty database"
                    );
                    return Err(TransferError::Refused(reason));
                }
                // The source first: from here on no server writes to it between two runs.
                source.begin(&id, names[1], now)?;
                target.begin(&id, names[0], now)?;
            }
        }
        Ok(Self {
            source,
            target,
            tables,
            id,
            batch_rows: BATCH_ROWS,
            arrived: arriving.is_some_and(|arriving| arriving.finished),
        })
    }

    /// Copies fewer rows at a time.
    #[must_use]
    pub fn with_batches_of(mut self, rows: usize) -> Self {
        self.batch_rows = rows;
        self
    }

    /// The tables that are copied, in their order.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| table.name.as_str())
    }

    /// Copies and compares every row. After that, a server can use the target.
    pub fn run(&self, now: Timestamp, progress: &mut Progress<'_>) -> Result<(), TransferError> {
        // A server may have written to it since.
        if self.arrived {
            return Ok(());
        }
        for table in &self.tables {
            self.copy(table, progress)?;
        }
        for table in &self.tables {
            self.compare(table, progress)?;
        }
        Ok(self.target.finish(&self.id, now)?)
    }

    /// From now on no server uses the source.
    pub fn finish(self, now: Timestamp) -> Result<(), TransferError> {
        Ok(self.source.finish(&self.id, now)?)
    }

    fn copy(&self, table: &Table, progress: &mut Progress<'_>) -> Result<(), TransferError> {
        let copied = self.target.copied(table)?;
        let rows = copied.as_ref().map_or(0, |copied| copied.rows);
        let mut pass = Pass {
            table,
            comparing: false,
            rows,
            total: self.source.count(table)?,
            last: copied.map(|copied| copied.last_key),
        };
        loop {
            let batch = self.batch(&pass)?;
            let rows = pass.rows + batch.len() as u64;
            self.target.append(table, &batch, rows)?;
            if !pass.advance(&batch, progress)? {
                return Ok(());
            }
        }
    }

    /// Every row of the source is in the target as it is here. Keys are unique, so with as many rows
    /// there is nothing else.
    fn compare(&self, table: &Table, progress: &mut Progress<'_>) -> Result<(), TransferError> {
        let lookup = self.target.prepare_lookup(table)?;
        let total = self.source.count(table)?;
        let mut pass = Pass {
            table,
            comparing: true,
            rows: 0,
            total,
            last: None,
        };
        loop {
            let batch = self.batch(&pass)?;
            let there = self.target.rows_like(table, &lookup, &batch)?;
            for (row, there) in batch.iter().zip(&there) {
                compare_rows(table, row, there.as_ref())?;
            }
            if !pass.advance(&batch, progress)? {
                break;
            }
        }
        let rows = pass.rows;
        let target_rows = self.target.count(table)?;
        if (rows, target_rows) == (total, total) {
            return Ok(());
        }
        Err(TransferError::Counts {
            table: table.name.clone(),
            source_rows: total,
            target_rows,
        })
    }

    /// The next rows of the source. None are left when it is empty.
    fn batch(&self, pass: &Pass<'_>) -> Result<Vec<RowCells>, StoreError> {
        let most = (self.batch_rows, BATCH_BYTES);
        self.source
            .rows_after(pass.table, pass.last.as_deref(), most)
    }
}

/// How far a pass through a table has come.
struct Pass<'a> {
    table: &'a Table,
    comparing: bool,
    rows: u64,
    total: u64,
    last: Option<Vec<Value<'static>>>,
}

impl Pass<'_> {
    /// Says whether there is more to do after a batch.
    fn advance(
        &mut self,
        batch: &[RowCells],
        progress: &mut Progress<'_>,
    ) -> Result<bool, TransferError> {
        self.rows += batch.len() as u64;
        let step = Step {
            table: &self.table.name,
            comparing: self.comparing,
            rows: self.rows,
            total: self.total,
        };
        if progress(step).is_break() {
            return Err(TransferError::Stopped);
        }
        if let Some(row) = batch.last() {
            self.last = Some(self.table.key_of(row));
        }
        Ok(!batch.is_empty())
    }
}

fn compare_rows(
    table: &Table,
    row: &RowCells,
    there: Option<&RowCells>,
) -> Result<(), TransferError> {
    let how = match there {
        None => "is missing in the new database",
        Some(there) if same(row, there) => return Ok(()),
        Some(_) => "is different in the new database",
    };
    Err(TransferError::Differs {
        table: table.name.clone(),
        key: key_to_json(&table.key_of(row)),
        how,
    })
}

/// Numbers are compared by their bits: a coordinate that was rounded is a difference.
fn same(one: &RowCells, other: &RowCells) -> bool {
    let pairs = one.0.iter().zip(&other.0);
    let mut equal = pairs.map(|pair| match pair {
        (Value::Real(one), Value::Real(other)) => one.to_bits() == other.to_bits(),
        (one, other) => one == other,
    });
    one.0.len() == other.0.len() && equal.all(|same| same)
}

fn refuse_if_finished(source: &Source) -> Result<(), TransferError> {
    match source.own_move()? {
        Some(gone) if gone.finished_at.is_some() => Err(TransferError::Refused(format!(
            "this database was already moved to {}. If you must move it again, run \
             `legwork move --undo` first",
            gone.other
        ))),
        _ => Ok(()),
    }
}

fn refuse_if_served(location: &Location, now: Timestamp) -> Result<(), TransferError> {
    let server = Store::database_server(location, now)?;
    if server.is_some_and(|server| server.servers > 0) {
        return Err(refused(
            "a server uses the database: stop all of them, wait half a minute if one was killed, and run the \
             same command again",
        ));
    }
    Ok(())
}

fn refused(reason: &str) -> TransferError {
    TransferError::Refused(reason.to_owned())
}
