//! Examples of the developers' side: a storefront in Brooklyn.

use serde_json::{Value, json};

use crate::views::proof::LATER;
use crate::views::task::{self, ACCOUNT_ID, CREATED, TASK_ID};

/// One story runs through all examples: a storefront in Brooklyn.
pub enum Example {
    CreateTask,
    UpdateTask,
    CreatedTask,
    TaskListItem,
    CancelledTask,
    CreateKey,
    CreatedKey,
    KeyList,
    RevokedKey,
    Account,
    Usage,
    Payment,
    LedgerEntry,
    PutPaymentMethod,
    PaymentMethod,
}

const KEY_ID: &str = "019a85702b4e7f02b1d3c5e7f9012345";
const PAYMENT_SECRET: &str = "pay_019a8574c1f07c2e9d1b3a5f60718293_secret_8d1f0c62b7a94e35";

impl Example {
    pub fn value(&self) -> Value {
        match self {
            Self::CreateTask => json!({
                "title": "Photograph a storefront",
                "description": "Front of the shop with the door and the opening hours in view.",
                "category": "photography",
                "location": {"address": "240 Bedford Ave", "city": "Brooklyn", "state": "NY",
                    "latitude": 40.7163, "longitude": -73.9595},
                "budget_cents": 2500,
                "deadline": "2026-11-20T18:00:00Z",
                "proof_types": ["photo"],
                "metadata": {"order": "4711"},
            }),
            Self::UpdateTask => json!({
                "title": "Photograph a storefront by daylight",
                "deadline": "2026-11-21T18:00:00Z",
            }),
            Self::CreatedTask => {
                let mut created = task::example();
                created["status"] = "pending".into();
                created["environment"] = "live".into();
                created["payment_client_secret"] = PAYMENT_SECRET.into();
                created
            }
            Self::TaskListItem => json!({
                "id": TASK_ID, "title": "Photograph a storefront", "status": "funded",
                "category": "photography", "budget_cents": 2500, "location_city": "Brooklyn",
                "location_state": "NY", "priority": "normal", "worker_id": null,
                "created_at": CREATED, "updated_at": CREATED,
            }),
            Self::CancelledTask => json!({
                "id": TASK_ID, "status": "cancelled", "cancelled_at": LATER, "updated_at": LATER,
            }),
            Self::CreateKey => json!({"name": "Nightly audit", "environment": "test"}),
            Self::CreatedKey => json!({
                "id": KEY_ID, "name": "Nightly audit",
                "key": "svc_test_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
                "key_prefix": "svc_test_0f1e2d3c4b5", "environment": "test",
                "created_at": CREATED,
            }),
            Self::KeyList => json!({"data": [{
                "id": KEY_ID, "name": "Nightly audit", "key_prefix": "svc_test_0f1e2d3c4b5",
                "environment": "test", "last_used_at": LATER, "revoked_at": null,
                "created_at": CREATED,
            }]}),
            Self::RevokedKey => json!({
                "id": KEY_ID, "name": "Nightly audit", "revoked_at": LATER,
            }),
            Self::Account => json!({
                "id": ACCOUNT_ID, "email": "ada@example.com", "name": "Ada",
                "company": "Example Audits", "tier": "growth", "status": "active",
                "webhook_url": null, "webhook_events": [], "tasks_this_month": 1,
                "created_at": CREATED, "updated_at": CREATED,
            }),
            Self::Usage => json!({
                "tier": "growth", "tasks_this_month": 1, "tasks_limit": 1000,
                "api_keys_count": 2,
            }),
            Self::Payment => json!({
                "task_id": TASK_ID, "status": "requires_payment", "amount_cents": 2500,
                "escrow_cents": 0, "refunded_cents": 0, "refund_pending_cents": 0,
                "payment_client_secret": PAYMENT_SECRET,
                "payment_url": format!("http://127.0.0.1:8080/pay/{PAYMENT_SECRET}"),
                "failure": {"code": "card_declined", "message": "The card was declined."},
                "processor": "sandbox", "created_at": CREATED, "updated_at": LATER,
            }),
            Self::LedgerEntry => json!({
                    "task_id": TASK_ID, "type": "payment",
                    "postings": [
                        {"account": "processor", "amount_cents": -2500},
                        {"account": "escrow", "amount_cents": 2500},
                    ],
                    "created_at": LATER,}),
            Self::PutPaymentMethod => json!({"payment_method": "pm_card_visa"}),
            Self::PaymentMethod => json!({
                "payment_method": "pm_card_visa", "processor": "sandbox", "updated_at": LATER,
            }),
        }
    }
}
