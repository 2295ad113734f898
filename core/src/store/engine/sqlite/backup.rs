//! Backs up the database into one file, while others write, and restores it.
//!
//! The new file is written under a temporary name in the same folder, checked, made durable, and only
//! then renamed. If the process ends before that, there is no file under the final name.

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

/// Files that SQLite may keep beside a database. Beside another database they would damage it.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A backup that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    pub bytes: u64,
    /// The last migration that was applied to it.
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

/// Copies a snapshot of the database. Writers go on meanwhile, but the write-ahead log cannot be
/// truncated until the copy is finished.
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
    let backup = check(&partial.path, known)
        .map_err(|error| at(to, format!("the copy is damaged and was removed: {error}")))?;
    partial.publish()?;
    Ok(backup)
}

/// Restores a backup where there is no database, and only there.
pub fn restore(from: &Path, database: &Path, known: &[Migration]) -> Result<Backup, BackupError> {
    refuse_to_replace(database)?;
    for companion in COMPANIONS {
        let left = with_suffix(database, companion);
        if left.exists() {
            let reason =
                "belongs to a database that was here: stop its server and move this file away too";
            return Err(at(&left, reason));
        }
    }
    for journal in ["-wal", "-journal"] {
        let unfinished = with_suffix(from, journal);
        if unfinished.exists() {
            let reason = "belongs to a database that is in use, which is not a backup: run `legwork backup` on it";
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
        .map_err(|error| at(from, format!("is not a usable backup: {error}")))?;
    partial.publish()?;
    Ok(backup)
}

/// Checks that a copy is undamaged and a database of this program.
fn check(file: &Path, known: &[Migration]) -> Result<Backup, StoreError> {
    let connection = connect(file)?;
    // From here on it is a single file, whatever the journal mode of the original was.
    connection
        .execute_batch("PRAGMA journal_mode = DELETE")
        .map_err(error)?;
    let damaged = |reason: String| Err(StoreError::Incompatible(reason));
    let found: String = ask(&connection, "PRAGMA integrity_check(1)")?;
    if found != "ok" {
        return damaged(format!("it is damaged: {found}"));
    }
    let orphans: i64 = ask(&connection, "SELECT COUNT(*) FROM pragma_foreign_key_check")?;
    if orphans > 0 {
        return damaged(format!("{orphans} rows refer to rows that do not exist"));
    }
    let schema = migrate::newest(&mut Tx::sqlite(&connection), known)?;
    let bytes = std::fs::metadata(file).map_err(|e| StoreError::Unavailable(e.to_string()))?;
    let bytes = bytes.len();
    // SQLite reads the missing part of the last page as zeros.
    let page: u32 = ask(&connection, "PRAGMA page_size")?;
    if bytes % u64::from(page) != 0 {
        return damaged("it is damaged: it ends in the middle of a page".to_owned());
    }
    Ok(Backup { bytes, schema })
}

fn ask<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> Result<T, StoreError> {
    connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(error)
}

/// A file under a temporary name. Deleted when dropped.
struct Partial {
    /// Its final name.
    target: PathBuf,
    path: PathBuf,
    file: File,
}

impl Partial {
    /// In the folder of its final name: a file can be renamed atomically only within a file system.
    fn beside(target: &Path) -> Result<Self, BackupError> {
        let refused = |error| at(target, error);
        let random = u64::from_be_bytes(ambient::random());
        let suffix = format!(".{random:016x}.partial");
        // An absolute path, so that SQLite cannot take it for a URI.
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

    /// Makes the bytes durable, then the name. A hard link never replaces a file that has the name by
    /// now. On file systems without links, the name is checked before a rename.
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

/// True for a dangling symbolic link too: it has the name.
fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    name.into()
}
