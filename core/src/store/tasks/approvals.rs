//! Tasks that wait for a person's yes.

use crate::domain::tasks::approval::{Approval, ApprovalStatus};
use crate::domain::{Actor, ActorKind, Owner, TaskId, Timestamp};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro approval;
    table approvals;
    fn approval_values<'a>(approval: &'a Approval);
    columns {
        task_id: approval.task,
        account_id: approval.owner.account,
        environment: approval.owner.environment,
        key_id: approval.key,
        budget_cents: approval.budget_cents,
        status: approval.status,
        expires_at: approval.expires_at,
        decided_kind: approval.decided.as_ref().map(|(by, _)| by.kind),
        decided_by: approval.decided.as_ref().and_then(|(by, _)| by.id.as_ref()),
        decided_at: approval.decided.as_ref().map(|(_, at)| *at),
        created_at: approval.created_at,
    }
    row Approval = Approval {
        task: task_id,
        owner: Owner { account: account_id, environment },
        key: key_id,
        budget_cents,
        status,
        expires_at,
        decided: decided(decided_kind, decided_by, decided_at),
        created_at,
    };
}

fn decided(
    kind: Option<ActorKind>,
    id: Option<String>,
    at: Option<Timestamp>,
) -> Option<(Actor, Timestamp)> {
    Some((Actor { kind: kind?, id }, at?))
}

crate::store::statements! {
    INSERT = approval!(insert);
    /// The owner is compared as an expression: the index of an owner's approvals is longer.
    ONE = concat!("SELECT ", approval!(columns), " FROM approvals
        WHERE task_id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    ASKED = "SELECT CAST(1 AS BIGINT) FROM approvals WHERE task_id = ?1";
    WAITS = "SELECT CAST(1 AS BIGINT) FROM approvals WHERE task_id = ?1 AND status = 'waiting'";
    DECIDE = "UPDATE approvals SET status = ?2, decided_kind = ?3, decided_by = ?4, decided_at = ?5
        WHERE task_id = ?1 AND status = 'waiting'";
    SET_END = "UPDATE approvals SET expires_at = ?2 WHERE task_id = ?1 AND status = 'waiting'";
    END = "UPDATE approvals SET status = ?2 WHERE task_id = ?1 AND status = 'waiting'";
    PAGE = concat!("SELECT ", approval!(columns), " FROM approvals
        WHERE account_id = ?1 AND environment = ?2 AND task_id < ?3 ORDER BY task_id DESC LIMIT ?4");
    PAGE_IN_STATUS = concat!("SELECT ", approval!(columns), " FROM approvals
        WHERE account_id = ?1 AND environment = ?2 AND status = ?5 AND task_id < ?3
        ORDER BY task_id DESC LIMIT ?4");
}

impl Tx<'_> {
    pub fn insert_approval(&mut self, approval: &Approval) -> Result<(), StoreError> {
        self.defer(INSERT, &approval_values(approval))
    }

    pub fn approval(&mut self, owner: Owner, task: TaskId) -> Result<Option<Approval>, StoreError> {
        let values = [task.into(), owner.account.into(), owner.environment.into()];
        self.optional(ONE, &values)
    }

    /// Whether a person was asked to agree to a task, whatever the answer. It never changes.
    pub fn has_approval(&mut self, task: TaskId) -> Result<bool, StoreError> {
        Ok(self.optional::<i64>(ASKED, &[task.into()])?.is_some())
    }

    /// Whether a task waits for a person's yes. It stays so while the task is locked.
    pub fn waits_for_approval(&mut self, task: TaskId) -> Result<bool, StoreError> {
        Ok(self.optional::<i64>(WAITS, &[task.into()])?.is_some())
    }

    /// Decides an approval that waits. This transaction has locked the task.
    pub fn decide_approval(
        &mut self,
        task: TaskId,
        status: ApprovalStatus,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            task.into(),
            status.into(),
            by.kind.into(),
            by.id.as_deref().into(),
            now.into(),
        ];
        self.execute_one(DECIDE, &values)
    }

    /// The deadline of a task has changed. If it waits for a yes, it does so until then.
    pub fn set_approval_end(&mut self, task: TaskId, at: Timestamp) -> Result<(), StoreError> {
        self.defer(SET_END, &[task.into(), at.into()])
    }

    /// A task is over. If it waited for a yes, it does so no longer.
    pub fn end_approval(&mut self, task: TaskId, status: ApprovalStatus) -> Result<(), StoreError> {
        self.defer(END, &[task.into(), status.into()])
    }

    /// Up to `limit` approvals of an owner, newest first, before that task.
    pub fn approvals_before(
        &mut self,
        owner: Owner,
        status: Option<ApprovalStatus>,
        before: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<Approval>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([crate::store::before(before).into(), limit.into()]);
        match status {
            None => self.all(PAGE, &values),
            Some(status) => {
                values.push(status.into());
                self.all(PAGE_IN_STATUS, &values)
            }
        }
    }
}
