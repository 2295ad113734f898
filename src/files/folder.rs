//! Files in a folder of this machine. Everything here blocks.
//!
//! A file lies at `<root>/proofs/<first six digits>/<32 digits>`: the first digits of an id are its
//! time, so a drawer holds the files of about five hours, and what is of one age lies together.

use std::fs::{DirBuilder, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::incoming::Received;
use super::{FileKey, blocking};

const DRAWER_DIGITS: usize = 6;
/// What is read in one go.
const CHUNK_BYTES: u64 = 256 << 10;

pub struct Folder {
    root: PathBuf,
    /// The drawer last used, which is known to outlive a crash.
    durable_drawer: Mutex<PathBuf>,
}

impl Folder {
    /// Files come in beside it: on another file system they could not be moved in one step.
    pub fn open(root: &Path, incoming: &Path) -> Result<Self, String> {
        let of = |folder: &Path| {
            let found = std::fs::metadata(folder).map_err(|e| format!("{}: {e}", folder.display()));
            found.map(|folder| folder.dev())
        };
        make_folder(root).map_err(|e| format!("{}: {e}", root.display()))?;
        if of(root)? != of(incoming)? {
            return Err(format!(
                "{} and {} must be on one file system",
                root.display(),
                incoming.display()
            ));
        }
        Ok(Self {
            root: root.to_owned(),
            durable_drawer: Mutex::default(),
        })
    }

    /// Kept when it returns: the bytes first, then the name. Fails before the name is there, except
    /// where the name cannot be made durable; then the file stays, as it may have replaced another.
    pub fn keep(&self, received: Received, key: FileKey) -> io::Result<()> {
        let Received { spool, file, .. } = received;
        file.sync_all()?;
        let drawer = self.make_drawer(key)?;
        spool.move_to(&drawer.join(key.name()))?;
        sync_folder(&drawer)
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

    /// None if it is not there.
    pub fn open_file(&self, key: FileKey, range: &Range<u64>) -> io::Result<Option<File>> {
        let file = match File::open(self.path(key)) {
            Ok(file) => file,
            Err(e) => return self.absent(e).map(|()| None),
        };
        if range.start > range.end || range.end > file.metadata()?.len() {
            return Err(io::Error::other("the file ends before that"));
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
        let shelf = self.root.join(end.shelf().as_str());
        let drawers = after.map(drawer_name).unwrap_or_default()..=drawer_name(end);
        let mut found = Vec::new();
        for drawer in self.names(&shelf, |name| drawers.contains(name))? {
            let folder = shelf.join(drawer);
            for name in self.names(&folder, |_| true)? {
                let key = FileKey::named(end.shelf(), &name);
                found.extend(key.filter(|key| after < Some(*key) && *key < end));
            }
            if found.len() >= limit {
                found.truncate(limit);
                break;
            }
        }
        Ok(found)
    }

    /// What is in a folder, in order; nothing, if it is not there.
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

    fn drawer(&self, key: FileKey) -> PathBuf {
        let shelf = self.root.join(key.shelf().as_str());
        shelf.join(drawer_name(key))
    }

    fn path(&self, key: FileKey) -> PathBuf {
        self.drawer(key).join(key.name())
    }

    /// The root itself is not made again: where it has vanished, a disk is not mounted, and files
    /// would go to the wrong one.
    fn make_drawer(&self, key: FileKey) -> io::Result<PathBuf> {
        let drawer = self.drawer(key);
        let shelf = self.root.join(key.shelf().as_str());
        for folder in [&shelf, &drawer] {
            match DirBuilder::new().mode(0o700).create(folder) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                _ => {}
            }
        }
        // Another process may have made them just now, so that they are there is not enough.
        let durable = || {
            self.durable_drawer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if *durable() != drawer {
            sync_folder(&self.root)?;
            sync_folder(&shelf)?;
            durable().clone_from(&drawer);
        }
        Ok(drawer)
    }

    /// Not found is an answer only as long as the place itself is there.
    fn absent(&self, error: io::Error) -> io::Result<()> {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        std::fs::metadata(&self.root).map(drop)
    }
}

/// Reads as fast as it is asked for, a piece at a time.
pub fn stream(file: File, range: Range<u64>) -> BoxStream<'static, io::Result<Bytes>> {
    let start = (file, range, BytesMut::new());
    stream::try_unfold(start, |(file, range, mut buffer)| async move {
        if range.is_empty() {
            return Ok(None);
        }
        let end = range.end.min(range.start + CHUNK_BYTES);
        // Takes the same memory again if the piece before is no longer used.
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
    match folder.parent() {
        Some(parent) if parent != Path::new("") => sync_folder(parent),
        _ => Ok(()),
    }
}

fn drawer_name(key: FileKey) -> String {
    let mut name = key.name();
    name.truncate(DRAWER_DIGITS);
    name
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
