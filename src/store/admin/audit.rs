//! The audit log and the head of its hash chain. No statement changes a line.

use crate::domain::{Actor, AuditEntry, AuditHead, AuditLine};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro logged;
    table audit_log;
    fn line_values<'a>(line: &'a AuditLine);
    columns {
        number: line.number,
        at: line.entry.at,
        made_by: line.entry.by.kind,
        maker_id: &line.entry.by.id,
        action: &line.entry.action,
        subject: &line.entry.subject,
        subject_id: &line.entry.subject_id,
        details: &line.entry.details,
        hash: &line.hash,
    }
    row AuditLine = AuditLine {
        number,
        entry: AuditEntry {
            at,
            by: Actor { kind: made_by, id: maker_id },
            action,
            subject,
            subject_id,
            details,
        },
        hash,
    };
}

columns! {
    macro head;
    columns { number, hash }
    row AuditHead = AuditHead { number, hash };
}

crate::store::statements! {
    HEAD = concat!("SELECT ", head!(columns), " FROM audit_head WHERE id = 1");
    MOVE_HEAD = "UPDATE audit_head SET number = ?1, hash = ?2 WHERE id = 1";
    ADD = logged!(insert);
    BEFORE = concat!("SELECT ", logged!(columns), " FROM audit_log
        WHERE number < ?1 AND (?2 = '' OR action = ?2) ORDER BY number DESC LIMIT ?3");
    OF_SUBJECT_BEFORE = concat!("SELECT ", logged!(columns), " FROM audit_log
        WHERE subject_id = ?4 AND number < ?1 AND (?2 = '' OR action = ?2)
        ORDER BY number DESC LIMIT ?3");
    AFTER = concat!("SELECT ", logged!(columns), " FROM audit_log WHERE number > ?1
        ORDER BY number LIMIT ?2");
}

/// Which lines to list.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub subject_id: Option<String>,
    pub action: Option<String>,
}

impl Tx<'_> {
    pub fn audit_head(&mut self) -> Result<AuditHead, StoreError> {
        let head = self.optional(HEAD, &[])?;
        head.ok_or_else(no_head)
    }

    /// The head of the chain, locked until this transaction ends: nobody else can append meanwhile.
    pub fn audit_head_to_change(&mut self) -> Result<AuditHead, StoreError> {
        let head = self.optional_locked(HEAD, &[])?;
        head.ok_or_else(no_head)
    }

    /// Appends a line after the head, which this transaction has locked.
    pub fn append_audit_line(&mut self, line: &AuditLine) -> Result<(), StoreError> {
        self.defer(ADD, &line_values(line))?;
        self.defer(MOVE_HEAD, &[line.number.into(), (&line.hash).into()])
    }

    /// Up to `limit` lines, newest first, before the given number.
    pub fn audit_lines_before(
        &mut self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<AuditLine>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        let action = filter.action.as_deref().unwrap_or_default();
        let mut values = vec![before.into(), action.into(), limit.into()];
        match &filter.subject_id {
            Some(subject) => {
                values.push(subject.into());
                self.all(OF_SUBJECT_BEFORE, &values)
            }
            None => self.all(BEFORE, &values),
        }
    }

    /// Up to `limit` lines in the order of the chain, after the given number.
    pub fn audit_lines_after(
        &mut self,
        after: i64,
        limit: i64,
    ) -> Result<Vec<AuditLine>, StoreError> {
        self.all(AFTER, &[after.into(), limit.into()])
    }
}

fn no_head() -> StoreError {
    StoreError::Failed("the audit log has no head".into())
}
