//! File storage: a local folder or an S3 bucket.
//!
//! An upload goes through the incoming folder of this machine, never through memory, and is stored
//! completely or not at all. It is read through a URL that is valid for an hour.

mod folder;
mod incoming;
mod key;
mod location;
mod s3;
mod s3_http;
mod signature;
mod transfer;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use folder::Folder;
use futures_util::stream::BoxStream;
use incoming::Space;
use s3::S3;
use signature::Signatures;
use tokio::sync::{AcquireError, Semaphore};

use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;
use crate::domain::proofs::uploads::INCOMING_BYTES;
use crate::domain::sha256::Sha256;

pub use incoming::{Incoming, Received};
pub use key::{FileKey, Prefix};
pub use location::FilesLocation;
pub use signature::{SignatureError, SignedFile, SigningKeys};
pub use transfer::copy_file;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    #[error("the file is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("there is no such file")]
    NotFound,
    /// The disk is full, the folder is missing, or S3 does not answer. Nothing was stored.
    #[error("file storage is unavailable: {0}")]
    Unavailable(String),
}

impl From<io::Error> for FilesError {
    fn from(error: io::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// A stored file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    pub key: FileKey,
    pub size: u64,
    /// In hex.
    pub sha256: String,
    pub content_type: String,
}

/// The name of the mark that says whom the files belong to.
const OWNER: &str = "owner";

/// The bytes of a file, in chunks of bounded size.
pub type FileStream = BoxStream<'static, io::Result<Bytes>>;

/// The file storage. Cheap to clone.
#[derive(Clone)]
pub struct Files {
    place: Place,
    incoming: Arc<PathBuf>,
    space: Arc<Space>,
    signatures: Arc<Signatures>,
}

#[derive(Clone)]
enum Place {
    Folder(Arc<Folder>),
    S3(S3),
}

impl Files {
    /// What the URLs of this service begin with.
    pub fn public_url(&self) -> &str {
        self.signatures.public_url()
    }

    /// Where browsers load files from, if not from this service.
    pub fn origin(&self) -> Option<&str> {
        match &self.place {
            Place::Folder(_) => None,
            Place::S3(s3) => s3.origin(),
        }
    }

    /// Creates missing folders. `environment` holds the `AWS_...` variables for S3.
    pub fn open(
        location: &FilesLocation,
        incoming: &Path,
        public_url: &str,
        signing_keys: impl Into<SigningKeys>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, String> {
        folder::make_folder(incoming).map_err(|e| format!("{}: {e}", incoming.display()))?;
        if let Some((to, mark)) = location.moved_to().map_err(|e| e.to_string())? {
            return Err(format!(
                "the files were moved to {to}: set LEGWORK_FILES_URL to it. If you must use this folder \
                 again, delete {}",
                mark.display()
            ));
        }
        let place = match location {
            FilesLocation::Folder(root) => Place::Folder(Arc::new(Folder::open(root, incoming)?)),
            FilesLocation::S3 { bucket, prefix } => {
                Place::S3(S3::open(bucket, prefix, environment)?)
            }
        };
        Ok(Self {
            place,
            incoming: Arc::new(incoming.to_owned()),
            space: Space::new(INCOMING_BYTES),
            signatures: Arc::new(Signatures::new(public_url, signing_keys)),
        })
    }

    /// Replaces the keys that sign URLs.
    pub fn set_signing_keys(&self, keys: SigningKeys) {
        self.signatures.set_keys(keys);
    }

    /// Starts to receive a file of at most `limit` bytes. Fails when too much is being received.
    pub async fn receive(&self, limit: u64, now: Timestamp) -> Result<Incoming, FilesError> {
        Incoming::begin(&self.incoming, &self.space, limit, now).await
    }

    /// Stores a received file. When this returns, the file is durable. It replaces a file with the
    /// same key in one step, and completes even if the caller stops waiting.
    pub async fn keep(
        &self,
        received: Received,
        key: FileKey,
        content_type: &str,
    ) -> Result<StoredFile, FilesError> {
        let stored = StoredFile {
            key,
            size: received.size(),
            sha256: received.sha256().to_owned(),
            content_type: content_type.to_owned(),
        };
        match &self.place {
            Place::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.keep(received, key)).await?;
            }
            Place::S3(s3) => s3.keep(received, key, content_type).await?,
        }
        Ok(stored)
    }

    /// Stores a small file from memory.
    pub async fn put(
        &self,
        key: FileKey,
        bytes: Bytes,
        content_type: &str,
        now: Timestamp,
    ) -> Result<StoredFile, FilesError> {
        if let Place::S3(s3) = &self.place {
            let (size, sha256) = (bytes.len() as u64, hex(&Sha256::digest(&bytes)));
            s3.put(key, bytes, content_type).await?;
            let content_type = content_type.to_owned();
            return Ok(StoredFile {
                key,
                size,
                sha256,
                content_type,
            });
        }
        let mut incoming = self.receive(u64::MAX, now).await?;
        incoming.write(&bytes).await?;
        self.keep(incoming.finish().await?, key, content_type).await
    }

    /// Succeeds if the file does not exist.
    pub async fn delete(&self, key: FileKey) -> Result<(), FilesError> {
        match &self.place {
            Place::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.delete(key)).await
            }
            Place::S3(s3) => s3.delete(key).await,
        }
    }

    pub async fn size(&self, key: FileKey) -> Result<Option<u64>, FilesError> {
        match &self.place {
            Place::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.size(key)).await
            }
            Place::S3(s3) => s3.size(key).await,
        }
    }

    /// Reads a range that lies within the file.
    pub async fn read(&self, key: FileKey, range: Range<u64>) -> Result<FileStream, FilesError> {
        match &self.place {
            Place::Folder(folder) => {
                let (folder, within) = (folder.clone(), range.clone());
                let file = blocking(move || folder.open_file(key, &within)).await?;
                Ok(folder::stream(file.ok_or(FilesError::NotFound)?, range))
            }
            Place::S3(s3) => s3.read(key, range).await,
        }
    }

    /// A URL that anyone can read the file with for an hour. In S3 the content type is the one it
    /// was stored with, and the hour starts at the machine's time.
    pub async fn signed_url(
        &self,
        key: FileKey,
        content_type: &str,
        now: Timestamp,
    ) -> Result<String, FilesError> {
        match &self.place {
            Place::Folder(_) => Ok(self.signatures.url(key, content_type, now)),
            Place::S3(s3) => s3.signed_url(key).await,
        }
    }

    /// Whether files can be stored and read, as far as this shows without writing one.
    pub async fn check_place(&self) -> Result<(), FilesError> {
        match &self.place {
            Place::Folder(folder) => {
                let (folder, incoming) = (folder.clone(), self.incoming.clone());
                blocking(move || folder.check(&incoming)).await
            }
            Place::S3(s3) => s3.check().await,
        }
    }

    /// What the mark beside the files says about whom they belong to.
    pub async fn owner_mark(&self) -> Result<Option<String>, FilesError> {
        match &self.place {
            Place::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.owner_mark()).await
            }
            Place::S3(s3) => s3.owner_mark().await,
        }
    }

    pub async fn mark_owner(&self, token: &str) -> Result<(), FilesError> {
        match &self.place {
            Place::Folder(folder) => {
                let (folder, token) = (folder.clone(), token.to_owned());
                blocking(move || folder.mark_owner(&token)).await
            }
            Place::S3(s3) => s3.mark_owner(token).await,
        }
    }

    /// Checks a signed URL of the folder. Takes the path after `/files/` and the query, both
    /// undecoded.
    pub fn check(
        &self,
        key: &str,
        query: &str,
        now: Timestamp,
    ) -> Result<SignedFile, SignatureError> {
        self.signatures.check(key, query, now)
    }

    /// Stored files older than a moment, oldest first, after a key, at most `limit`. Continue after
    /// the last key until a page is empty.
    pub async fn kept_before(
        &self,
        prefix: Prefix,
        moment: Timestamp,
        after: Option<FileKey>,
        limit: usize,
    ) -> Result<Vec<FileKey>, FilesError> {
        let end = FileKey::first_of(prefix, moment);
        match &self.place {
            Place::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.list(after, end, limit)).await
            }
            Place::S3(s3) => s3.list(after, end, limit).await,
        }
    }

    /// Removes files whose upload started before a moment and was neither kept nor dropped, because
    /// the process ended. Returns how many there were.
    pub async fn remove_abandoned(&self, before: Timestamp) -> Result<usize, FilesError> {
        let folder = self.incoming.clone();
        blocking(move || incoming::remove_abandoned(&folder, before)).await
    }
}

/// How many threads may work on files at once. More would not make the disk faster, and each needs
/// memory.
static THREADS: Semaphore = Semaphore::const_new(32);

/// Runs blocking work on a blocking thread.
async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, FilesError>
where
    T: Send + 'static,
    E: Into<FilesError> + Send + 'static,
{
    on_a_thread(THREADS.acquire().await, work).await
}

/// Holds the permit until the work is done, even if the caller stops waiting.
async fn on_a_thread<P, T, E>(
    turn: Result<P, AcquireError>,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, FilesError>
where
    P: Send + 'static,
    T: Send + 'static,
    E: Into<FilesError> + Send + 'static,
{
    let turn = turn.map_err(|e| FilesError::Unavailable(e.to_string()))?;
    let work = move || {
        let done = work();
        drop(turn);
        done
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Into::into),
        Err(ended) => Err(FilesError::Unavailable(ended.to_string())),
    }
}
