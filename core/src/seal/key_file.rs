//! Where the master keys come from: a setting, or the file `master.key` in the data folder.
//!
//! The file has one key in base64 in each line. Usually it is one; there are more while keys are
//! rotated. The database says which of them seals.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::domain::Secret;
use crate::domain::accounts::api_key::hex;
use crate::seal::MasterKey;
use crate::{ambient, ownership};

pub const KEY_FILE: &str = "master.key";

/// Why the master keys cannot be had, as a message for the operator.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("{file}: {error}", file = file.display())]
    Io { file: PathBuf, error: io::Error },
    #[error(
        "{file} can be accessed by other users (mode {mode:03o}). Run: chmod 600 {file}. \
         If others may have read it, run `legwork secrets rotate` afterwards",
        file = file.display()
    )]
    Exposed { file: PathBuf, mode: u32 },
    #[error(
        "{file} holds no master key: each line must be 32 bytes in base64. Copy the right file \
         from a backup or from another server",
        file = file.display()
    )]
    Malformed { file: PathBuf },
    #[error("the master key comes from LEGWORK_MASTER_KEY, so the program cannot change it")]
    NotOurs,
}

/// Where a process gets its master keys.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A setting gives them. `data` is the data folder.
    Given { keys: Vec<MasterKey>, data: PathBuf },
    /// They are in a file.
    File(PathBuf),
}

impl KeySource {
    /// The setting, or else the file in the data folder.
    pub fn new(setting: Option<&Secret>, data: &Path) -> Self {
        let Some(keys) = setting else {
            return Self::File(data.join(KEY_FILE));
        };
        // The setting was checked when it was read.
        let keys = keys.expose().split(',').filter_map(MasterKey::from_base64);
        Self::Given {
            keys: keys.collect(),
            data: data.to_owned(),
        }
    }

    /// What to call the source in a message.
    pub fn name(&self) -> String {
        match self {
            Self::Given { .. } => "LEGWORK_MASTER_KEY".to_owned(),
            Self::File(file) => file.display().to_string(),
        }
    }

    /// The keys. Empty if there is no file.
    pub fn load(&self) -> Result<Vec<MasterKey>, KeyError> {
        match self {
            Self::Given { keys, .. } => Ok(keys.clone()),
            Self::File(file) => read(file),
        }
    }

    /// Makes the file with a first key if there is none, and returns the keys. If another process does
    /// this at the same time, both get the same key. A file with keys is only read: it may be on a
    /// read-only disk.
    pub fn create(&self) -> Result<Vec<MasterKey>, KeyError> {
        let keys = self.load()?;
        if !keys.is_empty() {
            return Ok(keys);
        }
        self.change(|keys| match keys.is_empty() {
            true => vec![MasterKey::generate()],
            false => keys,
        })
    }

    /// Changes the keys in the file. Of two processes that do this at the same time, the second sees
    /// what the first has written.
    pub fn change(
        &self,
        change: impl FnOnce(Vec<MasterKey>) -> Vec<MasterKey>,
    ) -> Result<Vec<MasterKey>, KeyError> {
        let lock = self.lock()?.ok_or(KeyError::NotOurs)?;
        let keys = change(lock.load()?);
        lock.replace(&keys)?;
        Ok(keys)
    }

    /// Nobody else changes the file until the lock is dropped. `None` if a setting gives the keys.
    pub fn lock(&self) -> Result<Option<KeyLock>, KeyError> {
        match self {
            Self::Given { .. } => Ok(None),
            Self::File(file) => KeyLock::new(file).map(Some),
        }
    }
}

/// The right to change the file.
#[derive(Debug)]
pub struct KeyLock {
    file: PathBuf,
    _locked: File,
}

impl KeyLock {
    fn new(file: &Path) -> Result<Self, KeyError> {
        let failed = |error| io_error(file, error);
        let lock = file.with_extension("lock");
        let locked = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock)
            .map_err(failed)?;
        ownership::give_to_owner_of_folder(&lock);
        locked.lock().map_err(failed)?;
        Ok(Self {
            file: file.to_owned(),
            _locked: locked,
        })
    }

    /// The keys. Empty if there is no file.
    pub fn load(&self) -> Result<Vec<MasterKey>, KeyError> {
        read(&self.file)
    }

    /// Replaces the file in one step. The keys are durable when this returns.
    pub fn replace(&self, keys: &[MasterKey]) -> Result<(), KeyError> {
        let failed = |error| io_error(&self.file, error);
        self.remove_leftovers().map_err(failed)?;
        let lines = keys.iter().map(|key| key.to_base64() + "\n");
        replace_file(&self.file, &lines.collect::<String>()).map_err(failed)
    }

    /// Files that a process left when it was killed while it replaced the keys. They hold keys.
    fn remove_leftovers(&self) -> io::Result<()> {
        let (Some(folder), Some(name)) = (self.file.parent(), self.file.file_stem()) else {
            return Ok(());
        };
        let begins = format!("{}.{NEW}", name.to_string_lossy());
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&begins) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// What the extension of a file begins with that is to replace another.
const NEW: &str = "new-";

fn read(file: &Path) -> Result<Vec<MasterKey>, KeyError> {
    let failed = |error| io_error(file, error);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mode = std::fs::metadata(file).map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        let file = file.to_owned();
        return Err(KeyError::Exposed { file, mode });
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let keys: Option<Vec<_>> = lines.map(MasterKey::from_base64).collect();
    keys.filter(|keys| !keys.is_empty())
        .ok_or_else(|| KeyError::Malformed {
            file: file.to_owned(),
        })
}

/// Replaces a file by a new one that only its owner can read. It is durable when this returns.
pub(super) fn replace_file(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension(format!("{NEW}{}", hex(&ambient::random::<8>())));
    let mut opened = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&new)?;
    opened.write_all(text.as_bytes())?;
    ownership::give_to_owner_of_folder(&new);
    opened.sync_all()?;
    std::fs::rename(new, file)?;
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

pub(super) fn io_error(file: &Path, error: io::Error) -> KeyError {
    KeyError::Io {
        file: file.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn ids(keys: &[MasterKey]) -> Vec<String> {
        keys.iter().map(MasterKey::id).collect()
    }

    fn source(folder: &tempfile::TempDir) -> KeySource {
        KeySource::new(None, folder.path())
    }

    #[test]
    fn a_file_is_made_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(&folder);
        assert!(source.load().unwrap().is_empty());
        let made = source.create().unwrap();
        assert_eq!(made.len(), 1);
        assert_eq!(ids(&source.create().unwrap()), ids(&made));
        assert_eq!(ids(&source.load().unwrap()), ids(&made));
        let mode = std::fs::metadata(source.name()).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        // The key and the lock; nothing else is left over.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn those_who_make_it_at_the_same_time_get_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let barrier = std::sync::Barrier::new(8);
        let made = std::thread::scope(|scope| {
            let make = || {
                barrier.wait();
                source(&folder).create().unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
            let made = threads.into_iter().map(|thread| thread.join().unwrap());
            made.map(|keys| ids(&keys)).collect::<Vec<_>>()
        });
        assert!(made.iter().all(|keys| *keys == made[0]), "{made:?}");
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(&folder);
        source.create().unwrap();
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(source.name(), PermissionsExt::from_mode(mode)).unwrap();
            let refused = source.load().unwrap_err();
            assert!(matches!(refused, KeyError::Exposed { .. }), "{refused}");
            assert!(refused.to_string().contains("chmod 600"), "{refused}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(&folder);
        source.create().unwrap();
        for text in ["", "\n", "hush", "aHVzaA==\n"] {
            std::fs::write(source.name(), text).unwrap();
            let refused = source.load().unwrap_err();
            assert!(matches!(refused, KeyError::Malformed { .. }), "{refused}");
            assert!(!refused.to_string().contains("aHVzaA"), "{refused}");
        }
    }

    #[test]
    fn a_file_with_keys_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(&folder);
        source.create().unwrap();
        let inode = || std::fs::metadata(source.name()).unwrap().ino();
        let before = inode();
        source.create().unwrap();
        assert_eq!(inode(), before);
    }

    #[test]
    fn keys_that_a_killed_process_left_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(&folder);
        source.create().unwrap();
        let left = folder.path().join("master.new-0011223344556677");
        let other = folder.path().join("master.key.copy");
        for file in [&left, &other] {
            std::fs::copy(source.name(), file).unwrap();
        }
        source.change(|keys| keys).unwrap();
        assert!(!left.exists() && other.exists());
        assert_eq!(source.load().unwrap().len(), 1);
    }

    #[test]
    fn no_change_of_the_file_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        source(&folder).create().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let add = |mut keys: Vec<MasterKey>| {
                        keys.push(MasterKey::generate());
                        keys
                    };
                    source(&folder).change(add).unwrap();
                });
            }
        });
        assert_eq!(source(&folder).load().unwrap().len(), 9);
        let given = KeySource::new(Some(&Secret::presented("x")), folder.path());
        assert!(matches!(given.change(|keys| keys), Err(KeyError::NotOurs)));
    }
}
