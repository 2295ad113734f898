//! Identity documents, and proofs as the worker sent them: who may look, and a line in the audit log for
//! every look.

use serde_json::json;

use crate::domain::{
    Actor, AdminKeyId, AdminRole, Proof, ProofId, QueueItemId, TaskId, Timestamp, VerificationFile,
    WorkerId,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::proofs::proof_of;

/// The admin who looks, and the role of the key.
#[derive(Clone, Copy, Debug)]
pub struct Looker {
    pub admin: AdminKeyId,
    pub role: AdminRole,
}

/// The documents of a worker for an admin who may open them, or none. Whoever decides about a
/// verification has to see them; a viewer does not.
pub fn view_documents(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    item: Option<QueueItemId>,
    by: Looker,
    now: Timestamp,
) -> Result<Option<Vec<VerificationFile>>, UseCaseError> {
    if !by.role.may(AdminRole::Operator) {
        return Ok(None);
    }
    let files = tx.verification_files(worker)?;
    if !files.is_empty() {
        let details = json!({"item_id": item.map(|id| id.to_string())});
        let (by, id) = (Actor::admin(by.admin), worker.to_string());
        let action = "worker.documents_viewed";
        audit(tx, &by, action, "worker", &id, details, now)?;
    }
    Ok(Some(files))
}

/// A proof whose original an admin is about to open: what the camera recorded in it may tell more of the
/// worker than the copy does.
pub fn view_original(
    tx: &mut Tx<'_>,
    task: TaskId,
    proof: Option<ProofId>,
    by: &Actor,
    now: Timestamp,
) -> Result<Proof, UseCaseError> {
    tx.any_task(task)?.ok_or(UseCaseError::TaskNotFound)?;
    let proof = proof_of(tx, task, proof)?;
    if proof.files_deleted_at.is_none() {
        let (id, details) = (proof.id.to_string(), json!({"task_id": task.to_string()}));
        let action = "proof.original_viewed";
        audit(tx, by, action, "proof", &id, details, now)?;
    }
    Ok(proof)
}
