//! Writes a bundle, a piece at a time.

use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::manifest::{
    About, FILES, Listed, MANIFEST, Missing, README, README_TEXT, SIGNATURE, SUMS, manifest, sums,
};
use crate::archive::{Modified, ZipWriter};
use crate::domain::accounts::api_key::hex;
use crate::domain::proofs::bundles::BundleSigner;
use crate::domain::sha256::Sha256;
use crate::domain::{Proof, Timestamp};
use crate::files::{FileKey, FileStream, Files, FilesError};
use crate::records::{TaskRecord, file_name, pretty};

/// Everything that a bundle is made from.
pub struct BundleParts {
    pub record: TaskRecord,
    pub signer: BundleSigner,
    pub made_at: Timestamp,
}

type Pieces = mpsc::Sender<io::Result<Bytes>>;

/// Sends the bytes of a bundle as fast as they are taken. When it fails, it sends why, and the receiver
/// must not take what came before for a bundle. It ends when nobody receives.
pub async fn send_bundle(parts: BundleParts, files: Files, to: Pieces) {
    let writer = Writer {
        files,
        to: to.clone(),
        zip: ZipWriter::new(Modified::NONE),
        listed: Vec::new(),
        missing: Vec::new(),
    };
    if let Err(error) = writer.write(&parts).await {
        let _ = to.send(Err(error)).await;
    }
}

struct Writer {
    files: Files,
    to: Pieces,
    zip: ZipWriter,
    listed: Vec<Listed>,
    missing: Vec<Missing>,
}

impl Writer {
    async fn write(mut self, parts: &BundleParts) -> io::Result<()> {
        let record = &parts.record;
        self.entry(README, README_TEXT.as_bytes()).await?;
        for (name, document) in &record.documents {
            self.entry(name, &pretty(document)).await?;
        }
        for proof in &record.proofs {
            self.file(proof).await?;
        }
        let about = About {
            task: record.task.id,
            environment: record.task.owner.environment,
            made_at: parts.made_at,
            key_id: parts.signer.key.id.clone(),
        };
        let text = pretty(&manifest(&about, &self.listed, &self.missing));
        self.entry(MANIFEST, &text).await?;
        let sums = sums(&self.listed);
        let signature = parts.signer.sign(sums.as_bytes());
        self.entry(SUMS, sums.as_bytes()).await?;
        self.entry(SIGNATURE, &signature).await?;
        let Self { zip, to, .. } = self;
        let end = zip.finish().map_err(io::Error::other)?;
        send(&to, end.into()).await
    }

    async fn entry(&mut self, name: &str, data: &[u8]) -> io::Result<()> {
        self.listed.push(Listed {
            name: name.to_owned(),
            bytes: data.len() as u64,
            sha256: hex(&Sha256::digest(data)),
        });
        let bytes = self.zip.entry(name, data).map_err(io::Error::other)?;
        send(&self.to, bytes.into()).await
    }

    async fn file(&mut self, proof: &Proof) -> io::Result<()> {
        let name = file_name(proof);
        debug_assert!(name.starts_with(FILES));
        if proof.files_deleted_at.is_some() {
            let reason = "expired";
            self.missing.push(Missing { name, reason });
            return Ok(());
        }
        let Some(mut chunks) = open(&self.files, &proof.file.key).await? else {
            let reason = "gone";
            self.missing.push(Missing { name, reason });
            return Ok(());
        };
        let header = self.zip.begin(&name).map_err(io::Error::other)?;
        send(&self.to, header.into()).await?;
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            self.zip.data(&chunk);
            hash.update(&chunk);
            bytes += chunk.len() as u64;
            send(&self.to, chunk).await?;
        }
        let end = self.zip.end().map_err(io::Error::other)?;
        self.listed.push(Listed {
            name,
            bytes,
            sha256: hex(&hash.finish()),
        });
        send(&self.to, end.into()).await
    }
}

/// None if the file is gone.
async fn open(files: &Files, key: &str) -> io::Result<Option<FileStream>> {
    let Some(key) = FileKey::parse(key) else {
        return Ok(None);
    };
    let Some(size) = files.size(key).await.map_err(io::Error::other)? else {
        return Ok(None);
    };
    match files.read(key, 0..size).await {
        Ok(chunks) => Ok(Some(chunks)),
        Err(FilesError::NotFound) => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}

async fn send(to: &Pieces, bytes: Bytes) -> io::Result<()> {
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    to.send(Ok(bytes)).await.map_err(gone)
}
