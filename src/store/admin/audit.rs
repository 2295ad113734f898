//! The audit log and the end of its chain. Nothing here changes a line.

use crate::domain::{Actor, ActorKind, AuditEntry, AuditHead, AuditLine};
use crate::store::{Row, StoreError, Tx};

macro_rules! columns {
    () => {
        "number, at, made_by, maker_id, action, subject, subject_id, details, hash"
    };
}

crate::store::statements! {
    HEAD = "SELECT number, hash FROM audit_head WHERE id = 1";
    MOVE_HEAD = "UPDATE audit_head SET number = ?1, hash = ?2 WHERE id = 1";
    ADD = concat!("INSERT INTO audit_log (", columns!(), ")
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    BEFORE = concat!("SELECT ", columns!(), " FROM audit_log
        WHERE number < ?1 AND (?2 = '' OR action = ?2) ORDER BY number DESC LIMIT ?3");
    OF_SUBJECT_BEFORE = concat!("SELECT ", columns!(), " FROM audit_log
        WHERE subject_id = ?4 AND number < ?1 AND (?2 = '' OR action = ?2)
        ORDER BY number DESC LIMIT ?3");
    AFTER = concat!("SELECT ", columns!(), " FROM audit_log WHERE number > ?1
        ORDER BY number LIMIT ?2");
}

/// Which lines are asked for.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub subject_id: Option<String>,
    pub action: Option<String>,
}

impl Tx<'_> {
    pub fn audit_head(&mut self) -> Result<AuditHead, StoreError> {
        let head = self.optional(HEAD, &[], read_head)?;
        head.ok_or_else(no_head)
    }

    /// The end of the chain, held until this transaction ends: nobody else can write a line before.
    pub fn audit_head_to_change(&mut self) -> Result<AuditHead, StoreError> {
        let head = self.optional_locked(HEAD, &[], read_head)?;
        head.ok_or_else(no_head)
    }

    /// Writes the line that follows the head, which this transaction holds.
    pub fn append_audit_line(&mut self, line: &AuditLine) -> Result<(), StoreError> {
        let entry = &line.entry;
        let values = [
            line.number.into(),
            entry.at.into(),
            entry.by.kind.as_str().into(),
            entry.by.id.as_ref().into(),
            (&entry.action).into(),
            (&entry.subject).into(),
            (&entry.subject_id).into(),
            (&entry.details).into(),
            (&line.hash).into(),
        ];
        self.defer(ADD, &values)?;
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
                self.all(OF_SUBJECT_BEFORE, &values, read)
            }
            None => self.all(BEFORE, &values, read),
        }
    }

    /// Up to `limit` lines in the order of the chain, after the given number.
    pub fn audit_lines_after(
        &mut self,
        after: i64,
        limit: i64,
    ) -> Result<Vec<AuditLine>, StoreError> {
        self.all(AFTER, &[after.into(), limit.into()], read)
    }
}

fn no_head() -> StoreError {
    StoreError::Failed("the audit log has no end".into())
}

fn read_head(row: &Row<'_>) -> Result<AuditHead, StoreError> {
    Ok(AuditHead {
        number: row.get(0)?,
        hash: row.get(1)?,
    })
}

fn read(row: &Row<'_>) -> Result<AuditLine, StoreError> {
    Ok(AuditLine {
        number: row.get(0)?,
        entry: AuditEntry {
            at: row.get(1)?,
            by: Actor {
                kind: row.parse(2, ActorKind::parse)?,
                id: row.get(3)?,
            },
            action: row.get(4)?,
            subject: row.get(5)?,
            subject_id: row.get(6)?,
            details: row.get(7)?,
        },
        hash: row.get(8)?,
    })
}
