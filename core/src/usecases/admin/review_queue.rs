//! The review queue that admins share. An admin claims an item for a while to work on it alone.

use serde_json::json;

use crate::ambient;
use crate::domain::admin::CLAIM_TIME;
use crate::domain::{
    Actor, AdminKeyId, QueueItem, QueueItemId, QueueKind, QueueStatus, Task, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit::{Done, audit_with_note_about};

/// Claims an item, or extends the claim. If several admins try, one succeeds.
pub fn claim_item(
    tx: &mut Tx<'_>,
    id: QueueItemId,
    admin: AdminKeyId,
    now: Timestamp,
) -> Result<QueueItem, UseCaseError> {
    let claimed = tx.claim_queue_item(id, admin, now.plus(CLAIM_TIME), now)?;
    let item = item(tx, id)?;
    if !claimed {
        return Err(match item.status {
            QueueStatus::Open => UseCaseError::ItemClaimed,
            QueueStatus::Closed => UseCaseError::ItemClosed,
        });
    }
    record(tx, &Actor::admin(admin), "queue_item.claimed", &item, now)?;
    Ok(item)
}

/// Releases an item. Does nothing if this admin has not claimed it.
pub fn release_item(
    tx: &mut Tx<'_>,
    id: QueueItemId,
    admin: AdminKeyId,
    now: Timestamp,
) -> Result<QueueItem, UseCaseError> {
    let held = item(tx, id)?.holder(now);
    if held.is_some_and(|holder| holder != admin) {
        return Err(UseCaseError::ItemClaimed);
    }
    let released = tx.release_queue_item(id, admin)?;
    let item = item(tx, id)?;
    if released {
        record(tx, &Actor::admin(admin), "queue_item.released", &item, now)?;
    }
    Ok(item)
}

pub fn note_item(
    tx: &mut Tx<'_>,
    id: QueueItemId,
    note: &str,
    admin: AdminKeyId,
    now: Timestamp,
) -> Result<QueueItem, UseCaseError> {
    item(tx, id)?;
    tx.note_queue_item(id, note)?;
    let item = item(tx, id)?;
    let (by, note) = (Actor::admin(admin), Some(note));
    record_noted(tx, &by, "queue_item.noted", &item, note, now)?;
    Ok(item)
}

/// Closes an item that needs no other decision. Clearing it again in the same words changes nothing.
pub fn clear_item(
    tx: &mut Tx<'_>,
    id: QueueItemId,
    note: Option<&str>,
    admin: AdminKeyId,
    now: Timestamp,
) -> Result<QueueItem, UseCaseError> {
    let found = item(tx, id)?;
    // All other kinds are closed by a decision.
    if !found.kind.can_be_cleared() {
        return Err(UseCaseError::ItemNeedsDecision);
    }
    if found.status == QueueStatus::Closed {
        let same = note.is_none() || note == found.note.as_deref();
        return if same {
            Ok(found)
        } else {
            Err(UseCaseError::ItemClosed)
        };
    }
    let by = Actor::admin(admin);
    let Some(open) = decidable(Some(found), &by, now)? else {
        return Err(UseCaseError::ItemClosed);
    };
    close(tx, &open, note, &by, now)?;
    let item = item(tx, id)?;
    record_noted(tx, &by, "queue_item.cleared", &item, note, now)?;
    Ok(item)
}

/// Adds an item about the money of a task, or opens it again.
pub(in crate::usecases) fn add_about_task(
    tx: &mut Tx<'_>,
    kind: QueueKind,
    task: &Task,
    note: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let id = QueueItemId::new(now, &ambient::random_for_id());
    Ok(tx.add_queue_item(&QueueItem {
        environment: task.owner.environment,
        task: Some(task.id),
        worker: task.worker,
        note: Some(note.to_owned()),
        ..QueueItem::new(id, kind, task.id, now)
    })?)
}

/// The open item about a subject, if there is one. Fails if another admin has claimed it.
pub(in crate::usecases) fn decidable_item(
    tx: &mut Tx<'_>,
    kind: QueueKind,
    subject: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<QueueItem>, UseCaseError> {
    let item = tx.queue_item_of(kind, subject)?;
    decidable(item, by, now)
}

fn decidable(
    item: Option<QueueItem>,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<QueueItem>, UseCaseError> {
    let Some(item) = item.filter(|item| item.status == QueueStatus::Open) else {
        return Ok(None);
    };
    let holder = item.holder(now).map(|holder| holder.to_string());
    if holder.is_some() && holder != by.id {
        return Err(UseCaseError::ItemClaimed);
    }
    Ok(Some(item))
}

/// Closes an item that `decidable_item` returned.
pub(in crate::usecases) fn close(
    tx: &mut Tx<'_>,
    item: &QueueItem,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    Ok(tx.close_queue_item(item.id, note, by.id.as_deref(), now)?)
}

fn item(tx: &mut Tx<'_>, id: QueueItemId) -> Result<QueueItem, UseCaseError> {
    tx.queue_item(id)?.ok_or(UseCaseError::ItemNotFound)
}

fn record(
    tx: &mut Tx<'_>,
    by: &Actor,
    action: &str,
    item: &QueueItem,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    record_noted(tx, by, action, item, None, now)
}

fn record_noted(
    tx: &mut Tx<'_>,
    by: &Actor,
    action: &str,
    item: &QueueItem,
    note: Option<&str>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let done = Done {
        action,
        subject: "queue_item",
        subject_id: &item.id.to_string(),
        details: json!({"kind": item.kind, "subject_id": item.subject}),
    };
    // What is noted about a proof goes with its task.
    let about = item
        .task
        .map_or_else(|| item.subject.clone(), |id| id.to_string());
    let note = note.map(|note| (about.as_str(), note));
    audit_with_note_about(tx, by, &done, note, now)
}
