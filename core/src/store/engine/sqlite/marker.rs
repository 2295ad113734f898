//! A small file beside the database that changes with every commit, so that other processes notice at
//! once. SQLite itself tells a reader of new commits only when it begins a new read, which costs more
//! than the read; reading eight bytes that are in memory anyway costs little.
//!
//! Whoever has the database open holds a shared lock on this file. A move needs the exclusive one, so
//! it runs alone. The lock ends with the process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::store::engine::StoreError;
use crate::{ambient, ownership};

/// How long to wait for others to let go of the lock. A process that is just starting another one
/// shares its open files with it for a moment, also those that it has closed since.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
const LOCK_AGAIN_AFTER: Duration = Duration::from_millis(10);

pub struct Marker(File);

impl Marker {
    pub fn open(database: &Path) -> Result<Self, StoreError> {
        let marker = Self::open_file(database)?;
        // A file system without locks has none for a move either.
        if let Err(TryLockError::WouldBlock) = marker.lock(File::try_lock_shared) {
            return Err(StoreError::Unavailable(
                "another process is moving it (legwork move)".into(),
            ));
        }
        marker.change();
        Ok(marker)
    }

    /// For a process that must be the only one.
    pub fn open_alone(database: &Path) -> Result<Self, StoreError> {
        let marker = Self::open_file(database)?;
        match marker.lock(File::try_lock) {
            Ok(()) => Ok(marker),
            Err(TryLockError::WouldBlock) => Err(StoreError::Incompatible(
                "a server or another command uses the database: stop it first".into(),
            )),
            Err(TryLockError::Error(error)) => Err(StoreError::Unavailable(format!(
                "{} cannot be locked: {error}",
                database.display()
            ))),
        }
    }

    fn lock(
        &self,
        try_lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(), TryLockError> {
        let deadline = Instant::now() + LOCK_WITHIN;
        loop {
            match try_lock(&self.0) {
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(LOCK_AGAIN_AFTER);
                }
                done => return done,
            }
        }
    }

    fn open_file(database: &Path) -> Result<Self, StoreError> {
        let mut file = database.as_os_str().to_owned();
        file.push("-commits");
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&file)
            .map_err(|error| {
                StoreError::Unavailable(format!("{}: {error}", Path::new(&file).display()))
            })?;
        ownership::give_to_owner_of(Path::new(&file), database);
        Ok(Self(opened))
    }

    /// What the file says now. None if it cannot be read: then nobody knows who has committed.
    pub fn read(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, 0).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }

    /// Writes something new, and tells what. A counter would not do: two processes could write the same
    /// number. If the disk takes nothing, others notice a few milliseconds later.
    pub fn change(&self) -> Option<u64> {
        let bytes = ambient::random::<8>();
        self.0.write_all_at(&bytes, 0).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lets_go_in_time_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("test.db");
        let first = Marker::open(&database).unwrap();
        let second = std::thread::spawn({
            let database = database.clone();
            move || Marker::open_alone(&database).map(drop)
        });
        drop(first);
        second.join().unwrap().unwrap();
    }

    #[test]
    fn two_are_not_alone() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("test.db");
        let _first = Marker::open(&database).unwrap();
        assert!(Marker::open_alone(&database).is_err());
    }
}
