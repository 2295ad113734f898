//! All that an admin needs to decide an item of the review queue.

use crate::domain::{
    Dispute, JobKind, JobName, Payment, PayoutAccount, ProcessorName, ProofId, QueueItem,
    QueueKind, ReplacedDocument, Task, TaskLedger, WorkerId,
};
use crate::store::{AuditFilter, NotedLine, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::find_dispute;
use crate::usecases::proofs::{Evidence, evidence_for_admins};

/// More than a task can have: three attempts with a file of each type.
const PROOFS: i64 = 100;
/// Earlier decisions of each kind about a worker.
const DECISIONS: i64 = 10;
const DECISIONS_ABOUT_WORKERS: [&str; 4] = [
    "worker.verified",
    "worker.refused",
    "worker.suspended",
    "worker.restored",
];

/// What an item is about. What its kind does not need is empty.
#[derive(Clone, Debug, Default)]
pub struct ItemDetails {
    pub task: Option<Task>,
    pub dispute: Option<Dispute>,
    /// The flagged proof, or every proof of a disputed task, oldest first.
    pub proofs: Vec<Evidence>,
    pub money: Option<ItemMoney>,
    /// Earlier decisions about the worker, newest first.
    pub decisions: Vec<NotedLine>,
    pub replaced: Vec<ReplacedDocument>,
}

/// The money of a task.
#[derive(Clone, Debug)]
pub struct ItemMoney {
    pub payment: Option<Payment>,
    pub ledger: TaskLedger,
    /// Why the transfer or refund failed last.
    pub error: Option<String>,
    pub payout_account: Option<PayoutAccount>,
}

/// Reads what an item is about. Run it in a snapshot.
pub fn item_details(
    tx: &mut Tx<'_>,
    item: &QueueItem,
    processor: ProcessorName,
) -> Result<ItemDetails, UseCaseError> {
    let task = match item.task {
        Some(id) => tx.any_task(id)?,
        None => None,
    };
    let mut details = ItemDetails::default();
    match (item.kind, &task) {
        (QueueKind::WorkerVerification | QueueKind::SkillCheck, _) => {
            if let Some(worker) = item.worker {
                details.decisions = decisions_about(tx, worker)?;
                details.replaced = tx.replaced_documents(worker)?;
            }
        }
        (QueueKind::FlaggedProof, Some(task)) => {
            let id = ProofId::parse(&item.subject);
            let proof = id.map(|id| tx.proof(task.id, id)).transpose()?.flatten();
            if let Some(proof) = proof {
                details.proofs = vec![evidence_for_admins(tx, task, proof)?];
            }
        }
        (QueueKind::Dispute, Some(task)) => {
            details.dispute = find_dispute(tx, task.id)?;
            for proof in tx.proofs_of(task.id, PROOFS, 0)?.0 {
                details.proofs.push(evidence_for_admins(tx, task, proof)?);
            }
            details.money = Some(money(tx, item, task, processor)?);
        }
        (_, Some(task)) => details.money = Some(money(tx, item, task, processor)?),
        (_, None) => {}
    }
    details.task = task;
    Ok(details)
}

fn money(
    tx: &mut Tx<'_>,
    item: &QueueItem,
    task: &Task,
    processor: ProcessorName,
) -> Result<ItemMoney, StoreError> {
    let job = match item.kind {
        QueueKind::FailedPayout | QueueKind::TransferReversed => Some(JobKind::Transfer),
        QueueKind::RefundFailed => Some(JobKind::Refund),
        _ => None,
    };
    let job = match job {
        Some(kind) => tx.job(&JobName::new(kind, task.id))?,
        None => None,
    };
    let payout_account = match task.worker {
        Some(worker) => tx.payout_account(worker, processor)?,
        None => None,
    };
    Ok(ItemMoney {
        payment: tx.payment(task.id)?,
        ledger: tx.ledger_of_task(task.id)?,
        error: job.and_then(|job| job.last_error),
        payout_account,
    })
}

fn decisions_about(tx: &mut Tx<'_>, worker: WorkerId) -> Result<Vec<NotedLine>, StoreError> {
    let mut lines = Vec::new();
    for action in DECISIONS_ABOUT_WORKERS {
        let filter = AuditFilter {
            subject_id: Some(worker.to_string()),
            action: Some(action.to_owned()),
        };
        lines.extend(tx.audit_lines_before(&filter, None, DECISIONS)?);
    }
    lines.sort_by_key(|noted| std::cmp::Reverse(noted.line.number));
    Ok(lines)
}
