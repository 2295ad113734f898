//! What admins decide about: what the developer says about a dispute, the documents that a worker has
//! replaced, the last decision about a worker or an account.

use crate::domain::{Decided, DeveloperStatement, ReplacedDocument, TaskId, Timestamp, WorkerId};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro replaced;
    columns { kind, content_type, sha256, sent_at, replaced_at }
    row ReplacedDocument = ReplacedDocument { kind, content_type, sha256, sent_at, replaced_at };
}

columns! {
    macro said;
    columns { statement, stated_at }
    row DeveloperStatement = DeveloperStatement { statement, stated_at };
}

columns! {
    macro decided;
    columns { decision, note }
    row Decided = Decided { decision, note };
}

crate::store::statements! {
    STATE = "INSERT INTO dispute_statements (task_id, statement, stated_at) VALUES (?1, ?2, ?3)
        ON CONFLICT (task_id) DO UPDATE SET statement = excluded.statement,
            stated_at = excluded.stated_at";
    STATEMENT = concat!("SELECT ", said!(columns), " FROM dispute_statements WHERE task_id = ?1");
    REPLACE = "INSERT INTO replaced_documents (id, worker_id, kind, content_type, sha256, sent_at,
            replaced_at)
        SELECT id, worker_id, kind, content_type, sha256, created_at, ?2 FROM verification_files
        WHERE worker_id = ?1";
    /// A worker may replace documents as often as they like, so only the last ones are kept.
    OLDEST_KEPT = "SELECT id FROM replaced_documents WHERE worker_id = ?1
        ORDER BY id DESC LIMIT 1 OFFSET 19";
    DROP_OLD = "DELETE FROM replaced_documents WHERE worker_id = ?1 AND id < ?2";
    REPLACED = concat!("SELECT ", replaced!(columns), " FROM replaced_documents
        WHERE worker_id = ?1 ORDER BY id DESC LIMIT 20");
    DECIDE = "INSERT INTO decisions (subject_id, decision, note) VALUES (?1, ?2, ?3)
        ON CONFLICT (subject_id) DO UPDATE SET decision = excluded.decision, note = excluded.note";
    DECIDED = concat!("SELECT ", decided!(columns), " FROM decisions WHERE subject_id = ?1");
    ERASE_STATEMENT = "DELETE FROM dispute_statements WHERE task_id = ?1";
    ERASE_DECISION = "DELETE FROM decisions WHERE subject_id = ?1";
    ERASE_NOTES = "DELETE FROM audit_notes WHERE subject_id = ?1";
    ERASE_REPLACED = "DELETE FROM replaced_documents WHERE worker_id = ?1";
}

impl Tx<'_> {
    /// Keeps what the developer says about a dispute, in place of what was said before.
    pub fn put_dispute_statement(
        &mut self,
        task: TaskId,
        statement: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(STATE, &[task.into(), statement.into(), now.into()])
    }

    pub fn dispute_statement(
        &mut self,
        task: TaskId,
    ) -> Result<Option<DeveloperStatement>, StoreError> {
        self.optional(STATEMENT, &[task.into()])
    }

    /// Remembers the documents that a worker is about to replace.
    pub(in crate::store) fn remember_documents(
        &mut self,
        worker: WorkerId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(REPLACE, &[worker.into(), now.into()])?;
        let oldest: Option<String> = self.optional(OLDEST_KEPT, &[worker.into()])?;
        match oldest {
            Some(oldest) => self.defer(DROP_OLD, &[worker.into(), oldest.into()]),
            None => Ok(()),
        }
    }

    /// The documents that a worker has replaced, newest first: 20 at most.
    pub fn replaced_documents(
        &mut self,
        worker: WorkerId,
    ) -> Result<Vec<ReplacedDocument>, StoreError> {
        self.all(REPLACED, &[worker.into()])
    }

    /// Keeps a decision about a worker or an account as the last one.
    pub fn put_decision(&mut self, subject_id: &str, made: &Decided) -> Result<(), StoreError> {
        let values = [
            subject_id.into(),
            (&made.decision).into(),
            (&made.note).into(),
        ];
        self.defer(DECIDE, &values)
    }

    pub fn last_decision(&mut self, subject_id: &str) -> Result<Option<Decided>, StoreError> {
        self.optional(DECIDED, &[subject_id.into()])
    }

    /// Deletes what was written about a task, a worker or an account with decisions. The decisions
    /// themselves stay in the audit log.
    pub fn erase_notes_about(&mut self, subject_id: &str) -> Result<(), StoreError> {
        for statement in [ERASE_STATEMENT, ERASE_DECISION, ERASE_NOTES, ERASE_REPLACED] {
            self.defer(statement, &[subject_id.into()])?;
        }
        Ok(())
    }
}
