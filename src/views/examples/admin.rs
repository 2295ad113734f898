//! Examples of those who run the marketplace.

use serde_json::{Value, json};

use crate::views::examples::{CREATED, worker};
use crate::views::proof::{LATER, WORKER_ID};
use crate::views::task::{self, ACCOUNT_ID, TASK_ID};

pub enum AdminExample {
    Item,
    Notification,
    Worker,
    Account,
    AccountWithTotals,
    Task,
    Job,
    Decide,
    Dispute,
    AuditLine,
    Report,
    ReportCsv,
}

const ADMIN_KEY_ID: &str = "019a85702b4e7f02b1d3c5e7f9012346";
const STATEMENT: &str = "The photo shows the opening hours, to the left of the door.";
const VERDICT: &str = "The opening hours can be read when the photo is enlarged.";

fn notification() -> Value {
    json!({
        "id": "019a85d0aa517d10b2c3d4e5f607182a", "kind": "proof_rejected", "status": "sent",
        "email": "grace@example.com", "account_id": null, "worker_id": WORKER_ID,
        "subject": "Proof rejected: Photograph a storefront",
        "paragraphs": ["The developer did not accept your proof for “Photograph a storefront”:",
            "The opening hours cannot be read.", "You have 2 attempts left."],
        "error": null, "sent_at": LATER, "created_at": LATER,
    })
}

fn item() -> Value {
    json!({
        "id": "019a85d0aa517d10b2c3d4e5f6071829", "kind": "worker_verification", "status": "open",
        "subject_id": WORKER_ID, "task_id": null, "worker_id": WORKER_ID, "note": null,
        "worker": worker(),
        "files": [{"kind": "identity", "content_type": "image/jpeg",
            "file_url": "http://127.0.0.1:8080/files/proofs/019a85d0?expires=1794739361"}],
        "claimed_by": null, "claimed_until": null, "decided_at": null, "created_at": CREATED,
    })
}

fn documents() -> Value {
    item()["files"].take()
}

fn account() -> Value {
    json!({
        "id": ACCOUNT_ID, "email": "ada@example.com", "name": "Ada", "company": "Example Audits",
        "tier": "growth", "status": "active", "created_at": CREATED, "updated_at": CREATED,
    })
}

fn totals() -> Value {
    json!({
        "tasks": 1, "tasks_this_month": 1, "tasks_by_status": {"completed": 1},
        "fees_cents": 400, "refunds_owed_cents": 0,
    })
}

fn task_with_history() -> Value {
    json!({
        "task": task::example(),
        "payment": {
            "task_id": TASK_ID, "status": "succeeded", "amount_cents": 2500,
            "escrow_cents": 2500, "refunded_cents": 0, "refund_pending_cents": 0,
            "payment_client_secret": null, "payment_url": null, "failure": null,
            "processor": "sandbox", "created_at": CREATED, "updated_at": LATER,
        },
        "ledger": [{
            "task_id": TASK_ID, "type": "payment", "created_at": LATER,
            "postings": [{"account": "processor", "amount_cents": -2500},
                {"account": "escrow", "amount_cents": 2500}],
        }],
        "history": [{"from": null, "to": "pending", "by": {"type": "developer",
            "id": "019a85702b4e7f02b1d3c5e7f9012345"}, "reason": null, "created_at": CREATED}],
        "history_total": 1,
    })
}

fn job() -> Value {
    json!({
        "kind": "transfer", "subject": TASK_ID, "dead": true, "run_at": null, "attempts": 1,
        "waits_for": null, "last_error": "the payment processor refused: account closed",
        "created_at": CREATED,
    })
}

fn audit_line() -> Value {
    json!({
        "number": 4711, "at": LATER, "by": {"type": "admin", "id": ADMIN_KEY_ID},
        "action": "dispute.decided", "subject": "task", "subject_id": TASK_ID,
        "details": {"decision": "pay"},
        "hash": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    })
}

fn report() -> Value {
    let figures = json!({
        "paid_in_cents": 2500, "refunds_booked_cents": 0, "refunds_paid_cents": 0,
        "payouts_booked_cents": 2100, "payouts_paid_cents": 2100, "fees_cents": 400,
        "escrow_at_end_cents": 0, "tasks_created": 1,
    });
    let mut day = figures.clone();
    day["date"] = "2026-11-15".into();
    json!({
        "month": "2026-11", "environment": "live", "escrow_at_start_cents": 0, "days": [day],
        "total": figures, "tasks_now": {"completed": 1},
    })
}

impl AdminExample {
    pub fn value(&self) -> Value {
        match self {
            Self::Item => item(),
            Self::Notification => notification(),
            Self::Worker => json!({
                "worker": worker(), "verified_at": CREATED, "files": documents(),
            }),
            Self::Account => account(),
            Self::AccountWithTotals => json!({
                "account": account(), "api_keys_count": 2, "live": totals(), "test": totals(),
            }),
            Self::Task => task_with_history(),
            Self::Job => job(),
            Self::Decide => json!({"decision": "split", "paid_cents": 1000, "note": VERDICT}),
            Self::Dispute => json!({
                "task_id": TASK_ID, "statement": STATEMENT, "opened_at": CREATED,
                "decision": "pay", "decided_at": LATER, "note": VERDICT,
            }),
            Self::AuditLine => audit_line(),
            Self::Report => report(),
            Self::ReportCsv => json!(
                "date,paid_in_cents,refunds_booked_cents,refunds_paid_cents,payouts_booked_cents,\
                 payouts_paid_cents,fees_cents,escrow_at_end_cents,tasks_created\n\
                 2026-11-15,2500,0,0,2100,2100,400,0,1\ntotal,2500,0,0,2100,2100,400,0,1\n"
            ),
        }
    }
}
