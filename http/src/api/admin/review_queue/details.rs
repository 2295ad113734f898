//! Parts of an item that are shown when it is read alone: what an admin needs to decide it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::response::evidence::{EvidenceBody, MapBody};
use crate::api::response::proofs::with_file;
use crate::domain::{
    PayoutAccount, PayoutStatus, ProcessorName, ProofStatus, ReplacedDocument, Task, Timestamp,
};
use crate::store::NotedLine;
use crate::usecases::Evidence;
use crate::views::actor::ActorBody;
use crate::views::proof::ProofBody;

/// A proof with all that is known about it.
#[derive(Serialize, ToSchema)]
#[schema(as = ProofWithEvidence)]
pub struct ProofDetails {
    pub proof: ProofBody,
    pub evidence: EvidenceBody,
    pub map: MapBody,
}

impl ProofDetails {
    pub async fn of(app: &App, task: &Task, evidence: Evidence) -> Result<Self, ApiError> {
        Ok(Self {
            proof: with_file(app, evidence.proof.clone()).await?,
            map: MapBody::of(task, &evidence.proof),
            evidence: evidence.into(),
        })
    }
}

/// An attempt at a task: what was sent, and what the developer said.
#[derive(Serialize, ToSchema)]
#[schema(as = ProofAttempt)]
pub struct AttemptBody {
    attempt_number: i64,
    status: ProofStatus,
    #[schema(required)]
    rejection_reason: Option<String>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    reviewed_at: Option<Timestamp>,
    proofs: Vec<ProofDetails>,
}

impl AttemptBody {
    /// The proofs of a task, oldest first, by attempt.
    pub async fn all(app: &App, task: &Task, proofs: Vec<Evidence>) -> Result<Vec<Self>, ApiError> {
        let mut attempts: Vec<Self> = Vec::new();
        for evidence in proofs {
            let proof = &evidence.proof;
            let number = proof.attempt_number;
            if attempts.last().map(|last| last.attempt_number) != Some(number) {
                attempts.push(Self {
                    attempt_number: number,
                    status: proof.status,
                    rejection_reason: proof.rejection_reason.clone(),
                    reviewed_at: proof.reviewed_at,
                    proofs: Vec::new(),
                });
            }
            let details = ProofDetails::of(app, task, evidence).await?;
            if let Some(attempt) = attempts.last_mut() {
                attempt.proofs.push(details);
            }
        }
        Ok(attempts)
    }
}

/// Where a worker is paid.
#[derive(Serialize, ToSchema)]
#[schema(as = WorkerPayoutAccount)]
pub struct PayoutAccountBody {
    /// The processor's ID of the account.
    id: String,
    processor: ProcessorName,
    status: PayoutStatus,
}

impl From<PayoutAccount> for PayoutAccountBody {
    fn from(account: PayoutAccount) -> Self {
        Self {
            id: account.id,
            processor: account.processor,
            status: account.status,
        }
    }
}

/// A decision that an admin made before.
#[derive(Serialize, ToSchema)]
pub struct EarlierDecision {
    /// As in the audit log, for example `worker.refused`.
    action: String,
    by: ActorBody,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    #[schema(required)]
    note: Option<String>,
}

impl From<NotedLine> for EarlierDecision {
    fn from(noted: NotedLine) -> Self {
        let entry = noted.line.entry;
        Self {
            action: entry.action,
            by: entry.by.into(),
            at: entry.at,
            note: noted.note,
        }
    }
}

/// A document that the worker has replaced. The file is deleted; its hash tells whether it comes again.
#[derive(Serialize, ToSchema)]
pub struct EarlierDocument {
    /// `identity` or `selfie`.
    kind: String,
    content_type: String,
    sha256: String,
    #[schema(value_type = String, format = DateTime)]
    sent_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    replaced_at: Timestamp,
}

impl From<ReplacedDocument> for EarlierDocument {
    fn from(document: ReplacedDocument) -> Self {
        Self {
            kind: document.kind,
            content_type: document.content_type,
            sha256: document.sha256,
            sent_at: document.sent_at,
            replaced_at: document.replaced_at,
        }
    }
}
