//! Writes the audit log, in the transaction of the action it records.

use serde_json::{Value, json};

use crate::domain::{
    Actor, AuditEntry, AuditHead, AuditKeys, AuditLine, BrokenChain, Decided, Timestamp,
};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;

/// Appends a line. Call it last in a transaction: until the commit, no other transaction can append
/// one. `details` is kept forever, so it must hold no secrets and no personal data.
pub fn audit(
    tx: &mut Tx<'_>,
    by: &Actor,
    action: &str,
    subject: &str,
    subject_id: &str,
    details: Value,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let done = Done {
        action,
        subject,
        subject_id,
        details,
    };
    append(tx, by, &done, now)?;
    Ok(())
}

/// What was done to which object.
#[derive(Clone, Debug)]
pub(in crate::usecases) struct Done<'a> {
    pub action: &'a str,
    pub subject: &'a str,
    pub subject_id: &'a str,
    pub details: Value,
}

/// The same with what the admin wrote. A note may name people, so it stands beside the line and can be
/// deleted.
pub(in crate::usecases) fn audit_with_note(
    tx: &mut Tx<'_>,
    by: &Actor,
    done: &Done<'_>,
    note: Option<&str>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    audit_with_note_about(tx, by, done, note.map(|note| (done.subject_id, note)), now)
}

/// The same where the note is about another object than the line: a task, a worker or an account.
pub(in crate::usecases) fn audit_with_note_about(
    tx: &mut Tx<'_>,
    by: &Actor,
    done: &Done<'_>,
    note: Option<(&str, &str)>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let line = append(tx, by, done, now)?;
    if let Some((about, note)) = note {
        tx.add_audit_note(&line, about, note)?;
    }
    Ok(())
}

/// A decision about a worker or an account.
pub(in crate::usecases) fn decided(action: &str, note: Option<&str>) -> Decided {
    Decided {
        decision: action.to_owned(),
        note: note.map(str::to_owned),
    }
}

/// Records a decision in the audit log and keeps it as the last one about the subject, which is named by
/// its kind and its id. Comes last in a transaction, as `audit` does.
pub(in crate::usecases) fn record_decision(
    tx: &mut Tx<'_>,
    (subject, subject_id): (&str, &str),
    made: &Decided,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let details = json!({});
    record_decision_with(tx, (subject, subject_id, details), made, by, now)
}

/// The same with details for the line.
pub(in crate::usecases) fn record_decision_with(
    tx: &mut Tx<'_>,
    (subject, subject_id, details): (&str, &str, Value),
    made: &Decided,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.put_decision(subject_id, made)?;
    let done = Done {
        action: &made.decision,
        subject,
        subject_id,
        details,
    };
    audit_with_note(tx, by, &done, made.note.as_deref(), now)
}

fn append(
    tx: &mut Tx<'_>,
    by: &Actor,
    done: &Done<'_>,
    now: Timestamp,
) -> Result<AuditLine, StoreError> {
    let (head, keys) = tx.audit_head_to_change()?;
    let entry = AuditEntry {
        at: now,
        by: by.clone(),
        action: done.action.to_owned(),
        subject: done.subject.to_owned(),
        subject_id: done.subject_id.to_owned(),
        details: done.details.to_string(),
    };
    let line = head.next(entry, &keys);
    let line = line.ok_or_else(|| StoreError::Failed("the audit log has no key".into()))?;
    tx.append_audit_line(&line)?;
    Ok(line)
}

/// The result of checking the audit log.
#[derive(Clone, Debug)]
pub struct AuditReport {
    /// The end of the chain.
    pub head: AuditHead,
    /// The first line that does not match, if any.
    pub broken: Option<BrokenChain>,
    pub keys: AuditKeys,
}

/// Recomputes the whole chain. Run it in a snapshot.
pub fn verify_audit(tx: &mut Tx<'_>) -> Result<AuditReport, StoreError> {
    verify_audit_against(tx, None)
}

/// The same, and compares one line with what somebody has kept of it elsewhere.
pub fn verify_audit_against(
    tx: &mut Tx<'_>,
    kept: Option<&AuditHead>,
) -> Result<AuditReport, StoreError> {
    const AT_ONCE: i64 = 1_000;
    let (head, keys) = tx.audit_head()?;
    let mut seen = AuditHead::default();
    let broken = loop {
        let lines = tx.audit_lines_after(seen.number, AT_ONCE)?;
        let followed = lines.iter().try_for_each(|line| {
            seen.follow(line, &keys)?;
            kept.map_or(Ok(()), |kept| seen.agrees_with(kept))
        });
        let done = (lines.len() as i64) < AT_ONCE;
        match followed {
            Err(broken) => break Some(broken),
            Ok(()) if done => {
                let reached = kept.map_or(Ok(()), |kept| seen.reaches(kept));
                break reached.and_then(|()| seen.ends_at(&head)).err();
            }
            Ok(()) => {}
        }
    };
    Ok(AuditReport { head, broken, keys })
}
