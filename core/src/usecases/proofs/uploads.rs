//! Files that a worker sends in several requests: begun, continued, deleted, used for a proof.

use crate::domain::proofs::uploads::upload::OPEN_UPLOADS;
use crate::domain::{
    Action, FieldError, FieldErrors, NewUpload, ProofType, Task, Timestamp, Upload, UploadId,
    UploadPart, WorkerId, WorkerStatus,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::tasks::worker_tasks::own_task;

/// Begins an upload for a task that the worker holds and that takes proof now. One with a known name is
/// found again.
pub fn begin_upload(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: UploadId,
    new: &NewUpload,
    now: Timestamp,
) -> Result<Upload, UseCaseError> {
    // Locked, so that two at once cannot exceed the limit together.
    let holder = tx
        .worker_to_change(worker)?
        .ok_or(UseCaseError::Unauthorized)?;
    if holder.status == WorkerStatus::Suspended {
        return Err(UseCaseError::AccountSuspended);
    }
    if let Some(upload) = known(tx, worker, new, now)? {
        return Ok(upload);
    }
    let task = own_task(tx, worker, new.task)?;
    task.act(Action::SubmitProof, now)?;
    if !task.proof_types.contains(&new.proof_type) {
        let error = FieldError::new("proof_type", "is not a proof type of this task");
        return Err(UseCaseError::Invalid(vec![error].into()));
    }
    if tx.count_open_uploads(worker, now)? >= OPEN_UPLOADS {
        return Err(UseCaseError::TooManyUploads {
            limit: OPEN_UPLOADS,
        });
    }
    let upload = Upload::begin(id, worker, new.clone(), now);
    tx.add_upload(&upload)?;
    Ok(upload)
}

/// The upload with the same name. One that has expired makes room.
fn known(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    new: &NewUpload,
    now: Timestamp,
) -> Result<Option<Upload>, UseCaseError> {
    let Some(name) = &new.name else {
        return Ok(None);
    };
    let Some(upload) = tx.upload_named(worker, name)? else {
        return Ok(None);
    };
    if upload.is_over(now) {
        tx.end_upload(upload.id, now)?;
        return Ok(None);
    }
    let what = |new: &NewUpload| (new.task, new.proof_type, new.size_bytes);
    match what(&upload.new) == what(new) {
        true => Ok(Some(upload)),
        false => Err(UseCaseError::UploadNameUsed),
    }
}

/// An upload of the worker that has not ended.
pub fn own_upload(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: UploadId,
    now: Timestamp,
) -> Result<Upload, UseCaseError> {
    open(tx.upload_of(worker, id)?, now)
}

fn open(upload: Option<Upload>, now: Timestamp) -> Result<Upload, UseCaseError> {
    let upload = upload.ok_or(UseCaseError::UploadNotFound)?;
    match upload.is_over(now) {
        true => Err(UseCaseError::UploadGone),
        false => Ok(upload),
    }
}

/// Gives the right to add bytes to one request, and takes it from all before. Also returns the last part.
pub fn continue_upload(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    (id, offset): (UploadId, i64),
    writer: &str,
    now: Timestamp,
) -> Result<(Upload, Option<UploadPart>), UseCaseError> {
    let mut upload = open(tx.upload_to_change(worker, id)?, now)?;
    let holder = tx.worker(worker)?.ok_or(UseCaseError::Unauthorized)?;
    if holder.status == WorkerStatus::Suspended {
        return Err(UseCaseError::AccountSuspended);
    }
    let task = own_task(tx, worker, upload.new.task)?;
    task.act(Action::SubmitProof, now)?;
    if upload.received_bytes != offset {
        let offset = upload.received_bytes;
        return Err(UseCaseError::OffsetMismatch { offset });
    }
    tx.take_over_upload(id, writer)?;
    upload.writer = writer.to_owned();
    let last = tx.last_upload_part(id)?;
    Ok((upload, last))
}

/// Records a part that was stored after what the upload had, as its writer knows it. `replaced` is the part
/// whose bytes the new one begins with.
pub fn advance_upload(
    tx: &mut Tx<'_>,
    upload: &Upload,
    part: &UploadPart,
    replaced: Option<&UploadPart>,
    now: Timestamp,
) -> Result<Upload, UseCaseError> {
    if !tx.advance_upload(upload, part, replaced, now)? {
        let offset = own_upload(tx, upload.worker, upload.id, now)?.received_bytes;
        return Err(UseCaseError::OffsetMismatch { offset });
    }
    own_upload(tx, upload.worker, upload.id, now)
}

pub fn delete_upload(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: UploadId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    own_upload(tx, worker, id, now)?;
    // A submission may have used it up in this moment: whoever deletes must not think that it was never sent.
    match tx.end_upload(id, now)? {
        true => Ok(()),
        false => Err(UseCaseError::UploadGone),
    }
}

/// An upload that is used for a proof, with the files that hold its parts.
#[derive(Clone, Debug)]
pub struct WholeUpload {
    pub proof_type: ProofType,
    pub size_bytes: i64,
    pub parts: Vec<UploadPart>,
}

/// The uploads of a submission, which must be the worker's own, of this task, and whole.
pub fn whole_uploads(
    tx: &mut Tx<'_>,
    task: &Task,
    worker: WorkerId,
    ids: &[(ProofType, UploadId)],
    now: Timestamp,
) -> Result<Vec<WholeUpload>, UseCaseError> {
    let (mut whole, mut wrong, mut missing) =
        (Vec::new(), FieldErrors::default(), FieldErrors::default());
    for (proof_type, id) in ids {
        let upload = own_upload(tx, worker, *id, now)?;
        let field = || proof_type.as_str().to_owned();
        let (has, all) = (upload.received_bytes, upload.new.size_bytes);
        if upload.new.task != task.id {
            wrong.push(field, "is an upload for another task");
        } else if upload.new.proof_type != *proof_type {
            let other = upload.new.proof_type;
            wrong.push(field, format!("is an upload for another type: {other}"));
        } else if !upload.is_whole() {
            missing.push(field, format!("has {has} of {all} bytes"));
        }
        whole.push(WholeUpload {
            proof_type: *proof_type,
            size_bytes: all,
            parts: tx.upload_parts(*id)?,
        });
    }
    match (wrong.is_empty(), missing.is_empty()) {
        (false, _) => Err(UseCaseError::Invalid(wrong)),
        (_, false) => Err(UseCaseError::UploadIncomplete(missing)),
        _ => Ok(whole),
    }
}

/// Ends uploads whose files are proofs now.
pub fn use_uploads(
    tx: &mut Tx<'_>,
    ids: &[(ProofType, UploadId)],
    now: Timestamp,
) -> Result<(), UseCaseError> {
    for (_, id) in ids {
        if !tx.end_upload(*id, now)? {
            return Err(UseCaseError::UploadGone);
        }
    }
    Ok(())
}
