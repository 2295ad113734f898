//! A task with everything that belongs to it, as JSON documents: for exports and proof bundles.

use serde_json::{Value, json};

use crate::domain::{FileMetadata, Proof, Task, TaskLedger};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, Evidence, UseCaseError};
use crate::views::payment::{EntryBody, PaymentBody};
use crate::views::proof::ProofBody;
use crate::views::task::TaskBody;
use crate::views::task::dispute::DisputeBody;
use crate::views::task::history::HistoryEntryBody;

/// More than any task has: three attempts with a file of each type.
const MAX_PROOFS: i64 = 100;
/// A task that is given back many times has a long history.
const MAX_MOVES: i64 = 10_000;

/// A task as its developer sees it.
pub struct TaskRecord {
    pub task: Task,
    pub proofs: Vec<Proof>,
    pub ledger: TaskLedger,
    /// Each document with its name.
    pub documents: Vec<(&'static str, Value)>,
}

/// Reads all of a task. The caller checks that it may see the task.
pub fn task_record(tx: &mut Tx<'_>, task: Task) -> Result<TaskRecord, UseCaseError> {
    let (proofs, _) = tx.proofs_of(task.id, MAX_PROOFS, 0)?;
    let (history, _) = tx.history(task.id, MAX_MOVES, 0)?;
    let ledger = tx.ledger_of_task(task.id)?;
    let payment = tx.payment(task.id)?;
    let payment = PaymentBody::of(&task, payment.as_ref(), &ledger);
    let mut evidence = Vec::new();
    for proof in &proofs {
        let found = usecases::evidence(tx, &task, proof.clone())?;
        evidence.push(evidence_json(&found));
    }
    let history: Vec<_> = history.into_iter().map(HistoryEntryBody::from).collect();
    let entries: Vec<_> = ledger.entries().iter().map(EntryBody::from).collect();
    let mut documents = vec![
        ("task.json", task_json(&task)?),
        ("proofs.json", Value::Array(listed(&proofs)?)),
        ("evidence.json", Value::Array(evidence)),
        ("history.json", value(&history)?),
        ("ledger.json", value(&entries)?),
        ("payment.json", value(&payment)?),
    ];
    if let Some(dispute) = usecases::find_dispute(tx, task.id)? {
        let dispute = DisputeBody::of(task.id, dispute);
        documents.push(("dispute.json", value(&dispute)?));
    }
    Ok(TaskRecord {
        task,
        proofs,
        ledger,
        documents,
    })
}

fn listed(proofs: &[Proof]) -> Result<Vec<Value>, StoreError> {
    proofs.iter().map(proof_json).collect()
}

/// A proof with the name of its file in the archive instead of a URL.
pub fn proof_json(proof: &Proof) -> Result<Value, StoreError> {
    let mut body = value(&ProofBody::for_event(proof.clone())?)?;
    body["file"] = match proof.files_deleted_at {
        Some(_) => Value::Null,
        None => file_name(proof).into(),
    };
    Ok(body)
}

/// The name of a proof's file in an archive.
pub fn file_name(proof: &Proof) -> String {
    let extension = extension(&proof.file.content_type);
    let (attempt, kind) = (proof.attempt_number, proof.proof_type);
    format!("files/attempt-{attempt}-{kind}-{}.{extension}", proof.id)
}

pub fn extension(content_type: &str) -> &'static str {
    match content_type {
        "image/jpeg" => "jpg",
        "image/png" => "png",
        "video/mp4" => "mp4",
        _ => "bin",
    }
}

fn task_json(task: &Task) -> Result<Value, StoreError> {
    value(&TaskBody::of(task)?)
}

fn evidence_json(evidence: &Evidence) -> Value {
    let Evidence {
        proof, findings, ..
    } = evidence;
    let FileMetadata {
        taken_at, place, ..
    } = proof.metadata;
    let findings = findings.iter().map(|finding| {
        json!({
            "code": finding.code,
            "value": finding.measure.map(|(value, _)| value),
            "unit": finding.measure.map(|(_, unit)| unit),
            "reason": finding.reason,
            "proof_id": finding.other.map(|(_, proof)| proof.to_string()),
            "task_id": finding.other.map(|(task, _)| task.to_string()),
        })
    });
    json!({
        "proof_id": proof.id.to_string(),
        "task_id": proof.task.to_string(),
        "sha256": proof.file.sha256,
        "exif": {
            "taken_at": taken_at,
            "latitude": place.map(|place| place.latitude),
            "longitude": place.map(|place| place.longitude),
        },
        "device": evidence.device(),
        "received_at": proof.created_at,
        "findings": findings.collect::<Vec<_>>(),
    })
}

pub fn value(body: &impl serde::Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(body)
        .map_err(|e| StoreError::Failed(format!("object cannot be serialized: {e}")))
}

/// A document as it stands in an archive.
pub fn pretty(document: &Value) -> Vec<u8> {
    format!("{document:#}\n").into_bytes()
}
