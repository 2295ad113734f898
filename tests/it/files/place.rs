//! A place for files, of its own for each test.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use legwork::ambient;
use legwork::domain::{TaskId, Timestamp};
use legwork::files::{FileKey, Files, FilesError, FilesLocation, Prefix, Received, StoredFile};

use super::peer;
use crate::support::Client;

pub const NOW: Timestamp = Timestamp::from_millis(1_794_744_000_000);
pub const PUBLIC_URL: &str = "https://legwork.example";
pub const PLENTY: u64 = 1 << 30;

pub struct Place {
    pub files: Files,
    /// Holds the incoming folder, and the one for kept files where that is the place.
    pub folder: tempfile::TempDir,
    in_s3: bool,
}

/// Runs each named scenario in a folder and in S3.
macro_rules! in_both_places {
    ($($scenario:ident),+ $(,)?) => { $(
        mod $scenario {
            use super::super::place::{Place, tell};

            #[test]
            fn in_a_folder() {
                tell(async { super::$scenario(Place::folder()).await });
            }

            #[test]
            fn in_s3() {
                tell(async { super::$scenario(Place::s3()).await });
            }
        }
    )+ };
}
pub(super) use in_both_places;

pub fn tell(scenario: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(scenario);
}

impl Place {
    pub fn folder() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = FilesLocation::Folder(folder.path().join("files"));
        Self::open(folder, &location, Vec::new(), false)
    }

    pub fn s3() -> Self {
        Self::s3_below("")
    }

    /// Below a prefix of its own that begins like this.
    pub fn s3_below(beginning: &str) -> Self {
        let random: [u8; 8] = ambient::random();
        let location = FilesLocation::S3 {
            bucket: peer::BUCKET.to_owned(),
            prefix: format!("{beginning}tests/{:016x}", u64::from_be_bytes(random)),
        };
        Self::s3_at(&location, peer::address())
    }

    pub fn s3_at(location: &FilesLocation, address: std::net::SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::open(folder, location, peer::environment(address), true)
    }

    fn open(
        folder: tempfile::TempDir,
        location: &FilesLocation,
        environment: Vec<(String, String)>,
        in_s3: bool,
    ) -> Self {
        let incoming = folder.path().join("incoming");
        let files = Files::open(location, &incoming, PUBLIC_URL, [7; 32], environment).unwrap();
        Self {
            files,
            folder,
            in_s3,
        }
    }

    pub fn incoming(&self) -> PathBuf {
        self.folder.path().join("incoming")
    }

    /// Takes the bytes in, in pieces that fit no buffer.
    pub async fn receive(&self, bytes: &[u8]) -> Received {
        let mut incoming = self.files.receive(PLENTY, NOW).await.unwrap();
        for piece in bytes.chunks(70_001) {
            incoming.write(piece).await.unwrap();
        }
        assert_eq!(incoming.size(), bytes.len() as u64);
        incoming.finish().await.unwrap()
    }

    pub async fn keep(&self, key: FileKey, bytes: &[u8]) -> StoredFile {
        let received = self.receive(bytes).await;
        self.files.keep(received, key, "image/png").await.unwrap()
    }

    pub async fn read(
        &self,
        key: FileKey,
        range: std::ops::Range<u64>,
    ) -> Result<Vec<u8>, FilesError> {
        let stream = self.files.read(key, range).await?;
        let pieces: Vec<Bytes> = stream.try_collect().await.unwrap();
        Ok(pieces.concat())
    }

    pub async fn read_all(&self, key: FileKey) -> Vec<u8> {
        let size = self.files.size(key).await.unwrap().unwrap();
        self.read(key, 0..size).await.unwrap()
    }

    /// Opens a signed URL so many seconds later: its content type and the text of the file, or none
    /// if it opens nothing. For a folder this does what the server is to do.
    pub async fn open_url(&self, url: &str, seconds: u64) -> Option<(String, String)> {
        if self.in_s3 {
            let address = peer::address();
            let path = url.strip_prefix(&format!("http://{address}")).unwrap();
            let later = ("x-test-seconds-later", seconds.to_string());
            let reply = Client::new(address, None)
                .send("GET", path, &[(later.0, &later.1)], "")
                .await;
            let found = reply.status == 200;
            return found.then(|| (reply.header("content-type").to_owned(), reply.text.clone()));
        }
        let path = url.strip_prefix(&format!("{PUBLIC_URL}/files/")).unwrap();
        let (key, query) = path.split_once('?')?;
        let now = NOW.plus(Duration::from_secs(seconds));
        let signed = self.files.check(key, query, now).ok()?;
        let bytes = self.read_all(signed.key).await;
        Some((signed.content_type, String::from_utf8(bytes).unwrap()))
    }

    /// Waits until nothing is on its way in any more.
    pub async fn nothing_is_incoming(&self) {
        let empty = async {
            while std::fs::read_dir(self.incoming()).unwrap().count() > 0 {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), empty).await;
        waited.expect("nothing is left in the incoming folder");
    }
}

pub fn new_key() -> FileKey {
    key_of(NOW)
}

/// The key of a file of this moment.
pub fn key_of(moment: Timestamp) -> FileKey {
    let id = TaskId::new(moment, &ambient::random());
    FileKey::new(Prefix::Proofs, id.as_u128())
}

/// Bytes that differ from place to place.
pub fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 31 + at / 251) as u8).collect()
}
