//! A file that is being received. It stays in the incoming folder until it is kept or dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{FilesError, blocking};
use crate::ambient;
use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;
use crate::domain::sha256::Sha256;

/// How much is buffered before it is hashed and written on a blocking thread.
const BUFFER_BYTES: usize = 64 << 10;
/// The same where the thread may block.
const BLOCKING_BYTES: usize = 64 << 10;

/// How much this process has in the incoming folder, and how much it may have.
pub(super) struct Space {
    used: AtomicU64,
    limit: u64,
}

impl Space {
    pub fn new(limit: u64) -> Arc<Self> {
        let used = AtomicU64::new(0);
        Arc::new(Self { used, limit })
    }
}

/// What one file has of it. It is given back on drop.
struct Share {
    space: Arc<Space>,
    bytes: u64,
}

impl Share {
    fn of(space: &Arc<Space>) -> Self {
        let (space, bytes) = (space.clone(), 0);
        Self { space, bytes }
    }

    fn take(&mut self, bytes: u64) -> Result<(), FilesError> {
        let used = self.space.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        if used + bytes > self.space.limit {
            let reason = "too many files are being received at once";
            return Err(FilesError::Unavailable(reason.to_owned()));
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.space.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A file that is being received. Dropping it removes the file.
pub struct Incoming {
    spool: Spool,
    /// `None` while a thread writes. It stays `None` if the caller stopped waiting for that write.
    writer: Option<Writer>,
    buffer: Vec<u8>,
    size: u64,
    limit: u64,
}

struct Writer {
    file: File,
    hash: Sha256,
}

impl Incoming {
    pub(super) async fn begin(
        folder: &Path,
        space: &Arc<Space>,
        limit: u64,
        now: Timestamp,
    ) -> Result<Self, FilesError> {
        let share = Share::of(space);
        let path = folder.join(spool_name(now));
        blocking(move || {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            Ok::<_, io::Error>(Self::on(file, path, share, limit))
        })
        .await
    }

    fn on(file: File, path: PathBuf, share: Share, limit: u64) -> Self {
        let hash = Sha256::new();
        Self {
            spool: Spool {
                path,
                moved: false,
                share,
            },
            writer: Some(Writer { file, hash }),
            buffer: Vec::new(),
            size: 0,
            limit,
        }
    }

    /// Appends bytes. Fails if the file would exceed its limit. Drop the file then: it cannot be
    /// completed.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), FilesError> {
        self.count(bytes.len() as u64)?;
        while !bytes.is_empty() {
            let room = BUFFER_BYTES - self.buffer.len();
            let (taken, rest) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(taken);
            bytes = rest;
            if self.buffer.len() == BUFFER_BYTES {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Appends bytes on this thread, which may block. Not after `write`, which keeps some back.
    pub fn blocking(&mut self) -> impl io::Write {
        io::BufWriter::with_capacity(BLOCKING_BYTES, Blocking(self))
    }

    fn count(&mut self, bytes: u64) -> Result<(), FilesError> {
        let limit = self.limit;
        let size = self.size.saturating_add(bytes);
        if size > limit {
            return Err(FilesError::TooLarge { limit });
        }
        self.spool.share.take(bytes)?;
        self.size = size;
        Ok(())
    }

    /// How many bytes were received so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Finishes the file after all bytes were received.
    pub async fn finish(mut self) -> Result<Received, FilesError> {
        self.flush().await?;
        let Writer { file, hash } = self.writer.ok_or_else(interrupted)?;
        Ok(Received {
            spool: self.spool,
            file,
            size: self.size,
            sha256: hex(&hash.finish()),
        })
    }

    async fn flush(&mut self) -> Result<(), FilesError> {
        let mut writer = self.writer.take().ok_or_else(interrupted)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let (writer, buffer) = blocking(move || {
            writer.hash.update(&buffer);
            writer.file.write_all(&buffer)?;
            buffer.clear();
            Ok::<_, io::Error>((writer, buffer))
        })
        .await?;
        self.writer = Some(writer);
        self.buffer = buffer;
        Ok(())
    }
}

struct Blocking<'a>(&'a mut Incoming);

impl io::Write for Blocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let incoming = &mut self.0;
        incoming
            .count(bytes.len() as u64)
            .map_err(io::Error::other)?;
        let writer = incoming.writer.as_mut();
        let writer = writer.ok_or_else(|| io::Error::other(interrupted()))?;
        writer.hash.update(bytes);
        writer.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn interrupted() -> FilesError {
    FilesError::Unavailable("an earlier write of this file failed".to_owned())
}

/// A complete file that can be inspected. Dropping it without keeping it removes the file.
pub struct Received {
    pub(super) spool: Spool,
    pub(super) file: File,
    size: u64,
    sha256: String,
}

impl Received {
    pub fn size(&self) -> u64 {
        self.size
    }

    /// In hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its path until it is kept or dropped.
    pub fn path(&self) -> &Path {
        &self.spool.path
    }
}

/// A file in the incoming folder. It is removed on drop.
pub(super) struct Spool {
    path: PathBuf,
    moved: bool,
    share: Share,
}

impl Spool {
    /// Moves the file into place, replacing what was there.
    pub fn move_to(mut self, place: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, place)?;
        self.moved = true;
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.moved {
            return;
        }
        // If this fails, `remove_abandoned` removes the file later.
        let path = std::mem::take(&mut self.path);
        let remove = move || drop(std::fs::remove_file(path));
        // Removing a large file takes milliseconds, and this thread may be serving requests.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

/// The time in 12 hex digits, so that the name shows the age of the file, and 20 random digits.
fn spool_name(now: Timestamp) -> String {
    let millis = now.as_millis().max(0);
    format!("{millis:012x}{}", hex(&ambient::random_for_id()))
}

/// Removes files of processes that ended while receiving them.
pub(super) fn remove_abandoned(folder: &Path, before: Timestamp) -> io::Result<usize> {
    let mut removed = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let begun = name.to_str().and_then(begun_at);
        if begun.is_some_and(|begun| begun < before.as_millis()) {
            match std::fs::remove_file(entry.path()) {
                Ok(()) => removed += 1,
                // Another process was faster.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(removed)
}

/// When the spool file with this name was started. `None` if the name is not that of a spool file.
fn begun_at(name: &str) -> Option<i64> {
    let ours = name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit());
    ours.then(|| i64::from_str_radix(&name[..12], 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(file: File, folder: &Path) -> Incoming {
        let share = Share::of(&Space::new(u64::MAX));
        Incoming::on(file, folder.join("none"), share, u64::MAX)
    }

    #[tokio::test]
    async fn the_incoming_folder_has_room_for_so_much_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (space, now) = (Space::new(10), Timestamp::from_millis(0));
        let receive = || Incoming::begin(folder.path(), &space, 100, now);
        let mut first = receive().await.unwrap();
        first.write(b"123456").await.unwrap();
        let mut second = receive().await.unwrap();
        second.write(b"1234").await.unwrap();
        let failed = second.write(b"5").await.unwrap_err();
        assert!(matches!(failed, FilesError::Unavailable(_)), "{failed}");
        drop(second);
        let kept = first.finish().await.unwrap();
        let mut third = receive().await.unwrap();
        third.write(b"1234").await.unwrap();
        assert!(third.write(b"5").await.is_err());
        drop((kept, third));
        assert_eq!(space.used.load(Ordering::Relaxed), 0);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_full_disk_is_no_place_for_files() {
        let folder = tempfile::tempdir().unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut incoming = received(full, folder.path());
        incoming.write(b"small enough to wait").await.unwrap();
        let failed = incoming.finish().await.err().unwrap();
        assert!(matches!(failed, FilesError::Unavailable(_)), "{failed}");

        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut incoming = received(full, folder.path());
        for _ in 0..2 {
            let failed = incoming.write(&[0; BUFFER_BYTES]).await.unwrap_err();
            assert!(matches!(failed, FilesError::Unavailable(_)), "{failed}");
        }
        assert!(incoming.finish().await.is_err(), "it is not whole");
    }

    #[test]
    fn the_age_of_a_spool_file_is_in_its_name() {
        let now = Timestamp::from_millis(1_763_200_000_123);
        let name = spool_name(now);
        assert_eq!(begun_at(&name), Some(now.as_millis()));
        assert_ne!(name, spool_name(now));
        assert_eq!(begun_at("notes.txt"), None);
        assert_eq!(begun_at("lost+found"), None);
    }
}
