//! A copy of the database in one file, made while others write, and the way back.
//!
//! Either file is written under another name beside its own, checked, made durable, and only then
//! given its name. Whatever ends the process before leaves nothing under the name.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::ambient;
use crate::store::engine::migrate::{self, Migration};
use crate::store::engine::sqlite::{connect, error};
use crate::store::engine::{StoreError, Tx};

/// What SQLite may keep beside a database; without the database it belongs to, it is poison.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A copy that was found sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    pub bytes: u64,
    /// The last step of the schema that it has.
    pub schema: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the database is PostgreSQL, which has tools of its own: use {0}")]
    NotHere(&'static str),
    #[error("{}: {reason}", .file.display())]
    File { file: PathBuf, reason: String },
}

fn at(file: &Path, reason: impl std::fmt::Display) -> BackupError {
    BackupError::File {
        file: file.to_owned(),
        reason: reason.to_string(),
    }
}

/// Copies one moment of the database. Writers go on meanwhile; their log cannot be shortened as long
/// as it takes.
pub fn back_up(database: &Path, to: &Path, known: &[Migration]) -> Result<Backup, BackupError> {
    if !database.exists() {
        return Err(at(database, "there is no database here"));
    }
    refuse_to_replace(to)?;
    let source = connect(database).map_err(|error| at(database, error))?;
    let partial = Partial::beside(to)?;
    let Some(name) = partial.path.to_str() else {
        return Err(at(to, "the name must be UTF-8"));
    };
    source
        .execute("VACUUM INTO ?1", [name])
        .map_err(|failure| at(to, format!("cannot be written: {failure}")))?;
    let backup = check(&partial.path, known).map_err(|error| {
        at(
            to,
            format!("the copy is not sound and was removed: {error}"),
        )
    })?;
    partial.publish()?;
    Ok(backup)
}

/// Puts a copy where there is no database, and only there.
pub fn restore(from: &Path, database: &Path, known: &[Migration]) -> Result<Backup, BackupError> {
    refuse_to_replace(database)?;
    for companion in COMPANIONS {
        let left = with_suffix(database, companion);
        if left.exists() {
            let reason = "is of a database that was here: stop its server, move this file away too";
            return Err(at(&left, reason));
        }
    }
    for journal in ["-wal", "-journal"] {
        let unfinished = with_suffix(from, journal);
        if unfinished.exists() {
            let reason = "belongs to a database in use: that is no backup, make one of it";
            return Err(at(&unfinished, reason));
        }
    }
    let mut source = File::open(from).map_err(|error| at(from, error))?;
    let mut partial = Partial::beside(database)?;
    io::copy(&mut source, &mut partial.file).map_err(|e| {
        at(
            from,
            format!("cannot be copied to {}: {e}", database.display()),
        )
    })?;
    let backup = check(&partial.path, known)
        .map_err(|error| at(from, format!("is no backup that can be used: {error}")))?;
    partial.publish()?;
    Ok(backup)
}

/// Whether a copy is whole and one of ours.
fn check(file: &Path, known: &[Migration]) -> Result<Backup, StoreError> {
    let connection = connect(file)?;
    // One file alone from here on, however the database was kept that it is a copy of.
    connection
        .execute_batch("PRAGMA journal_mode = DELETE")
        .map_err(error)?;
    let unsound = |reason: String| Err(StoreError::Incompatible(reason));
    let found: String = ask(&connection, "PRAGMA integrity_check(1)")?;
    if found != "ok" {
        return unsound(format!("it is damaged: {found}"));
    }
    let strays: i64 = ask(&connection, "SELECT COUNT(*) FROM pragma_foreign_key_check")?;
    if strays > 0 {
        return unsound(format!("{strays} rows refer to rows that are not there"));
    }
    let schema = migrate::newest(&mut Tx::sqlite(&connection), known)?;
    let bytes = std::fs::metadata(file).map_err(|e| StoreError::Unavailable(e.to_string()))?;
    let bytes = bytes.len();
    // What is missing of the last page, SQLite reads as zeros.
    let page: u32 = ask(&connection, "PRAGMA page_size")?;
    if bytes % u64::from(page) != 0 {
        return unsound("it is damaged: it ends in the middle of a page".to_owned());
    }
    Ok(Backup { bytes, schema })
}

fn ask<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> Result<T, StoreError> {
    connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(error)
}

/// A file that has not got its name yet. Gone when dropped.
struct Partial {
    /// Its name to be.
    target: PathBuf,
    path: PathBuf,
    file: File,
}

impl Partial {
    /// Beside its name to be, because a file gets another name in one step only where it lies.
    fn beside(target: &Path) -> Result<Self, BackupError> {
        let refused = |error| at(target, error);
        let random = u64::from_be_bytes(ambient::random());
        let suffix = format!(".{random:016x}.partial");
        // From the root on, so that SQLite cannot take it for a URI.
        let path = std::path::absolute(with_suffix(target, &suffix)).map_err(refused)?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(refused)?;
        Ok(Self {
            target: target.to_owned(),
            path,
            file,
        })
    }

    /// Durable, first the bytes and then the name. Never replaces what has the name by now: a link
    /// cannot. Where the file system knows no links, a look and a rename must do.
    fn publish(self) -> Result<(), BackupError> {
        let named = self.file.sync_all().and_then(|()| {
            match std::fs::hard_link(&self.path, &self.target) {
                Err(_) if !is_there(&self.target) => std::fs::rename(&self.path, &self.target),
                linked => linked,
            }
        });
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        named
            .and_then(|()| File::open(folder)?.sync_all())
            .map_err(|error| at(&self.target, error))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        for suffix in COMPANIONS.iter().chain(&[""]) {
            let _ = std::fs::remove_file(with_suffix(&self.path, suffix));
        }
    }
}

fn refuse_to_replace(file: &Path) -> Result<(), BackupError> {
    if is_there(file) {
        return Err(at(file, "exists already, and is not replaced"));
    }
    Ok(())
}

/// Whatever it is: a link to nothing has the name as well.
fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    name.into()
}
