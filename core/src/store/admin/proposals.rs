//! Decisions that wait for a second admin.

use crate::domain::{Proposal, ProposalKind, TaskId};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro proposal;
    table proposals;
    fn proposal_values<'a>(proposal: &'a Proposal);
    columns {
        kind: proposal.kind,
        task_id: proposal.task,
        content: &proposal.content,
        note: &proposal.note,
        proposed_by: proposal.proposed_by,
        proposed_at: proposal.proposed_at,
    }
    row Proposal = Proposal {
        kind,
        task: task_id,
        content,
        note,
        proposed_by,
        proposed_at,
    };
}

crate::store::statements! {
    /// What is replaced does not count: its admin's key was revoked.
    PUT = concat!(proposal!(insert), "
        ON CONFLICT (kind, task_id) DO UPDATE SET content = excluded.content, note = excluded.note,
            proposed_by = excluded.proposed_by, proposed_at = excluded.proposed_at");
    GET = concat!("SELECT ", proposal!(columns), " FROM proposals
        WHERE kind = ?1 AND task_id = ?2");
    DROP = "DELETE FROM proposals WHERE kind = ?1 AND task_id = ?2";
}

impl Tx<'_> {
    /// Keeps a proposal. The caller has locked the task, and found no other that counts.
    pub fn put_proposal(&mut self, proposal: &Proposal) -> Result<(), StoreError> {
        self.defer(PUT, &proposal_values(proposal))
    }

    pub fn proposal(
        &mut self,
        kind: ProposalKind,
        task: TaskId,
    ) -> Result<Option<Proposal>, StoreError> {
        self.optional(GET, &[kind.into(), task.into()])
    }

    pub fn drop_proposal(&mut self, kind: ProposalKind, task: TaskId) -> Result<(), StoreError> {
        self.defer(DROP, &[kind.into(), task.into()])
    }
}
