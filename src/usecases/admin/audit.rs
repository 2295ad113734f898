//! Writes the audit log, in the transaction of the action it records.

use serde_json::Value;

use crate::domain::{Actor, AuditEntry, AuditHead, AuditKeys, BrokenChain, Timestamp};
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
    let (head, keys) = tx.audit_head_to_change()?;
    let entry = AuditEntry {
        at: now,
        by: by.clone(),
        action: action.to_owned(),
        subject: subject.to_owned(),
        subject_id: subject_id.to_owned(),
        details: details.to_string(),
    };
    let line = head.next(entry, &keys);
    let line = line.ok_or_else(|| StoreError::Failed("the audit log has no key".into()))?;
    Ok(tx.append_audit_line(&line)?)
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
