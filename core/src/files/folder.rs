//! Files in a local folder. Everything here blocks.
//!
//! A file is stored at `<root>/proofs/<first six digits>/<32 digits>`. The first digits of an id
//! are its time, so a subfolder holds the files of about five hours.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::incoming::Received;
use super::{FileKey, OWNER, blocking};
use crate::ownership;

const SUBFOLDER_DIGITS: usize = 6;
/// How much is read at a time.
const CHUNK_BYTES: u64 = 256 << 10;

pub struct Folder {
    root: PathBuf,
    /// The subfolder used last, which is known to be durable.
    durable_subfolder: Mutex<PathBuf>,
}

impl Folder {
    /// The incoming folder is beside the root: on another file system, files could not be moved in
    /// one step.
    pub fn open(root: &Path, incoming: &Path) -> Result<Self, String> {
        let of = |folder: &Path| {
            let found = std::fs::metadata(folder).map_err(|e| format!("{}: {e}", folder.display()));
            found.map(|folder| folder.dev())
        };
        make_folder(root).map_err(|e| format!("{}: {e}", root.display()))?;
        if of(root)? != of(incoming)? {
            return Err(format!(
                "{} and {} must be on the same file system",
                root.display(),
                incoming.display()
            ));
        }
        Ok(Self {
            root: root.to_owned(),
            durable_subfolder: Mutex::default(),
        })
    }

    /// When this returns, the file is durable: first its bytes, then its name. If it fails, the
    /// name does not exist, unless only the name could not be made durable. Then the file stays,
    /// because it may have replaced another.
    pub fn keep(&self, received: Received, key: FileKey) -> io::Result<()> {
        let Received { spool, file, .. } = received;
        file.sync_all()?;
        let subfolder = self.make_subfolder(key)?;
        spool.move_to(&subfolder.join(key.name()))?;
        sync_folder(&subfolder)
    }

    /// Whether the folders are there and can be written to.
    pub fn check(&self, incoming: &Path) -> io::Result<()> {
        use rustix::fs::{Access, access};
        let needed = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        for folder in [self.root.as_path(), incoming] {
            access(folder, needed)?;
        }
        Ok(())
    }

    pub fn delete(&self, key: FileKey) -> io::Result<()> {
        let removed = std::fs::remove_file(self.path(key));
        removed.or_else(|e| self.absent(e))
    }

    pub fn size(&self, key: FileKey) -> io::Result<Option<u64>> {
        match std::fs::metadata(self.path(key)) {
            Ok(file) => Ok(Some(file.len())),
            Err(e) => self.absent(e).map(|()| None),
        }
    }

    /// `None` if the file does not exist.
    pub fn open_file(&self, key: FileKey, range: &Range<u64>) -> io::Result<Option<File>> {
        let file = match File::open(self.path(key)) {
            Ok(file) => file,
            Err(e) => return self.absent(e).map(|()| None),
        };
        if range.start > range.end || range.end > file.metadata()?.len() {
            return Err(io::Error::other("the range is beyond the end of the file"));
        }
        Ok(Some(file))
    }

    /// Keys after one key and before another, in order.
    pub fn list(
        &self,
        after: Option<FileKey>,
        end: FileKey,
        limit: usize,
    ) -> io::Result<Vec<FileKey>> {
        let prefix = self.root.join(end.prefix().as_str());
        let subfolders = after.map(subfolder_name).unwrap_or_default()..=subfolder_name(end);
        let mut found = Vec::new();
        for subfolder in self.names(&prefix, |name| subfolders.contains(name))? {
            let folder = prefix.join(subfolder);
            for name in self.names(&folder, |_| true)? {
                let key = FileKey::named(end.prefix(), &name);
                found.extend(key.filter(|key| after < Some(*key) && *key < end));
            }
            if found.len() >= limit {
                found.truncate(limit);
                break;
            }
        }
        Ok(found)
    }

    /// The entries of a folder, in order. Empty if the folder does not exist.
    fn names(&self, folder: &Path, wanted: impl Fn(&String) -> bool) -> io::Result<Vec<String>> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) => return self.absent(e).map(|()| Vec::new()),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name().into_string();
            names.extend(name.ok().filter(&wanted));
        }
        names.sort_unstable();
        Ok(names)
    }

    pub fn owner_mark(&self) -> io::Result<Option<String>> {
        match std::fs::read_to_string(self.root.join(OWNER)) {
            Ok(token) => Ok(Some(token)),
            Err(e) => self.absent(e).map(|()| None),
        }
    }

    /// Replaces the mark in one step.
    pub fn mark_owner(&self, token: &str) -> io::Result<()> {
        let new = self.root.join(format!("{OWNER}.{token}"));
        let mut file = File::create(&new)?;
        file.write_all(token.as_bytes())?;
        file.sync_all()?;
        ownership::give_to_owner_of_folder(&new);
        std::fs::rename(&new, self.root.join(OWNER))?;
        sync_folder(&self.root)
    }

    fn subfolder(&self, key: FileKey) -> PathBuf {
        let prefix = self.root.join(key.prefix().as_str());
        prefix.join(subfolder_name(key))
    }

    fn path(&self, key: FileKey) -> PathBuf {
        self.subfolder(key).join(key.name())
    }

    /// Does not create the root: if the root is missing, a disk is not mounted, and files would go
    /// to the wrong one.
    fn make_subfolder(&self, key: FileKey) -> io::Result<PathBuf> {
        let subfolder = self.subfolder(key);
        let prefix = self.root.join(key.prefix().as_str());
        for folder in [&prefix, &subfolder] {
            match DirBuilder::new().mode(0o700).create(folder) {
                Ok(()) => ownership::give_to_owner_of_folder(folder),
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                Err(_) => {}
            }
        }
        // Another process may have just created them, so their existence does not mean that they
        // are durable.
        let durable = || {
            self.durable_subfolder
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if *durable() != subfolder {
            sync_folder(&self.root)?;
            sync_folder(&prefix)?;
            durable().clone_from(&subfolder);
        }
        Ok(subfolder)
    }

    /// "Not found" only means that the file is absent if the root exists.
    fn absent(&self, error: io::Error) -> io::Result<()> {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        std::fs::metadata(&self.root).map(drop)
    }
}

/// Reads a chunk at a time, as fast as the consumer asks for it.
pub fn stream(file: File, range: Range<u64>) -> BoxStream<'static, io::Result<Bytes>> {
    let start = (file, range, BytesMut::new());
    stream::try_unfold(start, |(file, range, mut buffer)| async move {
        if range.is_empty() {
            return Ok(None);
        }
        let end = range.end.min(range.start + CHUNK_BYTES);
        // Reuses the memory if the previous chunk is no longer in use.
        buffer.resize((end - range.start) as usize, 0);
        let (file, mut buffer) = blocking(move || {
            file.read_exact_at(&mut buffer, range.start)?;
            Ok::<_, io::Error>((file, buffer))
        })
        .await
        .map_err(io::Error::other)?;
        let bytes = buffer.split().freeze();
        Ok(Some((bytes, (file, end..range.end, buffer))))
    })
    .boxed()
}

pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    ownership::give_to_owner_of_folder(folder);
    match folder.parent() {
        Some(parent) if parent != Path::new("") => sync_folder(parent),
        _ => Ok(()),
    }
}

fn subfolder_name(key: FileKey) -> String {
    let mut name = key.name();
    name.truncate(SUBFOLDER_DIGITS);
    name
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
