//! Files that arrive in several requests, at any of several servers.
//!
//! What arrives is stored piece by piece where every server reaches it. The database says how much there
//! is, and which request may add to it, so a request that has been given up cannot disturb the next.

use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::SubmissionError;
use super::turns::{Turn, Turns};
use crate::ambient::{self, Clock};
use crate::domain::accounts::api_key::hex;
use crate::domain::{ProofType, Upload, UploadId, UploadPart, WorkerId};
use crate::files::{FileKey, Files, FilesError, Incoming, Prefix, Received};
use crate::store::{Store, Tx};
use crate::usecases::{self, UseCaseError, WholeUpload};

/// New bytes are stored when there are so many,
const PART_BYTES: u64 = 4 << 20;
/// or when they are so old and there are at least so many: a slow sender loses little when a server dies.
const PART_AGE: Duration = Duration::from_secs(10);
const MIN_PART_BYTES: u64 = 64 << 10;
/// A smaller part is stored again with what comes after it, so that many small requests do not make many
/// small files.
const SMALL_PART_BYTES: i64 = 512 << 10;

const OCTETS: &str = "application/octet-stream";

/// Takes uploads that are sent in several requests. Cheap to clone.
#[derive(Clone)]
pub struct Uploads {
    store: Store,
    files: Files,
    clock: Clock,
    turns: Turns,
}

impl Uploads {
    pub fn new(store: Store, files: Files, clock: Clock) -> Self {
        Self {
            store,
            files,
            clock,
            turns: Turns::default(),
        }
    }

    /// Goes on with an upload. A request of this process that still writes to it stores what it has and
    /// stops; one of another process can store nothing more.
    pub async fn resume(
        &self,
        worker: WorkerId,
        id: UploadId,
        offset: i64,
    ) -> Result<Writing, SubmissionError> {
        let turn = self.turns.take(id).await;
        let (clock, writer) = (self.clock.clone(), hex(&ambient::random::<16>()));
        let resume = move |tx: &mut Tx<'_>| {
            usecases::continue_upload(tx, worker, (id, offset), &writer, clock.now())
        };
        let (upload, last) = self.store.write::<_, UseCaseError, _>(resume).await?;
        Ok(Writing {
            uploads: self.clone(),
            upload,
            last,
            piece: None,
            at_once: false,
            turn,
        })
    }

    /// Puts the parts of uploads together, as files that were received at once.
    pub async fn assemble(
        &self,
        uploads: Vec<WholeUpload>,
    ) -> Result<Vec<(ProofType, Received)>, FilesError> {
        let mut files = Vec::new();
        for upload in uploads {
            let size = u64::try_from(upload.size_bytes).unwrap_or(0);
            let mut incoming = self.files.receive(size, self.clock.now()).await?;
            for part in &upload.parts {
                self.copy(part, &mut incoming).await?;
            }
            if incoming.size() != size {
                let reason = "the parts of an upload do not add up";
                return Err(FilesError::Unavailable(reason.to_owned()));
            }
            files.push((upload.proof_type, incoming.finish().await?));
        }
        Ok(files)
    }

    async fn copy(&self, part: &UploadPart, to: &mut Incoming) -> Result<(), FilesError> {
        let key = FileKey::parse(&part.key).ok_or(FilesError::NotFound)?;
        let size = u64::try_from(part.size_bytes).unwrap_or(0);
        let mut chunks = self.files.read(key, 0..size).await?;
        while let Some(chunk) = chunks.next().await {
            to.write(&chunk?).await?;
        }
        Ok(())
    }
}

/// A request that adds bytes to an upload.
pub struct Writing {
    uploads: Uploads,
    upload: Upload,
    /// The last part that is stored.
    last: Option<UploadPart>,
    /// What has arrived and is not stored.
    piece: Option<Piece>,
    /// All bytes of the request are stored together, or none.
    at_once: bool,
    turn: Turn,
}

struct Piece {
    incoming: Incoming,
    new_bytes: u64,
    begun: Instant,
    /// The small part whose bytes it begins with.
    replaced: Option<UploadPart>,
}

impl Piece {
    fn is_due(&self) -> bool {
        let is_old = self.begun.elapsed() >= PART_AGE && self.new_bytes >= MIN_PART_BYTES;
        is_old || self.new_bytes >= PART_BYTES
    }
}

impl Writing {
    pub fn upload(&self) -> &Upload {
        &self.upload
    }

    /// Nothing is stored before `store` is called.
    pub fn all_at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    /// Waits until another request wants to go on with the upload.
    pub async fn wanted_by_another(&self) {
        self.turn.wanted().await;
    }

    /// Takes the next bytes. Refuses more than the upload was begun for.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), SubmissionError> {
        while !bytes.is_empty() {
            let mut piece = match self.piece.take() {
                Some(piece) => piece,
                None => self.begin_piece().await?,
            };
            if piece.new_bytes + bytes.len() as u64 > self.upload.missing_bytes() {
                let limit = self.upload.new.size_bytes.unsigned_abs();
                return Err(FilesError::TooLarge { limit }.into());
            }
            let room = match self.at_once {
                true => u64::MAX,
                false => PART_BYTES - piece.new_bytes,
            };
            let (taken, rest) = bytes.split_at(room.min(bytes.len() as u64) as usize);
            piece.incoming.write(taken).await?;
            piece.new_bytes += taken.len() as u64;
            bytes = rest;
            let is_due = piece.is_due();
            self.piece = Some(piece);
            if is_due && !self.at_once {
                self.store().await?;
            }
        }
        Ok(())
    }

    async fn begin_piece(&self) -> Result<Piece, SubmissionError> {
        let uploads = &self.uploads;
        let mut incoming = uploads.files.receive(u64::MAX, uploads.clock.now()).await?;
        let small = |part: &&UploadPart| part.size_bytes < SMALL_PART_BYTES;
        let replaced = self.last.as_ref().filter(small).cloned();
        if let Some(part) = &replaced {
            uploads.copy(part, &mut incoming).await?;
        }
        Ok(Piece {
            incoming,
            new_bytes: 0,
            begun: Instant::now(),
            replaced,
        })
    }

    /// Stores what has arrived. When it returns, every server can go on from there.
    pub async fn store(&mut self) -> Result<&Upload, SubmissionError> {
        let Some(piece) = self.piece.take() else {
            return Ok(&self.upload);
        };
        let uploads = &self.uploads;
        let received = piece.incoming.finish().await?;
        let replaced = piece.replaced;
        let id = UploadId::new(uploads.clock.now(), &ambient::random_for_id());
        let key = FileKey::new(Prefix::Uploads, id.as_u128());
        let start_byte = replaced.as_ref().map(|part| part.start_byte);
        let part = UploadPart {
            start_byte: start_byte.unwrap_or(self.upload.received_bytes),
            size_bytes: received.size() as i64,
            key: key.to_string(),
        };
        uploads.files.keep(received, key, OCTETS).await?;
        let (clock, upload, stored) = (uploads.clock.clone(), self.upload.clone(), part.clone());
        let advance = move |tx: &mut Tx<'_>| {
            usecases::advance_upload(tx, &upload, &stored, replaced.as_ref(), clock.now())
        };
        match uploads.store.write(advance).await {
            Ok(upload) => self.upload = upload,
            Err(error) => {
                // After a lost connection the commit may have succeeded. The file sweep decides.
                if !matches!(error, UseCaseError::Store(_)) {
                    let _ = uploads.files.delete(key).await;
                }
                return Err(error.into());
            }
        }
        self.last = Some(part);
        Ok(&self.upload)
    }
}
