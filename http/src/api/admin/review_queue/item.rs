//! An item of the review queue as JSON.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::details::{
    AttemptBody, EarlierDecision, EarlierDocument, PayoutAccountBody, ProofDetails,
};
use crate::api::App;
use crate::api::admin::decisions::proposals::ProposalBody;
use crate::api::admin::workers::DocumentBody;
use crate::api::error::ApiError;
use crate::api::response::evidence::{EvidenceBody, MapBody};
use crate::api::response::proofs::with_file;
use crate::domain::tasks::Skill;
use crate::domain::{
    Dispute, Environment, PayoutStatus, ProcessorName, Proof, ProofId, Proposal, QueueItem,
    QueueKind, QueueStatus, Task, Timestamp, VerificationFile, Worker,
};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, ItemDetails, ItemMoney, UseCaseError};
use crate::views::payment::{EntryBody, PaymentBody};
use crate::views::proof::ProofBody;
use crate::views::task::TaskBody;
use crate::views::task::dispute::DisputeBody;
use crate::views::worker::WorkerBody;
use crate::views::{Id, examples, to_json};

#[derive(Serialize, ToSchema)]
#[schema(as = ReviewItem, example = json!(ItemBody::example()))]
pub struct ItemBody {
    #[schema(value_type = Id)]
    id: String,
    kind: QueueKind,
    status: QueueStatus,
    environment: Environment,
    /// ID of the proof, the worker or the task that the item is about.
    #[schema(value_type = Id)]
    subject_id: String,
    #[schema(required, value_type = Option<Id>)]
    task_id: Option<String>,
    #[schema(required, value_type = Option<Id>)]
    worker_id: Option<String>,
    /// What happened, and what admins have noted.
    #[schema(required)]
    note: Option<String>,
    /// Only for a flagged proof. In answers to a POST, its `file_url` is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    proof: Option<ProofBody>,
    /// Only for a verification and a check of skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    worker: Option<WorkerBody>,
    /// Only for a check of skills, and not in answers to a POST: those that wait to be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    asked_skills: Option<Vec<Skill>>,
    /// The documents of the worker, for a verification and a check of skills.
    pub files: Vec<DocumentBody>,
    /// Only for a dispute: what both sides say, and the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    dispute: Option<DisputeBody>,
    /// The decision that waits for a second admin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    proposal: Option<ProposalBody>,
    /// What follows is there only when you get this one item. The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<TaskBody>)]
    task: Option<Box<RawValue>>,
    /// For a flagged proof: what speaks for and against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    evidence: Option<EvidenceBody>,
    /// For a flagged proof: where it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    map: Option<MapBody>,
    /// For a dispute: every attempt, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attempts: Option<Vec<AttemptBody>>,
    /// For a dispute, and for what is about money.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payment: Option<PaymentBody>,
    /// With `payment`: every movement of the money of the task, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ledger: Option<Vec<EntryBody>>,
    /// With `payment`: where the worker is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payout_account: Option<PayoutAccountBody>,
    /// Why a transfer or refund failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// With `worker`: decisions about the worker, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    earlier_decisions: Option<Vec<EarlierDecision>>,
    /// With `worker`: documents that were replaced, newest first, up to 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    earlier_files: Option<Vec<EarlierDocument>>,
    /// ID of the admin key that has claimed the item, until `claimed_until`.
    #[schema(required, value_type = Option<Id>)]
    claimed_by: Option<String>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    claimed_until: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    decided_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// What lists and decisions show of an item.
pub struct Shown {
    pub item: QueueItem,
    proof: Option<Proof>,
    worker: Option<(Worker, PayoutStatus)>,
    files: Vec<VerificationFile>,
    dispute: Option<Dispute>,
    proposal: Option<Proposal>,
    at: Timestamp,
}

impl Shown {
    pub fn read(
        tx: &mut Tx<'_>,
        item: QueueItem,
        processor: ProcessorName,
        at: Timestamp,
    ) -> Result<Self, UseCaseError> {
        let mut shown = Self {
            proposal: usecases::proposal_about(tx, &item)?,
            item,
            proof: None,
            worker: None,
            files: Vec::new(),
            dispute: None,
            at,
        };
        match (shown.item.kind, shown.item.worker, shown.item.task) {
            (QueueKind::FlaggedProof, _, _) => {
                let id = ProofId::parse(&shown.item.subject);
                shown.proof = id.map(|id| tx.any_proof(id)).transpose()?.flatten();
            }
            (QueueKind::WorkerVerification | QueueKind::SkillCheck, Some(id), _) => {
                if let Some(worker) = tx.worker(id)? {
                    let payout = usecases::payout_status(tx, id, processor)?;
                    shown.worker = Some((worker, payout));
                }
                shown.files = tx.verification_files(id)?;
            }
            (QueueKind::Dispute, _, Some(task)) => {
                shown.dispute = usecases::find_dispute(tx, task)?;
            }
            _ => {}
        }
        Ok(shown)
    }

    /// Without signed URLs: an answer that is kept for a repeat must not hold what expires.
    pub fn json(&self) -> Result<String, StoreError> {
        let mut body = ItemBody::of(self)?;
        let proof = self.proof.clone();
        body.proof = proof.map(|proof| ProofBody::of(proof, None)).transpose()?;
        to_json(&body)
    }
}

impl ItemBody {
    /// Without the proof, whose file needs a URL.
    fn of(shown: &Shown) -> Result<Self, StoreError> {
        let item = &shown.item;
        let dispute = shown.dispute.clone().zip(item.task);
        let proposal = shown.proposal.as_ref();
        Ok(Self {
            proposal: proposal.map(ProposalBody::of).transpose()?,
            worker: shown
                .worker
                .clone()
                .map(|(worker, payout)| WorkerBody::of(worker, payout)),
            files: shown
                .files
                .iter()
                .cloned()
                .map(DocumentBody::bare)
                .collect(),
            dispute: dispute.map(|(dispute, task)| DisputeBody::of(task, dispute)),
            ..Self::bare(item, shown.at)
        })
    }

    pub async fn with_url(app: &App, shown: Shown) -> Result<Self, ApiError> {
        let mut body = Self::of(&shown)?;
        if let (QueueKind::SkillCheck, Some((worker, _))) = (body.kind, &shown.worker) {
            body.asked_skills = Some(worker.unconfirmed_skills(&app.checked_skills));
        }
        if let Some(proof) = shown.proof {
            body.proof = Some(with_file(app, proof).await?);
        }
        Ok(body)
    }

    /// All that an admin needs to decide it.
    pub async fn add(&mut self, app: &App, details: ItemDetails) -> Result<(), ApiError> {
        if is_about_worker(self.kind) {
            self.earlier_decisions = Some(details.decisions.into_iter().map(Into::into).collect());
            self.earlier_files = Some(details.replaced.into_iter().map(Into::into).collect());
        }
        let Some(task) = details.task else {
            return Ok(());
        };
        self.task = Some(raw(&task)?);
        if let Some(money) = details.money {
            self.add_money(&task, money);
        }
        if self.kind == QueueKind::Dispute {
            self.attempts = Some(AttemptBody::all(app, &task, details.proofs).await?);
        } else if let Some(evidence) = details.proofs.into_iter().next() {
            let flagged = ProofDetails::of(app, &task, evidence).await?;
            self.proof = Some(flagged.proof);
            self.evidence = Some(flagged.evidence);
            self.map = Some(flagged.map);
        }
        Ok(())
    }

    fn add_money(&mut self, task: &Task, money: ItemMoney) {
        let ledger = &money.ledger;
        self.payment = Some(PaymentBody::of(task, money.payment.as_ref(), ledger));
        self.ledger = Some(ledger.entries().iter().map(Into::into).collect());
        self.payout_account = money.payout_account.map(Into::into);
        self.error = money.error;
    }

    /// Without what it is about.
    fn bare(item: &QueueItem, now: Timestamp) -> Self {
        let holder = item.holder(now);
        Self {
            id: item.id.to_string(),
            kind: item.kind,
            status: item.status,
            environment: item.environment,
            subject_id: item.subject.clone(),
            task_id: item.task.map(|id| id.to_string()),
            worker_id: item.worker.map(|id| id.to_string()),
            note: item.note.clone(),
            proof: None,
            worker: None,
            asked_skills: None,
            files: Vec::new(),
            dispute: None,
            task: None,
            evidence: None,
            map: None,
            attempts: None,
            payment: None,
            ledger: None,
            payout_account: None,
            error: None,
            earlier_decisions: None,
            earlier_files: None,
            proposal: None,
            claimed_by: holder.map(|admin| admin.to_string()),
            claimed_until: item.claimed_until.filter(|_| holder.is_some()),
            decided_at: item.decided_at,
            created_at: item.created_at,
        }
    }

    fn example() -> Self {
        let worker = examples::applicant();
        let (id, kind) = (examples::review_item_id(), QueueKind::WorkerVerification);
        let item = QueueItem {
            worker: Some(worker.id),
            ..QueueItem::new(id, kind, worker.id, examples::SIGNED_UP)
        };
        Self {
            worker: Some(WorkerBody::of(worker, PayoutStatus::None)),
            files: vec![DocumentBody::example()],
            ..Self::bare(&item, examples::SIGNED_UP)
        }
    }
}

/// Whether it is decided by who the worker is, and by the documents.
pub fn is_about_worker(kind: QueueKind) -> bool {
    matches!(kind, QueueKind::WorkerVerification | QueueKind::SkillCheck)
}

fn raw(task: &Task) -> Result<Box<RawValue>, StoreError> {
    let text = to_json(&TaskBody::of(task)?)?;
    RawValue::from_string(text).map_err(|e| StoreError::Failed(format!("task {}: {e}", task.id)))
}
