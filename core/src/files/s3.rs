//! Files in an S3 bucket.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt, ready};
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{
    Attribute, Attributes, BackoffConfig, Error, GetOptions, GetRange, MultipartUpload,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, RetryConfig,
};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::incoming::Received;
use super::s3_http::Connector;
use super::{FileKey, FilesError, OWNER, on_a_thread, signature};

/// The size of one request. Larger files are uploaded in parts.
const PART_BYTES: u64 = 8 << 20;
/// How many files are uploaded at once. One part of each is in memory.
const UPLOADS_AT_ONCE: usize = 8;
/// How long an upload waits for its turn. When the store hangs, those before it take that long as well.
const TURN_WITHIN: Duration = Duration::from_secs(20);

/// A caller waits for the response, so it is better to fail soon.
const RETRIES: RetryConfig = RetryConfig {
    backoff: BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    },
    max_retries: 3,
    retry_timeout: Duration::from_secs(20),
};

#[derive(Clone)]
pub struct S3 {
    bucket: AmazonS3,
    prefix: String,
    turns: Arc<Semaphore>,
    /// What the URLs of its files begin with.
    origin: Option<String>,
}

impl S3 {
    /// `environment` has the usual variables: `AWS_ACCESS_KEY_ID`, `AWS_REGION` and so on.
    pub fn open(
        bucket: &str,
        prefix: &str,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, String> {
        let mut builder = AmazonS3Builder::new();
        for (name, value) in environment {
            let key = name.to_ascii_lowercase().parse();
            if let (true, Ok(key)) = (name.starts_with("AWS_"), key) {
                builder = builder.with_config(key, value);
            }
        }
        let builder = builder
            .with_bucket_name(bucket)
            .with_allow_http(true)
            .with_disable_bulk_delete(true)
            .with_retry(RETRIES)
            .with_http_connector(Connector::new()?);
        Ok(Self {
            origin: origin(builder.clone()),
            bucket: builder.build().map_err(|e| e.to_string())?,
            prefix: prefix.to_owned(),
            turns: Arc::new(Semaphore::new(UPLOADS_AT_ONCE)),
        })
    }

    /// Scheme, host and port of the URLs of files.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// Runs on a blocking thread, because the file is read there and every part is hashed for its
    /// signature. It completes even if the caller stops waiting.
    pub async fn keep(
        &self,
        received: Received,
        key: FileKey,
        content_type: &str,
    ) -> Result<(), FilesError> {
        let store = self.clone();
        let attributes = attributes(content_type);
        let runtime = Handle::current();
        let turn = timeout(TURN_WITHIN, self.turns.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| FilesError::Unavailable("S3 is too slow".to_owned()))?;
        on_a_thread(turn, move || {
            runtime.block_on(store.upload(&received, &store.path(key), attributes))
        })
        .await
    }

    pub async fn put(
        &self,
        key: FileKey,
        bytes: Bytes,
        content_type: &str,
    ) -> Result<(), FilesError> {
        self.put_whole(&self.path(key), bytes, attributes(content_type))
            .await
    }

    pub async fn delete(&self, key: FileKey) -> Result<(), FilesError> {
        match self.bucket.delete(&self.path(key)).await {
            Err(e) if !is_no_such_key(&e) => Err(e.into()),
            _ => Ok(()),
        }
    }

    pub async fn size(&self, key: FileKey) -> Result<Option<u64>, FilesError> {
        let path = self.path(key);
        match self.bucket.head(&path).await {
            Ok(file) => Ok(Some(file.size)),
            Err(Error::NotFound { .. }) if !self.exists(&path).await? => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether the bucket answers: there is no file of this name, and it must say so.
    pub async fn check(&self) -> Result<(), FilesError> {
        let nothing = Path::from(self.below_prefix("check"));
        self.exists(&nothing).await.map(drop)
    }

    /// Asks with GET, because an answer to HEAD does not say whether the file is missing or the bucket.
    async fn exists(&self, path: &Path) -> Result<bool, FilesError> {
        match self.bucket.get(path).await {
            Ok(_) => Ok(true),
            Err(e) if is_no_such_key(&e) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    pub async fn read(
        &self,
        key: FileKey,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, io::Result<Bytes>>, FilesError> {
        // S3 has no empty ranges.
        if range.is_empty() {
            let size = self.size(key).await?.ok_or(FilesError::NotFound)?;
            return match range.start == range.end && range.end <= size {
                true => Ok(futures_util::stream::empty().boxed()),
                false => Err(beyond_the_end()),
            };
        }
        let wanted = GetOptions::new().with_range(Some(GetRange::Bounded(range.clone())));
        let file = match self.bucket.get_opts(&self.path(key), wanted).await {
            Ok(file) => file,
            Err(e) if is_no_such_key(&e) => return Err(FilesError::NotFound),
            Err(e) => return Err(e.into()),
        };
        if file.range != range {
            return Err(beyond_the_end());
        }
        Ok(file.into_stream().map_err(io::Error::from).boxed())
    }

    /// Uses the machine's clock, which tests cannot set: S3 compares with its own.
    pub async fn signed_url(&self, key: FileKey) -> Result<String, FilesError> {
        let path = self.path(key);
        let method = reqwest::Method::GET;
        let url = self
            .bucket
            .signed_url(method, &path, signature::GOOD_FOR)
            .await?;
        Ok(url.into())
    }

    /// Keys after one key and before another, in order. S3 lists in this order.
    pub async fn list(
        &self,
        after: Option<FileKey>,
        end: FileKey,
        limit: usize,
    ) -> Result<Vec<FileKey>, FilesError> {
        let prefix = Path::from(self.below_prefix(end.prefix().as_str()));
        let listed = match after {
            Some(after) => self
                .bucket
                .list_with_offset(Some(&prefix), &self.path(after)),
            None => self.bucket.list(Some(&prefix)),
        };
        let found: Vec<FileKey> = listed
            .try_filter_map(|file| ready(Ok(self.key(&file.location))))
            .try_take_while(|key| ready(Ok(*key < end)))
            .take(limit)
            .try_collect()
            .await?;
        Ok(found)
    }

    pub async fn owner_mark(&self) -> Result<Option<String>, FilesError> {
        let path = Path::from(self.below_prefix(OWNER));
        let token = match self.bucket.get(&path).await {
            Ok(mark) => mark.bytes().await?,
            Err(e) if is_no_such_key(&e) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        Ok(Some(String::from_utf8_lossy(&token).into_owned()))
    }

    pub async fn mark_owner(&self, token: &str) -> Result<(), FilesError> {
        let path = Path::from(self.below_prefix(OWNER));
        let bytes = Bytes::copy_from_slice(token.as_bytes());
        self.put_whole(&path, bytes, attributes("text/plain")).await
    }

    async fn upload(
        &self,
        received: &Received,
        path: &Path,
        attributes: Attributes,
    ) -> Result<(), FilesError> {
        if received.size() <= PART_BYTES {
            let bytes = part(&received.file, 0..received.size())?;
            return self.put_whole(path, bytes, attributes).await;
        }
        let options = PutMultipartOptions::from(attributes);
        let mut upload = self.bucket.put_multipart_opts(path, options).await?;
        let sent = self.send_parts(received, upload.as_mut()).await;
        if sent.is_err() {
            // If this fails too, the bucket's lifecycle rule removes the parts.
            drop(upload.abort().await);
        }
        sent
    }

    /// One part after the other: in parallel, all of them would be in memory.
    async fn send_parts(
        &self,
        received: &Received,
        upload: &mut dyn MultipartUpload,
    ) -> Result<(), FilesError> {
        let mut start = 0;
        while start < received.size() {
            let end = received.size().min(start + PART_BYTES);
            let bytes = part(&received.file, start..end)?;
            upload.put_part(bytes.into()).await?;
            start = end;
        }
        upload.complete().await?;
        Ok(())
    }

    async fn put_whole(
        &self,
        path: &Path,
        bytes: Bytes,
        attributes: Attributes,
    ) -> Result<(), FilesError> {
        let options = PutOptions::from(attributes);
        self.bucket.put_opts(path, bytes.into(), options).await?;
        Ok(())
    }

    fn path(&self, key: FileKey) -> Path {
        Path::from(self.below_prefix(&key.to_string()))
    }

    fn key(&self, path: &Path) -> Option<FileKey> {
        let below = match self.prefix.as_str() {
            "" => path.as_ref(),
            prefix => path.as_ref().strip_prefix(prefix)?.strip_prefix('/')?,
        };
        FileKey::parse(below)
    }

    fn below_prefix(&self, path: &str) -> String {
        match self.prefix.as_str() {
            "" => path.to_owned(),
            prefix => format!("{prefix}/{path}"),
        }
    }
}

/// Read off a URL that is signed with no real key, which asks nobody.
fn origin(builder: AmazonS3Builder) -> Option<String> {
    let builder = builder
        .with_access_key_id("nobody")
        .with_secret_access_key("nothing");
    let bucket = builder.build().ok()?;
    let (method, path) = (reqwest::Method::GET, Path::from("file"));
    let signing = bucket.signed_url(method, &path, signature::GOOD_FOR);
    let origin = signing.now_or_never()?.ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

/// Whether the bucket says that it has no such file. Any other 404 comes from a wrong address or a bucket that
/// is not there: then nobody knows, and a file must not count as deleted.
fn is_no_such_key(error: &Error) -> bool {
    match error {
        Error::NotFound { source, .. } => source.to_string().contains("NoSuchKey"),
        _ => false,
    }
}

fn attributes(content_type: &str) -> Attributes {
    Attributes::from_iter([
        (Attribute::ContentType, content_type.to_owned()),
        (Attribute::ContentDisposition, "inline".to_owned()),
    ])
}

fn part(file: &File, range: Range<u64>) -> io::Result<Bytes> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes.into())
}

fn beyond_the_end() -> FilesError {
    FilesError::Unavailable("the range is beyond the end of the file".to_owned())
}

impl From<Error> for FilesError {
    fn from(error: Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_files_is_known_without_asking_anybody() {
        for (more, expected) in [
            (&[][..], "https://s3.eu-north-1.amazonaws.com"),
            (
                &[("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")],
                "https://proofs.s3.eu-north-1.amazonaws.com",
            ),
            (
                &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")],
                "http://127.0.0.1:9000",
            ),
            (
                &[("AWS_ENDPOINT", "https://objects.example.com/store")],
                "https://objects.example.com",
            ),
        ] {
            let mut given = vec![("AWS_REGION".to_owned(), "eu-north-1".to_owned())];
            given.extend(
                more.iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
            );
            let s3 = S3::open("proofs", "", given).unwrap();
            assert_eq!(s3.origin(), Some(expected));
        }
    }
}
