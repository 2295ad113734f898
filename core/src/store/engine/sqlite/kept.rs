//! Rows that were looked up, kept until they change.
//!
//! The key of a program comes with each of its requests, and a task is asked for again and again while
//! somebody waits for it. So a row that is looked up a second time is kept, together with the rows of the
//! database that it was read from. SQLite tells the writer of this process which rows it changes, so each
//! is forgotten when it changes. After a commit of another process all are forgotten.

use std::any::Any;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

use rusqlite::Connection;

use crate::store::engine::sqlite::error;
use crate::store::engine::{KeptTable, Lookup, Statement, StoreError, Value};

/// Of all that is kept, about. When half of it has come since the last time, the other half goes.
const MOST_BYTES: usize = 12 << 20;
/// What a row takes beside its texts, with what it is found by: a task as it was found, or its JSON.
const ROW_BYTES: usize = 1_536;
/// How many rows are told apart. Rows that share a place are forgotten together.
const PLACES: usize = 16_384;
/// How many lookups are remembered: so many in each of so many sets. Of more that share a set and take turns, none is
/// kept.
const IN_A_SET: usize = 4;
const SETS: usize = 4_096;

/// The rows of the database that a row was read from: their places, with their versions then.
type Origins = Vec<(usize, u32)>;

pub struct Kept {
    hasher: RandomState,
    young: ByName,
    old: ByName,
    young_bytes: usize,
    versions: Box<[u32]>,
    /// The last lookups of each set, the newest first.
    asked: Box<[[u32; IN_A_SET]]>,
}

/// By the hash of a lookup.
type ByName = HashMap<u64, Entry, BuildHasherDefault<AsItIs>>;

struct Entry {
    statement: Statement,
    values: Vec<Value<'static>>,
    row: Arc<dyn Any + Send + Sync>,
    origins: Origins,
    bytes: usize,
}

/// What is known of a lookup.
pub enum Known<T> {
    Row(T),
    /// Nothing, but it was asked before: worth keeping.
    Wanted,
    Nothing,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            young: ByName::default(),
            old: ByName::default(),
            young_bytes: 0,
            versions: vec![0; PLACES].into(),
            asked: vec![[0; IN_A_SET]; SETS].into(),
        }
    }
}

impl Kept {
    pub fn look<T: 'static>(&mut self, lookup: &Lookup<T>) -> Known<T> {
        if let Some(row) = self.row(lookup) {
            return Known::Row(row);
        }
        match self.was_asked(self.name(lookup)) {
            true => Known::Wanted,
            false => Known::Nothing,
        }
    }

    /// Whether it was asked lately. From now on it was.
    fn was_asked(&mut self, name: u64) -> bool {
        let set = &mut self.asked[name as usize % SETS];
        let mark = (name >> 32) as u32;
        let known = set.iter().position(|asked| *asked == mark);
        set[..=known.unwrap_or(IN_A_SET - 1)].rotate_right(1);
        set[0] = mark;
        known.is_some()
    }

    /// The row, if it is kept.
    pub fn row<T: 'static>(&mut self, lookup: &Lookup<T>) -> Option<T> {
        let keep = lookup.keep.as_ref()?;
        let entry = self.entry(self.name(lookup))?;
        let row = entry.answers(lookup).then_some(&entry.row)?;
        row.downcast_ref::<T>().map(keep.copy)
    }

    /// A row that was just read. Nothing has changed since.
    pub fn keep<T>(&mut self, lookup: &Lookup<T>, row: &T, texts: usize, places: Vec<usize>) {
        let Some(keep) = &lookup.keep else {
            return;
        };
        let versions = |place| (place, self.versions[place]);
        let entry = Entry {
            statement: lookup.statement,
            values: lookup.values.clone(),
            row: (keep.share)(row),
            origins: places.into_iter().map(versions).collect(),
            bytes: ROW_BYTES + 2 * texts,
        };
        let name = self.name(lookup);
        self.put(name, entry);
    }

    /// Rows that a commit has changed.
    pub fn changed(&mut self, changes: &mut Changes) {
        for (word, bits) in changes.0.iter_mut().enumerate() {
            let mut rest = std::mem::take(bits);
            while rest != 0 {
                let place = word * 64 + rest.trailing_zeros() as usize;
                self.versions[place] = self.versions[place].wrapping_add(1);
                rest &= rest - 1;
            }
        }
    }

    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        let entries = self.young.values().chain(self.old.values());
        entries.map(|entry| entry.bytes).sum()
    }

    pub fn forget_all(&mut self) {
        self.young.clear();
        self.old.clear();
        self.young_bytes = 0;
    }

    fn name<T>(&self, lookup: &Lookup<T>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        lookup.statement.sql().as_ptr().hash(&mut hasher);
        for value in &lookup.values {
            match value {
                Value::Text(text) => text.hash(&mut hasher),
                Value::Int(int) => int.hash(&mut hasher),
                // A lookup has no others. They would be told apart by `answers`.
                Value::Null | Value::Real(_) => {}
            }
        }
        hasher.finish()
    }

    /// What is kept and has not changed. What is used stays.
    fn entry(&mut self, name: u64) -> Option<&Entry> {
        if !self.young.contains_key(&name)
            && let Some(used) = self.old.remove(&name)
        {
            self.put(name, used);
        }
        let entry = self.young.get(&name)?;
        let unchanged = |(place, version): &(usize, u32)| self.versions[*place] == *version;
        entry.origins.iter().all(unchanged).then_some(entry)
    }

    fn put(&mut self, name: u64, entry: Entry) {
        self.young_bytes += entry.bytes;
        if let Some(before) = self.young.insert(name, entry) {
            self.young_bytes -= before.bytes;
        }
        if self.young_bytes > MOST_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }
}

impl Entry {
    fn answers<T>(&self, lookup: &Lookup<T>) -> bool {
        self.statement == lookup.statement && self.values == lookup.values
    }
}

/// Hashes a hash.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Which rows a batch changes, by their places.
pub struct Changes([u64; PLACES / 64]);

impl Default for Changes {
    fn default() -> Self {
        Self([0; PLACES / 64])
    }
}

impl Changes {
    /// SQLite has inserted, changed or deleted a row.
    pub fn note(&mut self, table: &str, row: i64) {
        let Some(table) = KeptTable::named(table) else {
            return;
        };
        for place in [place(table, Some(row)), place(table, None)] {
            self.0[place / 64] |= 1 << (place % 64);
        }
    }
}

/// The place of a row, or of all rows of a table: what did not find one there may find any that comes.
fn place(table: KeptTable, row: Option<i64>) -> usize {
    let mut hasher = DefaultHasher::new();
    (table, row).hash(&mut hasher);
    hasher.finish() as usize % PLACES
}

/// The places of the rows that a lookup finds.
pub fn origins<T>(connection: &Connection, lookup: &Lookup<T>) -> Result<Vec<usize>, StoreError> {
    let tables = lookup.keep.as_ref().map_or(&[][..], |keep| keep.tables);
    let mut prepared = connection
        .prepare_cached(&row_ids(lookup.statement, tables))
        .map_err(error)?;
    let values = rusqlite::params_from_iter(&lookup.values);
    let found = prepared.query_row(values, |row| {
        let places = tables.iter().enumerate().map(|(column, (_, table))| {
            let row_id: Option<i64> = row.get(column)?;
            Ok(place(*table, row_id))
        });
        places.collect()
    });
    found.map_err(error)
}

/// The statement of a lookup, but with the ids that SQLite has given the rows instead of their columns.
fn row_ids(statement: Statement, tables: &[(&str, KeptTable)]) -> String {
    let from = statement.sql().find("FROM ").unwrap_or_default();
    let ids = tables.iter().map(|(name, _)| format!("{name}.rowid"));
    let ids = ids.collect::<Vec<_>>().join(", ");
    format!("SELECT {ids} {}", &statement.sql()[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many lookups share a set and take turns. Whether each is remembered when it is asked again.
    fn are_remembered(count: usize) -> bool {
        let mut kept = Kept::default();
        let names = (1..=count).map(|number| (number as u64) << 32 | 7);
        let mut ask = |name| kept.was_asked(name);
        assert!(!names.clone().any(&mut ask), "asked for the first time");
        names.clone().chain(names).all(ask)
    }

    #[test]
    fn a_few_lookups_that_share_a_set_are_remembered() {
        assert!(are_remembered(IN_A_SET));
        assert!(!are_remembered(IN_A_SET + 1));
    }
}
