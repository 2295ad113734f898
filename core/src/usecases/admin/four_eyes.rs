//! Decisions about much money need a second admin: the first one proposes, and another one sends the same
//! decision to confirm it.

use serde_json::{Value, json};

use crate::domain::{
    Actor, AdminKeyId, AdminRole, Proposal, ProposalKind, QueueItem, QueueKind, QueueStatus,
    TaskId, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::admin_key::first_key;
use crate::usecases::admin::audit::{Done, audit_with_note};
use crate::usecases::admin::unsent::Unsent;
use crate::usecases::admin::view_documents::Looker;

/// The amount above which a decision needs a second admin. None: no decision does.
#[derive(Clone, Copy, Debug, Default)]
pub struct FourEyes(pub Option<i64>);

impl FourEyes {
    fn are_needed(self, cents: i64) -> bool {
        self.0.is_some_and(|limit| cents > limit)
    }
}

/// What became of a decision.
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    Made(T),
    /// It waits for another admin.
    Proposed(Proposal),
}

/// A decision that may need a second admin. The caller has locked the task.
#[derive(Clone, Debug)]
pub(in crate::usecases) struct Wanted<'a> {
    pub kind: ProposalKind,
    pub task: TaskId,
    /// What is decided. A confirmation says exactly the same.
    pub content: Value,
    pub note: Option<&'a str>,
    /// How much money it is about.
    pub cents: i64,
}

/// Whether a decision may be made now.
pub(in crate::usecases) enum Passed {
    Alone,
    /// It confirms what this admin has proposed.
    With(AdminKeyId),
    Waits(Proposal),
}

impl Passed {
    /// What the audit log tells of a decision.
    pub(in crate::usecases) fn noted_in(&self, mut details: Value) -> Value {
        if let Self::With(admin) = self {
            details["proposed_by"] = admin.to_string().into();
        }
        details
    }
}

/// Lets a decision pass, or keeps it as a proposal. A proposal that waits refuses any other decision, so
/// that nobody confirms what they have not read.
pub(in crate::usecases) fn pass(
    tx: &mut Tx<'_>,
    four_eyes: FourEyes,
    wanted: &Wanted<'_>,
    by: &Actor,
    now: Timestamp,
) -> Result<Passed, UseCaseError> {
    let needed = four_eyes.are_needed(wanted.cents);
    let content = wanted.content.to_string();
    match waiting(tx, wanted.kind, wanted.task)? {
        Some(first) if first.content != content || first.note.as_deref() != wanted.note => {
            Err(UseCaseError::ProposalPending(first.content))
        }
        Some(first) if needed && is_same_person(tx, by, first.proposed_by)? => {
            Ok(Passed::Waits(first))
        }
        Some(first) => {
            tx.drop_proposal(wanted.kind, wanted.task)?;
            Ok(Passed::With(first.proposed_by))
        }
        None if needed => propose(tx, wanted, content, by, now).map(Passed::Waits),
        None => Ok(Passed::Alone),
    }
}

/// Whether it is the one who proposed, perhaps with another key.
fn is_same_person(
    tx: &mut Tx<'_>,
    by: &Actor,
    proposed_by: AdminKeyId,
) -> Result<bool, UseCaseError> {
    match by.id.as_deref().and_then(AdminKeyId::parse) {
        Some(key) => Ok(first_key(tx, key)? == first_key(tx, proposed_by)?),
        None => Ok(false),
    }
}

/// The proposal that waits. One of an admin whose key was revoked since does not count.
fn waiting(
    tx: &mut Tx<'_>,
    kind: ProposalKind,
    task: TaskId,
) -> Result<Option<Proposal>, UseCaseError> {
    let Some(proposal) = tx.proposal(kind, task)? else {
        return Ok(None);
    };
    let key = tx.admin_key(proposal.proposed_by)?;
    Ok(key
        .is_some_and(|key| key.revoked_at.is_none())
        .then_some(proposal))
}

fn propose(
    tx: &mut Tx<'_>,
    wanted: &Wanted<'_>,
    content: String,
    by: &Actor,
    now: Timestamp,
) -> Result<Proposal, UseCaseError> {
    let admin = by.id.as_deref().and_then(AdminKeyId::parse);
    let proposal = Proposal {
        kind: wanted.kind,
        task: wanted.task,
        content,
        note: wanted.note.map(str::to_owned),
        proposed_by: admin.ok_or(UseCaseError::Forbidden)?,
        proposed_at: now,
    };
    tx.put_proposal(&proposal)?;
    // Others have to get at it.
    for kind in items_of(wanted.kind) {
        if let Some(item) = tx.queue_item_of(*kind, &wanted.task.to_string())? {
            tx.release_queue_item(item.id, proposal.proposed_by)?;
        }
    }
    let action = match proposal.kind {
        ProposalKind::Dispute => "dispute.proposed",
        ProposalKind::WriteOff => "payout.proposed",
        ProposalKind::SettleRefund => "refund.proposed",
    };
    record(tx, &proposal, by, action, now)?;
    Ok(proposal)
}

/// The review queue items that a decision of this kind closes.
const fn items_of(kind: ProposalKind) -> &'static [QueueKind] {
    match kind {
        ProposalKind::Dispute => &[QueueKind::Dispute],
        ProposalKind::WriteOff => Unsent::PAYOUT.items,
        ProposalKind::SettleRefund => Unsent::REFUND.items,
    }
}

/// The decision about an item that waits for a second admin.
pub fn proposal_about(tx: &mut Tx<'_>, item: &QueueItem) -> Result<Option<Proposal>, UseCaseError> {
    let mut kinds = ProposalKind::ALL.iter().copied();
    let kind = kinds.find(|proposal| items_of(*proposal).contains(&item.kind));
    match (kind, item.task) {
        (Some(kind), Some(task)) if item.status == QueueStatus::Open => waiting(tx, kind, task),
        _ => Ok(None),
    }
}

/// Takes a proposal back: whoever made it, or an owner.
pub fn withdraw_proposal(
    tx: &mut Tx<'_>,
    kind: ProposalKind,
    task: TaskId,
    by: Looker,
    now: Timestamp,
) -> Result<Proposal, UseCaseError> {
    tx.any_task_to_change(task)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let proposal = tx.proposal(kind, task)?;
    let proposal = proposal.ok_or(UseCaseError::ProposalNotFound)?;
    if proposal.proposed_by != by.admin && !by.role.may(AdminRole::Owner) {
        return Err(UseCaseError::Forbidden);
    }
    tx.drop_proposal(kind, task)?;
    let action = match kind {
        ProposalKind::Dispute => "dispute.proposal_withdrawn",
        ProposalKind::WriteOff => "payout.proposal_withdrawn",
        ProposalKind::SettleRefund => "refund.proposal_withdrawn",
    };
    record(tx, &proposal, &Actor::admin(by.admin), action, now)?;
    Ok(proposal)
}

fn record(
    tx: &mut Tx<'_>,
    proposal: &Proposal,
    by: &Actor,
    action: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let done = Done {
        action,
        subject: "task",
        subject_id: &proposal.task.to_string(),
        details: serde_json::from_str(&proposal.content).unwrap_or_else(|_| json!({})),
    };
    audit_with_note(tx, by, &done, proposal.note.as_deref(), now)
}
