//! The audit log and the head of its hash chain. No statement changes a line.

use crate::domain::{Actor, AuditEntry, AuditHead, AuditKeys, AuditLine};
use crate::store::{StoreError, Tx, Value, columns};

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
    macro noted;
    columns {
        number, at, made_by, maker_id, action, subject, subject_id, details, hash,
        note = "(SELECT n.note FROM audit_notes n WHERE n.number = audit_log.number)",
    }
    row NotedLine = NotedLine {
        line: AuditLine {
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
        },
        note,
    };
}

columns! {
    macro head;
    columns { number, hash }
    row AuditHead = AuditHead { number, hash };
}

crate::store::statements! {
    HEAD = concat!("SELECT ", head!(columns), ", chain_keys FROM audit_head WHERE id = 1");
    SET_KEYS = "UPDATE audit_head SET chain_keys = ?1 WHERE id = 1";
    MOVE_HEAD = "UPDATE audit_head SET number = ?1, hash = ?2 WHERE id = 1";
    ADD = logged!(insert);
    NOTE = "INSERT INTO audit_notes (number, subject_id, note) VALUES (?1, ?2, ?3)";
    BEFORE = concat!("SELECT ", noted!(columns), " FROM audit_log
        WHERE number < ?1 ORDER BY number DESC LIMIT ?2");
    /// In the order of the index by action and number: see accounts in a status.
    OF_ACTION_BEFORE = concat!("SELECT ", noted!(columns), " FROM audit_log
        WHERE action >= ?3 AND (action, number) < (?3, ?1)
        ORDER BY action DESC, number DESC LIMIT ?2");
    OF_SUBJECT_BEFORE = concat!("SELECT ", noted!(columns), " FROM audit_log
        WHERE subject_id = ?3 AND number < ?1 ORDER BY number DESC LIMIT ?2");
    OF_SUBJECT_AND_ACTION_BEFORE = concat!("SELECT ", noted!(columns), " FROM audit_log
        WHERE subject_id = ?3 AND action = ?4 AND number < ?1 ORDER BY number DESC LIMIT ?2");
    AFTER = concat!("SELECT ", logged!(columns), " FROM audit_log WHERE number > ?1
        ORDER BY number LIMIT ?2");
}

/// The place of the sealed keys of the chain.
pub(in crate::store) const KEYS_CONTEXT: &str = "audit_keys";

/// A line, and what the admin wrote with it. The chain does not cover the note, which can be deleted.
#[derive(Clone, Debug)]
pub struct NotedLine {
    pub line: AuditLine,
    pub note: Option<String>,
}

/// Which lines to list.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub subject_id: Option<String>,
    pub action: Option<String>,
}

impl Tx<'_> {
    pub fn audit_head(&mut self) -> Result<(AuditHead, AuditKeys), StoreError> {
        let head = self.optional(HEAD, &[])?;
        self.with_opened_keys(head)
    }

    /// The head of the chain, locked until this transaction ends: nobody else can append meanwhile.
    pub fn audit_head_to_change(&mut self) -> Result<(AuditHead, AuditKeys), StoreError> {
        let head = self.optional_locked(HEAD, &[])?;
        self.with_opened_keys(head)
    }

    /// Whoever could replace the keys could write the chain anew, so they must be sealed, and once
    /// there are keys they must be there.
    fn with_opened_keys(
        &self,
        head: Option<(AuditHead, Option<String>)>,
    ) -> Result<(AuditHead, AuditKeys), StoreError> {
        let no_head = || StoreError::Failed("the audit log has no head".into());
        let (head, sealed) = head.ok_or_else(no_head)?;
        let keys = match sealed {
            Some(sealed) => AuditKeys::parse(&self.open_sealed(KEYS_CONTEXT, &sealed)?),
            None if self.is_sealing() => None,
            None => Some(AuditKeys::default()),
        };
        let keys = keys.ok_or_else(|| {
            let lost = "the keys of the audit log are missing: somebody has changed the database";
            StoreError::Failed(lost.into())
        })?;
        Ok((head, keys))
    }

    /// The head and its keys as they are stored, locked until this transaction ends.
    pub(in crate::store) fn stored_audit_keys(
        &mut self,
    ) -> Result<(AuditHead, Option<String>), StoreError> {
        let head = self.optional_locked(HEAD, &[])?;
        head.ok_or_else(|| StoreError::Failed("the audit log has no head".into()))
    }

    /// Replaces the keys in the head, which this transaction has locked. `sealed` is under the
    /// master key.
    pub(in crate::store) fn set_audit_keys(&mut self, sealed: &str) -> Result<(), StoreError> {
        self.execute_one(SET_KEYS, &[sealed.into()])
    }

    /// Appends a line after the head, which this transaction has locked.
    pub fn append_audit_line(&mut self, line: &AuditLine) -> Result<(), StoreError> {
        self.defer(ADD, &line_values(line))?;
        self.defer(MOVE_HEAD, &[line.number.into(), (&line.hash).into()])
    }

    /// Adds what the admin wrote to a line that was just appended. It is deleted with what is held about
    /// that worker, task or account.
    pub fn add_audit_note(
        &mut self,
        line: &AuditLine,
        about: &str,
        note: &str,
    ) -> Result<(), StoreError> {
        let values = [line.number.into(), about.into(), note.into()];
        self.defer(NOTE, &values)
    }

    /// Up to `limit` lines, newest first, before the given number.
    pub fn audit_lines_before(
        &mut self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<NotedLine>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        let mut values = vec![before.into(), limit.into()];
        values.extend(filter.subject_id.as_ref().map(Value::from));
        values.extend(filter.action.as_ref().map(Value::from));
        let statement = match (&filter.subject_id, &filter.action) {
            (None, None) => BEFORE,
            (None, Some(_)) => OF_ACTION_BEFORE,
            (Some(_), None) => OF_SUBJECT_BEFORE,
            (Some(_), Some(_)) => OF_SUBJECT_AND_ACTION_BEFORE,
        };
        self.all(statement, &values)
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
