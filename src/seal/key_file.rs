//! Where the master keys come from: a setting, or the file `master.key` in the data folder.
//!
//! The file has one key in base64 in each line. Usually it is one; there are more while keys are
//! rotated. The database says which of them seals.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::ambient;
use crate::domain::Secret;
use crate::domain::accounts::api_key::hex;
use crate::seal::MasterKey;

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
    /// A setting gives them.
    Given(Vec<MasterKey>),
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
        Self::Given(keys.collect())
    }

    /// What to call the source in a message.
    pub fn name(&self) -> String {
        match self {
            Self::Given(_) => "LEGWORK_MASTER_KEY".to_owned(),
            Self::File(file) => file.display().to_string(),
        }
    }

    /// The keys. Empty if there is no file.
    pub fn load(&self) -> Result<Vec<MasterKey>, KeyError> {
        match self {
            Self::Given(keys) => Ok(keys.clone()),
            Self::File(file) => read(file),
        }
    }

    /// Makes the file with a first key if there is none, and returns the keys. If another process does
    /// this at the same time, both get the same key.
    pub fn create(&self) -> Result<Vec<MasterKey>, KeyError> {
        match self {
            Self::Given(keys) => Ok(keys.clone()),
            Self::File(file) => rewrite(file, |keys| match keys.is_empty() {
                true => vec![MasterKey::generate()],
                false => keys,
            }),
        }
    }

    /// Changes the keys in the file. Of two processes that do this at the same time, the second sees
    /// what the first has written.
    pub fn change(
        &self,
        change: impl FnOnce(Vec<MasterKey>) -> Vec<MasterKey>,
    ) -> Result<Vec<MasterKey>, KeyError> {
        match self {
            Self::Given(_) => Err(KeyError::NotOurs),
            Self::File(file) => rewrite(file, change),
        }
    }
}

/// Replaces the file in one step, under a lock. The keys are durable when this returns.
fn rewrite(
    file: &Path,
    change: impl FnOnce(Vec<MasterKey>) -> Vec<MasterKey>,
) -> Result<Vec<MasterKey>, KeyError> {
    let failed = |error| io_error(file, error);
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(file.with_extension("lock"))
        .map_err(failed)?;
    lock.lock().map_err(failed)?;
    let keys = change(read(file)?);
    let new = write_beside(file, &keys).map_err(failed)?;
    std::fs::rename(new, file).map_err(failed)?;
    sync_folder(file).map_err(failed)?;
    Ok(keys)
}

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

/// Writes the keys to a new file in the same folder. They are durable when this returns.
fn write_beside(file: &Path, keys: &[MasterKey]) -> io::Result<PathBuf> {
    let new = file.with_extension(format!("new-{}", hex(&ambient::random::<8>())));
    let mut opened = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&new)?;
    for key in keys {
        writeln!(opened, "{}", key.to_base64())?;
    }
    opened.sync_all()?;
    Ok(new)
}

fn sync_folder(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn io_error(file: &Path, error: io::Error) -> KeyError {
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
