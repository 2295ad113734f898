//! Admins: their roles, and the review queue.

pub mod audit;
pub mod report;

use std::time::Duration;

use crate::domain::rules::TextRule;
use crate::domain::string_enum::string_enum;
use crate::domain::{
    AdminKeyId, Environment, QueueItemId, TaskId, Tier, Timestamp, VerificationFileId, WorkerId,
};

string_enum!(
    /// What an admin key may do. Each role includes the ones before it.
    AdminRole {
        /// Reads everything but identity documents.
        Viewer = "viewer",
        /// Decides: review queue, verifications, disputes, payouts, jobs, suspensions.
        Operator = "operator",
        /// Changes tiers, writes off payouts, deletes accounts.
        Owner = "owner",
    }
);

impl AdminRole {
    /// Whether this role includes `needed`.
    pub fn may(self, needed: Self) -> bool {
        self as usize >= needed as usize
    }
}

/// Requests with one admin key per minute, as on the pro tier. All of them may come in one burst.
pub const ADMIN_REQUESTS_PER_MINUTE: u32 = Tier::Pro.requests_per_minute();

/// The record of an admin key. The key itself is not stored.
#[derive(Clone, Debug)]
pub struct AdminKey {
    pub id: AdminKeyId,
    pub name: String,
    pub role: AdminRole,
    pub key_prefix: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// The owner's key that created it. None if it was created on the command line.
    pub created_by: Option<AdminKeyId>,
}

string_enum!(QueueKind {
    FlaggedProof = "flagged_proof",
    WorkerVerification = "worker_verification",
    Dispute = "dispute",
    /// A transfer to a worker that was given up.
    FailedPayout = "failed_payout",
    /// The payer asks the bank to take a payment back.
    ChargeDispute = "charge_dispute",
    /// A refund that was given up, or that did not reach the developer.
    RefundFailed = "refund_failed",
    TransferReversed = "transfer_reversed",
    /// The bank of a worker did not take what the processor paid out.
    PayoutFailed = "payout_failed",
    /// The worker of a task seems to be its developer.
    SamePerson = "same_person",
    /// A worker names a skill that an admin has to confirm.
    SkillCheck = "skill_check",
});

impl QueueKind {
    /// Whether an admin can close an item without deciding anything else.
    pub const fn can_be_cleared(self) -> bool {
        match self {
            Self::FlaggedProof
            | Self::ChargeDispute
            | Self::RefundFailed
            | Self::TransferReversed
            | Self::PayoutFailed
            | Self::SamePerson
            | Self::SkillCheck => true,
            Self::WorkerVerification | Self::Dispute | Self::FailedPayout => false,
        }
    }
}

string_enum!(QueueStatus {
    Open = "open",
    Closed = "closed",
});

string_enum!(
    /// Filters the review queue by who claimed an item.
    ClaimedBy {
        Me = "me",
        Nobody = "nobody",
    }
);

#[derive(Clone, Debug)]
pub struct QueueItem {
    pub id: QueueItemId,
    pub kind: QueueKind,
    /// The id of the proof, the worker or the task.
    pub subject: String,
    pub environment: Environment,
    pub task: Option<TaskId>,
    pub worker: Option<WorkerId>,
    pub status: QueueStatus,
    pub note: Option<String>,
    /// The admin who claimed it. The claim may have expired: see `holder`.
    pub claimed_by: Option<AdminKeyId>,
    pub claimed_until: Option<Timestamp>,
    pub decided_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// How long a claim lasts.
pub const CLAIM_TIME: Duration = Duration::from_secs(15 * 60);

impl QueueItem {
    pub fn new(id: QueueItemId, kind: QueueKind, subject: impl ToString, now: Timestamp) -> Self {
        Self {
            id,
            kind,
            subject: subject.to_string(),
            environment: Environment::Live,
            task: None,
            worker: None,
            status: QueueStatus::Open,
            note: None,
            claimed_by: None,
            claimed_until: None,
            decided_at: None,
            created_at: now,
        }
    }

    /// The admin who has claimed it now. An expired claim does not count.
    pub fn holder(&self, now: Timestamp) -> Option<AdminKeyId> {
        let held = self.claimed_until.is_some_and(|until| until > now);
        self.claimed_by.filter(|_| held)
    }
}

/// A document that a worker uploaded for verification.
#[derive(Clone, Debug)]
pub struct VerificationFile {
    pub id: VerificationFileId,
    /// `identity` or `selfie`.
    pub kind: String,
    pub key: String,
    pub content_type: String,
    pub sha256: String,
}

string_enum!(
    /// Which decision waits for a second admin.
    ProposalKind {
        Dispute = "dispute",
        WriteOff = "write_off",
        SettleRefund = "settle_refund",
    }
);

/// A decision that waits for a second admin.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub kind: ProposalKind,
    pub task: TaskId,
    /// What is decided: a JSON object, serialized.
    pub content: String,
    pub note: Option<String>,
    pub proposed_by: AdminKeyId,
    pub proposed_at: Timestamp,
}

/// A document that the worker has replaced. Its file is deleted.
#[derive(Clone, Debug)]
pub struct ReplacedDocument {
    /// `identity` or `selfie`.
    pub kind: String,
    pub content_type: String,
    pub sha256: String,
    pub sent_at: Timestamp,
    pub replaced_at: Timestamp,
}

/// The last decision about a worker or an account: what was done, and the note that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// As in the audit log, for example `worker.verified`.
    pub decision: String,
    pub note: Option<String>,
}

pub const NOTE: TextRule = TextRule::plain(1, 2_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_those_before_may_do() {
        use AdminRole::{Operator, Owner, Viewer};
        for (needed, enough) in [
            (Viewer, vec![Viewer, Operator, Owner]),
            (Operator, vec![Operator, Owner]),
            (Owner, vec![Owner]),
        ] {
            let may: Vec<_> = AdminRole::ALL
                .iter()
                .filter(|role| role.may(needed))
                .collect();
            assert_eq!(may, enough.iter().collect::<Vec<_>>(), "{needed}");
        }
    }

    #[test]
    fn a_claim_ends_with_its_last_millisecond() {
        let (now, admin) = (
            Timestamp::from_millis(1_000),
            AdminKeyId::new(Timestamp::from_millis(1), &[1; 10]),
        );
        let id = QueueItemId::new(now, &[1; 10]);
        let mut item = QueueItem::new(id, QueueKind::Dispute, "1", now);
        assert_eq!(item.holder(now), None);
        item.claimed_by = Some(admin);
        item.claimed_until = Some(Timestamp::from_millis(1_001));
        assert_eq!(item.holder(now), Some(admin));
        assert_eq!(item.holder(Timestamp::from_millis(1_001)), None);
    }
}
