//! Writes the audit log, in the transaction of the action it records.

use serde_json::Value;

use crate::domain::{Actor, AuditEntry, AuditHead, BrokenChain, Timestamp};
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
    let head = tx.audit_head_to_change()?;
    let line = head.next(AuditEntry {
        at: now,
        by: by.clone(),
        action: action.to_owned(),
        subject: subject.to_owned(),
        subject_id: subject_id.to_owned(),
        details: details.to_string(),
    });
    Ok(tx.append_audit_line(&line)?)
}

/// The result of checking the audit log.
#[derive(Clone, Debug)]
pub struct AuditReport {
    /// The end of the chain.
    pub head: AuditHead,
    /// The first line that does not match, if any.
    pub broken: Option<BrokenChain>,
}

/// Recomputes the whole chain. Run it in a snapshot.
pub fn verify_audit(tx: &mut Tx<'_>) -> Result<AuditReport, StoreError> {
    const AT_ONCE: i64 = 1_000;
    let end = tx.audit_head()?;
    let mut seen = AuditHead::default();
    loop {
        let lines = tx.audit_lines_after(seen.number, AT_ONCE)?;
        let followed = lines.iter().try_for_each(|line| seen.follow(line));
        let done = (lines.len() as i64) < AT_ONCE;
        let broken = match followed {
            Err(broken) => Some(broken),
            Ok(()) if done => seen.ends_at(&end).err(),
            Ok(()) => continue,
        };
        return Ok(AuditReport { head: end, broken });
    }
}
