//! Copies the files that the database names, a page of records at a time. A small file in the data
//! folder says how far that is done.

use std::path::{Path, PathBuf};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::{clear_line, on_terminal};
use crate::ambient::Clock;
use crate::cli::{Failure, block_on, environment, print_line};
use crate::files::{FileKey, Files, FilesError, FilesLocation, copy_file};
use crate::settings::Settings;
use crate::store::{FileCursor, HeldDatabase, StoredFiles};

/// Records in one page, and files of them that are copied at the same time.
const PAGE: i64 = 64;
const AT_ONCE: usize = 4;
/// So many missing files are named; the rest is counted.
const NAMED: u64 = 20;

#[derive(Default)]
struct Counts {
    files: u64,
    bytes: u64,
    missing: u64,
}

pub fn copy(held: &HeldDatabase, settings: &Settings, to: &FilesLocation) -> Result<(), Failure> {
    let from = &settings.files;
    if matches!(to, FilesLocation::Folder(_)) || matches!(from, FilesLocation::S3 { .. }) {
        return Err(Failure(
            "files can be moved from a folder to S3 only: --files-to s3://bucket/prefix".to_owned(),
        ));
    }
    if let Some((there, mark)) = from.moved_to()? {
        if there == to.to_string() {
            print_line(format_args!("The files are already in {to}."));
            return Ok(());
        }
        return Err(Failure(format!(
            "the files were moved to {there}; to move them again, delete {} first",
            mark.display()
        )));
    }
    let progress = Progress {
        file: progress_file(settings),
        to: to.to_string(),
    };
    print_line(format_args!("Copying the files of {from} to {to}"));
    let open = |location| {
        let incoming = settings.data.join("incoming");
        Files::open(location, &incoming, "", [0; 32], environment()).map_err(Failure)
    };
    let (here, there) = (open(from)?, open(to)?);
    let mut counts = block_on(copy_all(held, &here, &there, &progress))??;
    block_on(copy_lacking(held, &here, &there, &mut counts))??;
    held.refuse_if_used(Clock::system().now())?;
    from.mark_moved(to)?;
    progress.remove();
    clear_line();
    let Counts {
        files,
        bytes,
        missing,
    } = counts;
    print_line(format_args!(
        "{files} files copied and compared, {bytes} bytes; {missing} that the database names were \
         already missing"
    ));
    Ok(())
}

async fn copy_all(
    held: &HeldDatabase,
    from: &Files,
    to: &Files,
    progress: &Progress,
) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let mut cursor = progress.read();
    while let Some((page, next)) = held.files_after(&cursor, PAGE).await? {
        copy_page(from, to, page, &mut counts).await?;
        progress.write(&next)?;
        cursor = next;
        on_terminal(format_args!(
            "  {} files, {} bytes",
            counts.files, counts.bytes
        ));
    }
    Ok(counts)
}

/// Asks for every file at the new place, and copies what is not there: it may have been deleted since, or a server
/// may have run after an earlier try.
async fn copy_lacking(
    held: &HeldDatabase,
    from: &Files,
    to: &Files,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let mut cursor = FileCursor::default();
    while let Some((page, next)) = held.files_after(&cursor, PAGE).await? {
        let lacking = stream::iter(page.into_iter().map(|record| lacking(from, to, record)));
        let lacking: Vec<StoredFiles> = lacking.buffered(AT_ONCE).try_collect().await?;
        copy_page(from, to, lacking, counts).await?;
        cursor = next;
    }
    Ok(())
}

/// The record with those of its files that are here and, with this size, not there.
async fn lacking(
    from: &Files,
    to: &Files,
    mut record: StoredFiles,
) -> Result<StoredFiles, FilesError> {
    let mut keys = Vec::new();
    for name in std::mem::take(&mut record.keys) {
        let Some(key) = FileKey::parse(&name) else {
            continue;
        };
        let here = from.size(key).await?;
        if here.is_some() && to.size(key).await? != here {
            keys.push(name);
        }
    }
    record.keys = keys;
    Ok(record)
}

async fn copy_page(
    from: &Files,
    to: &Files,
    page: Vec<StoredFiles>,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let clock = Clock::system();
    let named = |record: StoredFiles| {
        let content_type = record.content_type;
        let keys = record.keys.into_iter();
        keys.map(move |key| (key, content_type.clone()))
    };
    let copies = page.into_iter().flat_map(named).map(|(name, kind)| {
        let now = clock.now();
        async move {
            let copied = match FileKey::parse(&name) {
                Some(key) => copy_file(from, to, key, &kind, now).await,
                None => Ok(None),
            };
            (name, copied)
        }
    });
    let mut copies = stream::iter(copies).buffer_unordered(AT_ONCE);
    while let Some((name, copied)) = copies.next().await {
        match copied.map_err(|error| {
            Failure(format!(
                "{name}: {error}. To go on, run the same command again"
            ))
        })? {
            Some(bytes) => {
                counts.files += 1;
                counts.bytes += bytes;
            }
            None => {
                counts.missing += 1;
                if counts.missing <= NAMED {
                    clear_line();
                    print_line(format_args!("  missing: {name}"));
                }
            }
        }
    }
    Ok(())
}

fn progress_file(settings: &Settings) -> PathBuf {
    settings.data.join("move-files.json")
}

/// The next move begins anew: servers may write and delete files until then.
pub fn forget_progress(settings: &Settings) -> Result<(), Failure> {
    let file = progress_file(settings);
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(named(&file, &error)),
        _ => Ok(()),
    }
}

/// How far the files are copied to one place. To another place, everything is copied.
struct Progress {
    file: PathBuf,
    to: String,
}

impl Progress {
    fn read(&self) -> FileCursor {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let read: Value = serde_json::from_str(&text).unwrap_or_default();
        if read["to"] != self.to.as_str() {
            return FileCursor::default();
        }
        let text = |name: &str| read[name].as_str().unwrap_or_default().to_owned();
        FileCursor {
            proof: text("proof"),
            document: text("document"),
            export: text("export"),
            upload: text("upload"),
        }
    }

    /// Replaces the file in one step: it is whole, or the one before.
    fn write(&self, cursor: &FileCursor) -> Result<(), Failure> {
        let text = json!({"to": self.to, "proof": cursor.proof, "document": cursor.document,
            "export": cursor.export, "upload": cursor.upload});
        let new = self.file.with_extension("new");
        let written = std::fs::write(&new, text.to_string());
        let replaced = written.and_then(|()| std::fs::rename(&new, &self.file));
        replaced.map_err(|error| named(&self.file, &error))
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

fn named(file: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("{}: {error}", file.display()))
}
