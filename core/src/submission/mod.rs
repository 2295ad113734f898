//! Turns uploaded files into stored proofs: all of a submission, or nothing.

mod threads;
mod turns;
mod uploads;

use std::io::{self, Write};

use crate::ambient::{self, Clock};
use crate::domain::geo::Point;
use crate::domain::proofs::capture::Capture;
use crate::domain::{
    AccountId, FieldError, FileMetadata, Proof, ProofFile, ProofId, ProofType, StorageQuota,
    Submission, SubmittedFile, Timestamp,
};
use crate::files::{FileKey, Files, FilesError, Prefix, Received, StoredFile};
use crate::media::{self, InspectError, Inspected};
use crate::store::{Store, Tx};
use crate::usecases::UseCaseError;

pub use threads::Purpose;
pub use uploads::{Uploads, Writing};

/// Why a submission failed.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    #[error("a file is not valid")]
    Invalid(Vec<FieldError>),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    UseCase(#[from] UseCaseError),
}

/// The fields of a submission other than its files.
#[derive(Clone, Debug)]
pub struct SubmissionDetails {
    pub gps: Option<Point>,
    pub accuracy_meters: Option<f64>,
    pub device_info: String,
    pub captures: Vec<(ProofType, Capture)>,
    pub submission_id: Option<String>,
}

impl SubmissionDetails {
    pub fn with(self, files: Vec<SubmittedFile>, quota: StorageQuota) -> Submission {
        Submission {
            gps: self.gps,
            accuracy_meters: self.accuracy_meters,
            device_info: self.device_info,
            captures: self.captures,
            submission_id: self.submission_id,
            files,
            quota,
        }
    }
}

/// Stored files that no row names yet. Discard them if they are not needed.
#[derive(Default)]
pub struct StoredFiles {
    keys: Vec<FileKey>,
    pub files: Vec<SubmittedFile>,
}

/// Accepts submissions. Cheap to clone.
#[derive(Clone)]
pub struct Submissions {
    store: Store,
    files: Files,
    clock: Clock,
    pub quota: StorageQuota,
}

impl Submissions {
    pub fn new(store: Store, files: Files, clock: Clock, quota: StorageQuota) -> Self {
        Self {
            store,
            files,
            clock,
            quota,
        }
    }

    /// Inspects all files before it stores any.
    pub async fn store_all(
        &self,
        files: Vec<(ProofType, Received)>,
    ) -> Result<StoredFiles, SubmissionError> {
        let mut inspected = Vec::new();
        let mut errors = Vec::new();
        for (proof_type, received) in files {
            match inspect(Purpose::Proof, proof_type, received).await? {
                Ok(file) => inspected.push(file),
                Err(message) => errors.push(FieldError::new(proof_type.as_str(), message)),
            }
        }
        if !errors.is_empty() {
            return Err(SubmissionError::Invalid(errors));
        }
        let mut stored = StoredFiles::default();
        for file in inspected {
            if let Err(error) = self.store_one(&mut stored, file).await {
                self.discard(&stored).await;
                return Err(error);
            }
        }
        Ok(stored)
    }

    /// Stores the original and the copy without metadata that others see. A video without metadata is stored
    /// once: it may be large.
    async fn store_one(
        &self,
        stored: &mut StoredFiles,
        file: InspectedFile,
    ) -> Result<(), SubmissionError> {
        let (now, content_type) = (self.clock.now(), file.inspected.content_type);
        let id = ProofId::new(now, &ambient::random());
        let key = FileKey::new(Prefix::Proofs, id.as_u128());
        let (original, stripped) = self.strip(file.received, content_type).await?;
        let is_clean = original.sha256() == stripped.sha256();
        let stripped = Some(stripped).filter(|_| !is_clean || file.proof_type != ProofType::Video);
        let original_key = match stripped {
            None => key,
            Some(_) => {
                let id = ProofId::new(now, &ambient::random());
                FileKey::new(Prefix::Proofs, id.as_u128())
            }
        };
        stored.keys.push(original_key);
        let original = self.files.keep(original, original_key, content_type);
        let original = original.await?;
        let mut shown: StoredFile = original.clone();
        let mut stored_bytes = original.size as i64;
        if let Some(stripped) = stripped {
            stored.keys.push(key);
            shown = self.files.keep(stripped, key, content_type).await?;
            stored_bytes += shown.size as i64;
        }
        stored.files.push(SubmittedFile {
            id,
            proof_type: file.proof_type,
            file: ProofFile {
                key: shown.key.to_string(),
                original_key: original.key.to_string(),
                content_type: content_type.to_owned(),
                size_bytes: shown.size as i64,
                sha256: original.sha256,
                stored_bytes,
            },
            metadata: metadata(&file.inspected),
        });
        Ok(())
    }

    /// Adds the copy of a file that others may see. It goes to the disk, not into memory.
    async fn strip(
        &self,
        original: Received,
        content_type: &'static str,
    ) -> Result<(Received, Received), FilesError> {
        let mut copy = self.files.receive(u64::MAX, self.clock.now()).await?;
        let (original, copy) = inspecting(Purpose::Proof, move || {
            let mut target = copy.blocking();
            media::strip(original.path(), &mut target, content_type)?;
            target.flush()?;
            drop(target);
            Ok::<_, io::Error>((original, copy))
        })
        .await??;
        Ok((original, copy.finish().await?))
    }

    pub async fn discard(&self, stored: &StoredFiles) {
        for key in &stored.keys {
            if let Err(error) = self.files.delete(*key).await {
                tracing::warn!(%error, %key, "cannot delete a file; the file sweep will retry");
            }
        }
    }

    /// Records a submission whose files are stored. `record` also returns whether it used the
    /// files: a repeated submission does not.
    pub async fn record<F>(
        &self,
        account: AccountId,
        details: SubmissionDetails,
        stored: StoredFiles,
        mut record: F,
    ) -> Result<(Vec<Proof>, bool), SubmissionError>
    where
        F: FnMut(&mut Tx<'_>, &Submission, Timestamp) -> Result<(Vec<Proof>, bool), UseCaseError>
            + Send
            + 'static,
    {
        let submission = details.with(stored.files.clone(), self.quota);
        let clock = self.clock.clone();
        let work = move |tx: &mut Tx<'_>| record(tx, &submission, clock.now());
        match self.store.write_for(account, work).await {
            Ok((proofs, true)) => Ok((proofs, true)),
            Ok((proofs, false)) => {
                self.discard(&stored).await;
                Ok((proofs, false))
            }
            Err(error) => {
                // After a lost connection the commit may have succeeded. The file sweep decides.
                if !matches!(error, UseCaseError::Store(_)) {
                    self.discard(&stored).await;
                }
                Err(error.into())
            }
        }
    }
}

/// A file that passed inspection.
pub struct InspectedFile {
    proof_type: ProofType,
    pub received: Received,
    pub inspected: Inspected,
}

/// Inspects a file. The inner error says what is wrong with the file.
pub async fn inspect(
    purpose: Purpose,
    proof_type: ProofType,
    received: Received,
) -> Result<Result<InspectedFile, String>, FilesError> {
    let inspected = inspecting(purpose, move || {
        let inspected = media::inspect(received.path(), proof_type)?;
        Ok(InspectedFile {
            proof_type,
            received,
            inspected,
        })
    });
    match inspected.await? {
        Ok(file) => Ok(Ok(file)),
        Err(InspectError::Rejected(why)) => Ok(Err(why.to_string())),
        Err(InspectError::Unreadable(error)) => Err(error.into()),
    }
}

/// Reads a file on a thread that may block.
async fn inspecting<T: Send + 'static>(
    purpose: Purpose,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, FilesError> {
    let failed = || FilesError::Unavailable("the file could not be looked at".to_owned());
    threads::run(purpose, work).await.ok_or_else(failed)
}

fn metadata(inspected: &Inspected) -> FileMetadata {
    let exif = inspected.exif;
    FileMetadata {
        taken_at: exif.taken_at,
        taken_at_is_local: exif.taken_at.is_some() && !exif.has_offset,
        place: Point::from_pair(exif.latitude, exif.longitude),
        perceptual_hash: inspected.perceptual_hash.map(u64::cast_signed),
    }
}
