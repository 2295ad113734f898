//! What is held about a developer.

use serde_json::{Value, json};

use super::csv::{CsvRow, Table, optional, written};
use super::section::{FileEntry, Place, Unit};
use crate::domain::people::Person;
use crate::domain::tasks::approval::Approval;
use crate::domain::{
    AccountId, ApiKey, Environment, Owner, Passkey, Proof, Task, TaskLedger, Timestamp,
};
use crate::records::{self, TaskRecord, file_name, value};
use crate::store::{AuditFilter, ExportedDelivery, StoreError, ToldNotification, Tx};
use crate::usecases::{self, UseCaseError};
use crate::views::event::EventBody;
use crate::views::mandate::MandateBody;

pub const README: &str = "\
What Legwork holds about your account. Times are in UTC, amounts in cents.

account.json           the account, its second factor, where it is signed in, and what it has set for each environment
api_keys.json          the keys, without the keys themselves, each with its mandate
audit-*.json           the lines of the audit log about the account
notifications-*.json   what you were told
tasks/ENVIRONMENT/ID/  a task: the task itself, proofs, evidence, history, ledger, payment, dispute,
                       approval and the files that were sent as proof
events/                events of the last 30 days
deliveries/            what was sent to your webhook, with every attempt, for the last 30 days
*.csv                  the same in tables, for spreadsheets. A text that a spreadsheet would take for a
                       formula begins with an apostrophe there.
missing-files-*.txt    files that are no longer stored

A large account has several parts. Each can be opened by itself.
";

/// Revoked keys that are listed. Active ones are few.
const REVOKED_KEYS: i64 = 1_000;
const TASKS: i64 = 20;
const RECORDS: i64 = 500;

const BOTH: [Environment; 2] = [Environment::Live, Environment::Test];

pub fn page(
    tx: &mut Tx<'_>,
    account: AccountId,
    place: &Place,
    now: Timestamp,
) -> Result<Option<Vec<Unit>>, UseCaseError> {
    let owner = |environment| Owner {
        account,
        environment,
    };
    let [live, test] = BOTH.map(owner);
    Ok(Some(match place.section {
        0 if place.after.is_empty() => vec![account_unit(tx, account, now)?],
        0 => Vec::new(),
        1 => {
            let told = tx.told_to_account(account, &place.after, RECORDS)?;
            notifications(&told)
        }
        2 => audit(tx, account.to_string(), place)?,
        3 => tasks(tx, live, place)?,
        4 => tasks(tx, test, place)?,
        5 => events(tx, live, place)?,
        6 => events(tx, test, place)?,
        7 => deliveries(tx, live, place)?,
        8 => deliveries(tx, test, place)?,
        _ => return Ok(None),
    }))
}

fn account_unit(tx: &mut Tx<'_>, account: AccountId, now: Timestamp) -> Result<Unit, UseCaseError> {
    let keys = tx.api_keys(account, REVOKED_KEYS)?;
    let mut document = account_json(tx, account)?;
    let person = Person::Account(account);
    document["sessions"] = sessions(tx, person, now)?;
    document["second_factor"] = second_factor(tx, person)?;
    let mut listed = Vec::new();
    for key in &keys {
        listed.push(key_json(tx, key, now)?);
    }
    Ok(Unit::new("done")
        .document("account.json", &document)
        .document("api_keys.json", &Value::Array(listed))
        .rows(keys.iter().map(key_row)))
}

/// Since when a person has a second factor, and which passkeys. The secret and the codes are in no export.
pub fn second_factor(tx: &mut Tx<'_>, person: Person) -> Result<Value, StoreError> {
    let status = usecases::second_factor_status(tx, person)?;
    let passkeys = tx.passkeys_of(person)?;
    let passkey = |passkey: &Passkey| {
        json!({
            "name": passkey.name,
            "created_at": passkey.created_at,
            "last_used_at": passkey.last_used_at,
        })
    };
    Ok(json!({
        "enabled_at": status.enabled_at,
        "recovery_codes_left": tx.count_recovery_codes(person)?,
        "passkeys": passkeys.iter().map(passkey).collect::<Vec<_>>(),
    }))
}

/// Where a person is signed in.
pub fn sessions(tx: &mut Tx<'_>, person: Person, now: Timestamp) -> Result<Value, StoreError> {
    let sessions = tx.sessions_of(person, now)?;
    let listed = sessions.iter().map(|session| {
        json!({
            "address": session.origin.address(),
            "user_agent": session.origin.user_agent(),
            "created_at": session.created_at,
            "last_seen_at": session.last_seen_at,
            "expires_at": session.expires_at,
        })
    });
    Ok(listed.collect())
}

fn account_json(tx: &mut Tx<'_>, id: AccountId) -> Result<Value, UseCaseError> {
    let account = tx.account(id)?.ok_or(UseCaseError::AccountNotFound)?;
    let endpoint = tx.endpoint(id)?;
    let mut methods = serde_json::Map::new();
    for environment in BOTH {
        let owner = Owner {
            account: id,
            environment,
        };
        let method = tx.payment_method(owner)?.map(|method| {
            json!({"processor": method.processor.as_str(), "updated_at": method.updated_at})
        });
        methods.insert(environment.to_string(), method.unwrap_or_default());
    }
    Ok(json!({
        "id": account.id.to_string(),
        "email": account.email,
        "email_confirmed": account.email_confirmed,
        "name": account.name,
        "company": account.company,
        "tier": account.tier,
        "status": account.status,
        "webhook": endpoint.map(|endpoint| json!({
            "url": endpoint.url,
            "events": endpoint.events,
            "failing_since": endpoint.failing_since,
        })),
        "payment_methods": methods,
        "test_keys_manage": tx.test_keys_manage(id)?,
        "created_at": account.created_at,
        "updated_at": account.updated_at,
    }))
}

fn key_json(tx: &mut Tx<'_>, key: &ApiKey, now: Timestamp) -> Result<Value, StoreError> {
    let now = match key.environment {
        Environment::Live => now,
        Environment::Test => now.plus(tx.test_clock(key.account)?),
    };
    let mandate = tx.mandate(key.id)?;
    Ok(json!({
        "id": key.id.to_string(),
        "name": key.name,
        "key_prefix": key.key_prefix,
        "environment": key.environment,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
        "created_at": key.created_at,
        "mandate": mandate.map(|mandate| MandateBody::of(key.id, &mandate, now)),
    }))
}

fn key_row(key: &ApiKey) -> CsvRow {
    CsvRow {
        table: Table::Keys,
        cells: vec![
            key.id.to_string(),
            written(&key.name),
            key.key_prefix.clone(),
            key.environment.to_string(),
            key.created_at.to_string(),
            optional(key.last_used_at),
            optional(key.revoked_at),
        ],
    }
}

/// A file with what a person was told.
pub fn notifications(told: &[ToldNotification]) -> Vec<Unit> {
    let listed = told.iter().map(|told| {
        json!({
            "id": told.id,
            "kind": told.kind,
            "subject": told.subject,
            "paragraphs": told.paragraphs,
            "status": told.status,
            "created_at": told.created_at,
            "sent_at": told.sent_at,
        })
    });
    let listed = Value::Array(listed.collect());
    let page = told.first().zip(told.last());
    let unit = page.map(|(first, last)| {
        Unit::new(&last.id).document(format!("notifications-{}.json", first.id), &listed)
    });
    unit.into_iter().collect()
}

/// A file with lines of the audit log, newest first.
pub fn audit(
    tx: &mut Tx<'_>,
    subject_id: String,
    place: &Place,
) -> Result<Vec<Unit>, UseCaseError> {
    let filter = AuditFilter {
        subject_id: Some(subject_id),
        action: None,
    };
    let before = place.after.parse().ok();
    let lines = tx.audit_lines_before(&filter, before, RECORDS)?;
    // Without the notes of admins, who may name other people.
    let lines: Vec<_> = lines.into_iter().map(|noted| noted.line).collect();
    let listed = lines.iter().map(|line| {
        let entry = &line.entry;
        json!({
            "number": line.number,
            "at": entry.at,
            "by": {"type": entry.by.kind, "id": entry.by.id},
            "action": entry.action,
            "subject": entry.subject,
            "subject_id": entry.subject_id,
            "details": serde_json::from_str::<Value>(&entry.details).unwrap_or_default(),
        })
    });
    let listed = Value::Array(listed.collect());
    let unit = lines.last().map(|last| {
        let number = last.number;
        Unit::new(number).document(format!("audit-{number}.json"), &listed)
    });
    Ok(unit.into_iter().collect())
}

fn tasks(tx: &mut Tx<'_>, owner: Owner, place: &Place) -> Result<Vec<Unit>, UseCaseError> {
    let mut units = Vec::new();
    for (number, task) in tx.tasks_after(owner, place.number(), TASKS)? {
        let record = records::task_record(tx, task)?;
        let mut unit = task_unit(number, &record);
        if record.task.mandate_key.is_some()
            && let Some(approval) = tx.approval(owner, record.task.id)?
        {
            let name = format!("{}/approval.json", folder(&record.task));
            unit = unit.document(name, &approval_json(approval));
        }
        units.push(unit);
    }
    Ok(units)
}

fn folder(task: &Task) -> String {
    format!("tasks/{}/{}", task.owner.environment, task.id)
}

fn approval_json(approval: Approval) -> Value {
    let (by, at) = approval.decided.unzip();
    json!({
        "task_id": approval.task.to_string(),
        "key_id": approval.key.to_string(),
        "budget_cents": approval.budget_cents,
        "status": approval.status,
        "expires_at": approval.expires_at,
        "decided_by": by.map(|by| json!({"type": by.kind, "id": by.id})),
        "decided_at": at,
        "created_at": approval.created_at,
    })
}

fn task_unit(number: i64, record: &TaskRecord) -> Unit {
    let task = &record.task;
    let folder = folder(task);
    let mut unit = Unit::new(number);
    for (name, document) in &record.documents {
        unit = unit.document(format!("{folder}/{name}"), document);
    }
    let kept = record.proofs.iter();
    for proof in kept.filter(|proof| proof.files_deleted_at.is_none()) {
        unit = unit.file(FileEntry {
            name: format!("{folder}/{}", file_name(proof)),
            key: proof.file.key.clone(),
            bytes: u64::try_from(proof.file.size_bytes).unwrap_or(0),
        });
    }
    let row = CsvRow {
        table: Table::Tasks,
        cells: vec![
            task.id.to_string(),
            task.owner.environment.to_string(),
            task.status.to_string(),
            written(&task.title),
            task.category.to_string(),
            task.budget_cents.to_string(),
            task.created_at.to_string(),
            optional(task.completed_at),
        ],
    };
    let proofs = record.proofs.iter().map(proof_row);
    unit.rows([row])
        .rows(proofs)
        .rows(ledger_rows(&record.ledger))
}

pub fn proof_row(proof: &Proof) -> CsvRow {
    let file = proof.files_deleted_at.is_none().then(|| file_name(proof));
    CsvRow {
        table: Table::Proofs,
        cells: vec![
            proof.id.to_string(),
            proof.task.to_string(),
            proof.attempt_number.to_string(),
            proof.proof_type.to_string(),
            proof.status.to_string(),
            optional(file),
            proof.created_at.to_string(),
        ],
    }
}

fn ledger_rows(ledger: &TaskLedger) -> Vec<CsvRow> {
    let entries = ledger.entries().iter();
    let postings = entries.flat_map(|entry| {
        let moved = entry.postings.by_account().into_iter();
        moved
            .filter(|(_, cents)| *cents != 0)
            .map(move |(account, cents)| (entry, account, cents))
    });
    let row =
        |(entry, account, cents): (&crate::domain::Entry, crate::domain::LedgerAccount, i64)| {
            CsvRow {
                table: Table::Ledger,
                cells: vec![
                    entry.task.to_string(),
                    entry.step.to_string(),
                    account.to_string(),
                    cents.to_string(),
                    entry.recorded_at.to_string(),
                ],
            }
        };
    postings.map(row).collect()
}

fn events(tx: &mut Tx<'_>, owner: Owner, place: &Place) -> Result<Vec<Unit>, UseCaseError> {
    let events = tx.events_after(owner, place.number(), RECORDS)?;
    let Some(last) = events.last().map(|event| event.number) else {
        return Ok(Vec::new());
    };
    let bodies = events.into_iter().map(EventBody::of);
    let bodies = bodies.collect::<Result<Vec<_>, StoreError>>()?;
    let name = format!("events/{}-{last}.json", owner.environment);
    Ok(vec![Unit::new(last).document(name, &value(&bodies)?)])
}

fn deliveries(tx: &mut Tx<'_>, owner: Owner, place: &Place) -> Result<Vec<Unit>, UseCaseError> {
    let deliveries = tx.deliveries_after(owner, place.number(), RECORDS)?;
    let Some(last) = deliveries.last().map(|delivery| delivery.number) else {
        return Ok(Vec::new());
    };
    let listed = Value::Array(deliveries.iter().map(delivery_json).collect());
    let name = format!("deliveries/{}-{last}.json", owner.environment);
    Ok(vec![Unit::new(last).document(name, &listed)])
}

fn delivery_json(delivery: &ExportedDelivery) -> Value {
    json!({
        "id": delivery.event.to_string(),
        "event": delivery.event_type,
        "task_id": delivery.task.map(|task| task.to_string()),
        "status": delivery.status,
        "status_code": delivery.status_code,
        "attempts": serde_json::from_str::<Value>(&delivery.attempts).unwrap_or_default(),
        "created_at": delivery.created_at,
        "updated_at": delivery.updated_at,
    })
}
