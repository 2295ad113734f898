//! What is held about a worker.

use serde_json::{Value, json};

use super::csv::{CsvRow, Table, optional, written};
use super::developer::{audit, notifications, proof_row, second_factor, sessions};
use super::section::{FileEntry, Place, Unit};
use crate::domain::people::Person;
use crate::domain::{
    Actor, ProcessorName, Proof, Task, TaskId, TaskLedger, Timestamp, Upload, Worker, WorkerId,
};
use crate::records::{extension, file_name, proof_json, value};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, UseCaseError};
use crate::views::push_settings::PushSettingsBody;
use crate::views::task::dispute::DisputeBody;

pub const README: &str = "\
What Legwork holds about you. Times are in UTC, amounts in cents.

profile.json           your profile, payout accounts, second factor, sign-ins, push subscriptions,
                       which push messages you want, and uploads that you have begun and not used,
                       without their bytes
documents/             the identity document and the selfie, until they are deleted
audit-*.json           the lines of the audit log about you
notifications-*.json   what you were told
tasks/ID.json          a task that you accepted and kept, with what you earned and your dispute
given-back/ID.json     a task that you accepted and do not have any more, with what you did
proofs/ID/             what you sent as proof for a task, with the files as you sent them
*.csv                  tasks, earnings and proofs in tables, for spreadsheets. A text that a
                       spreadsheet would take for a formula begins with an apostrophe there.
missing-files-*.txt    files that are no longer stored

If there is much, there are several parts. Each can be opened by itself.
";

const TASKS: i64 = 50;
const PROOFS: i64 = 20;
const RECORDS: i64 = 500;

pub fn page(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    place: &Place,
    now: Timestamp,
) -> Result<Option<Vec<Unit>>, UseCaseError> {
    Ok(Some(match place.section {
        0 if place.after.is_empty() => vec![profile(tx, worker, now)?],
        0 => Vec::new(),
        1 => {
            let told = tx.told_to_worker(worker, &place.after, RECORDS)?;
            notifications(&told)
        }
        2 => audit(tx, worker.to_string(), place)?,
        3 => tasks(tx, worker, place)?,
        4 => proofs(tx, worker, place)?,
        5 => given_back(tx, worker, place)?,
        _ => return Ok(None),
    }))
}

fn profile(tx: &mut Tx<'_>, id: WorkerId, now: Timestamp) -> Result<Unit, UseCaseError> {
    let worker = tx.worker(id)?.ok_or(UseCaseError::WorkerNotFound)?;
    let tokens = tx.tokens_of(id)?;
    let sign_ins = tokens.iter().map(|token| {
        json!({
            "user_agent": token.user_agent,
            "second_factor": token.second_factor,
            "created_at": token.created_at,
            "last_used_at": token.last_used_at,
            "expires_at": token.expires_at,
        })
    });
    let subscriptions = tx.subscriptions_of(id)?;
    let subscriptions = subscriptions
        .iter()
        .map(|(endpoint, created_at)| json!({"endpoint": endpoint, "created_at": created_at}));
    let mut document = worker_json(&worker);
    document["sessions"] = sessions(tx, Person::Worker(id), now)?;
    document["sign_ins"] = sign_ins.collect();
    document["push_subscriptions"] = subscriptions.collect();
    document["push_settings"] = value(&PushSettingsBody::from(&tx.push_settings(id)?))?;
    document["uploads"] = tx.open_uploads_of(id)?.iter().map(upload_json).collect();
    document["second_factor"] = second_factor(tx, Person::Worker(id))?;
    document["payout_accounts"] = payout_accounts(tx, id)?;
    let mut unit = Unit::new("done").document("profile.json", &document);
    for file in tx.verification_files(id)? {
        unit = unit.file(FileEntry {
            name: format!("documents/{}.{}", file.kind, extension(&file.content_type)),
            key: file.key,
            bytes: 0,
        });
    }
    Ok(unit)
}

fn upload_json(upload: &Upload) -> Value {
    json!({
        "id": upload.id.to_string(),
        "task_id": upload.new.task.to_string(),
        "proof_type": upload.new.proof_type,
        "name": upload.new.name,
        "metadata": upload.new.metadata,
        "size_bytes": upload.new.size_bytes,
        "received_bytes": upload.received_bytes,
        "begun_at": upload.begun_at,
        "last_byte_at": upload.last_byte_at,
        "expires_at": upload.expires_at,
    })
}

/// Where the worker is paid, with each processor that was ever used.
fn payout_accounts(tx: &mut Tx<'_>, worker: WorkerId) -> Result<Value, StoreError> {
    let mut accounts = Vec::new();
    for processor in ProcessorName::ALL {
        let account = tx.payout_account(worker, *processor)?;
        accounts.extend(account.map(|account| {
            json!({
                "processor": processor.as_str(),
                "id": account.id,
                "status": account.status,
            })
        }));
    }
    Ok(Value::Array(accounts))
}

fn worker_json(worker: &Worker) -> Value {
    json!({
        "id": worker.id.to_string(),
        "email": worker.email,
        "email_confirmed": worker.email_confirmed,
        "name": worker.name,
        "pending_name": worker.pending_name,
        "phone": worker.phone,
        "skills": worker.skills,
        "confirmed_skills": worker.confirmed_skills,
        "home_latitude": worker.home.map(|home| home.latitude),
        "home_longitude": worker.home.map(|home| home.longitude),
        "radius_km": worker.radius_km,
        "status": worker.status,
        "verified_at": worker.verified_at,
        "completed_tasks": worker.completed_tasks,
        "approval_rate": worker.approval_rate(),
        "created_at": worker.created_at,
        "updated_at": worker.updated_at,
    })
}

fn tasks(tx: &mut Tx<'_>, worker: WorkerId, place: &Place) -> Result<Vec<Unit>, UseCaseError> {
    let after = place.after.split_once('/').and_then(|(at, id)| {
        let (at, id) = (at.parse().ok()?, TaskId::parse(id)?);
        Some((at, id))
    });
    let mut units = Vec::new();
    for task in tx.tasks_of_worker_after(worker, after, TASKS)? {
        units.push(task_unit(tx, worker, &task)?);
    }
    Ok(units)
}

/// What the worker could see of the task, the worker's own dispute, and what was earned.
fn task_unit(tx: &mut Tx<'_>, worker: WorkerId, task: &Task) -> Result<Unit, UseCaseError> {
    let ledger = tx.ledger_of_task(task.id)?;
    let dispute = usecases::find_dispute(tx, task.id)?;
    let dispute = dispute.map(|dispute| value(&DisputeBody::of(task.id, dispute)));
    let dispute = dispute.transpose()?;
    let earned = earned(&ledger, worker);
    let earnings = earned
        .iter()
        .map(|(step, cents, at)| json!({"type": step, "amount_cents": cents, "created_at": at}));
    let document = json!({
        "id": task.id.to_string(),
        "title": task.title,
        "description": task.description,
        "instructions": task.instructions,
        "category": task.category,
        "location_address": task.location.address,
        "location_city": task.location.city,
        "location_state": task.location.state,
        "location_latitude": task.location.latitude,
        "location_longitude": task.location.longitude,
        "worker_payout_cents": task.split().payout_cents,
        "status": task.status,
        "deadline": task.deadline,
        "assigned_at": task.assigned_at,
        "started_at": task.started_at,
        "completed_at": task.completed_at,
        "earnings": earnings.collect::<Vec<_>>(),
        "dispute": dispute,
    });
    let at = task.assigned_at.map_or(0, |at| at.as_millis());
    let rows = earned.iter().map(|(step, cents, at)| CsvRow {
        table: Table::Earnings,
        cells: vec![
            task.id.to_string(),
            step.clone(),
            cents.to_string(),
            at.clone(),
        ],
    });
    Ok(Unit::new(format!("{at}/{}", task.id))
        .document(format!("tasks/{}.json", task.id), &document)
        .rows([task_row(task)])
        .rows(rows))
}

/// What each step of a task's ledger added to the worker's balance.
fn earned(ledger: &TaskLedger, worker: WorkerId) -> Vec<(String, i64, String)> {
    let entries = ledger.entries().iter();
    let own = entries.filter(|entry| entry.worker == Some(worker));
    own.filter(|entry| entry.postings.worker_cents != 0)
        .map(|entry| {
            let (step, at) = (entry.step.to_string(), entry.recorded_at.to_string());
            (step, entry.postings.worker_cents, at)
        })
        .collect()
}

fn task_row(task: &Task) -> CsvRow {
    CsvRow {
        table: Table::WorkedTasks,
        cells: vec![
            task.id.to_string(),
            task.status.to_string(),
            written(&task.title),
            task.category.to_string(),
            task.split().payout_cents.to_string(),
            optional(task.assigned_at),
            optional(task.completed_at),
        ],
    }
}

fn given_back(tx: &mut Tx<'_>, worker: WorkerId, place: &Place) -> Result<Vec<Unit>, UseCaseError> {
    let mut units = Vec::new();
    for id in tx.tasks_given_back(worker, &place.after, TASKS)? {
        if let Some(task) = tx.any_task(id)? {
            units.push(given_back_unit(tx, worker, &task)?);
        }
    }
    Ok(units)
}

/// What became of the task is about somebody else.
fn given_back_unit(tx: &mut Tx<'_>, worker: WorkerId, task: &Task) -> Result<Unit, UseCaseError> {
    let (moves, _) = tx.history(task.id, RECORDS, 0)?;
    let by = Actor::worker(worker);
    let own = moves.iter().filter(|made| made.by == by).map(|made| {
        json!({
            "from_status": made.from,
            "to_status": made.to,
            "reason": made.reason,
            "created_at": made.created_at,
        })
    });
    let document = json!({
        "id": task.id.to_string(),
        "title": task.title,
        "category": task.category,
        "location_city": task.location.city,
        "location_state": task.location.state,
        "moves": own.collect::<Vec<_>>(),
    });
    Ok(Unit::new(task.id).document(format!("given-back/{}.json", task.id), &document))
}

fn proofs(tx: &mut Tx<'_>, worker: WorkerId, place: &Place) -> Result<Vec<Unit>, UseCaseError> {
    let proofs = tx.proofs_of_worker(worker, &place.after, PROOFS)?;
    let units = proofs.iter().map(proof_unit);
    Ok(units.collect::<Result<_, StoreError>>()?)
}

/// With the file as it was sent.
fn proof_unit(proof: &Proof) -> Result<Unit, StoreError> {
    let folder = format!("proofs/{}", proof.task);
    let name = format!("{folder}/{}.json", proof.id);
    let mut body = proof_json(proof)?;
    let capture = proof.capture.as_deref();
    body["capture"] = capture
        .map_or(Ok(Value::Null), serde_json::from_str)
        .unwrap_or_default();
    let mut unit = Unit::new(proof.id).document(name, &body);
    if proof.files_deleted_at.is_none() {
        unit = unit.file(FileEntry {
            name: format!("{folder}/{}", file_name(proof)),
            key: proof.file.original_key.clone(),
            bytes: u64::try_from(proof.file.stored_bytes).unwrap_or(0),
        });
    }
    Ok(unit.rows([proof_row(proof)]))
}
