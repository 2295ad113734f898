//! Examples of the workers' side: somebody takes and does the storefront in Brooklyn.

use serde_json::{Value, json};

use crate::views::proof::{self, LATER, PROOF_ID, WORKER_ID};
use crate::views::task::{self, TASK_ID};

mod admin;
mod developer;

pub use admin::AdminExample;
pub use developer::Example;

pub enum WorkerExample {
    SignUp,
    SignIn,
    Update,
    Worker,
    SignedIn,
    Onboarding,
    Earnings,
    Subscribe,
    Subscribed,
    Available,
    OwnTask,
}

pub(super) const CREATED: &str = "2026-11-15T08:10:00.000Z";

impl WorkerExample {
    pub fn value(&self) -> Value {
        match self {
            Self::SignUp => json!({
                "email": "grace@example.com", "password": "correct horse battery", "name": "Grace",
                "phone": "+1 718 555 0100", "skills": ["photography", "driving"],
                "home_latitude": 40.71, "home_longitude": -73.95, "radius_km": 15,
            }),
            Self::SignIn => json!({
                "email": "grace@example.com", "password": "correct horse battery",
            }),
            Self::Update => json!({"skills": ["photography", "driving", "notary"]}),
            Self::Worker => worker(),
            Self::SignedIn => json!({
                "worker": worker(),
                "token": "svc_worker_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
            }),
            Self::Onboarding => json!({
                "status": "pending",
                "url": "http://127.0.0.1:8080/onboarding/acct_019a85a1_secret_5f60718",
            }),
            Self::Earnings => json!({
                "balance_cents": 0, "paid_cents": 2100,
                "payouts": [{"task_id": TASK_ID, "amount_cents": 2100, "status": "paid",
                    "created_at": LATER}],
            }),
            Self::Subscribe => json!({
                "endpoint": "https://push.example.net/4711",
                "keys": {"p256dh": "BNcRdreALRFX", "auth": "tBHItJI5svbpez7KI4CCXg"},
            }),
            Self::Subscribed => json!({
                "id": "019a85a1d2c37b44a1b2c3d4e5f60719",
                "endpoint": "https://push.example.net/4711",
            }),
            Self::Available => json!({
                    "id": TASK_ID, "title": "Photograph a storefront",
                    "description": "Front of the shop with the door and the opening hours in view.",
                    "category": "photography", "task_type": "standard", "required_skills": [],
                    "location_city": "Brooklyn", "location_state": "NY",
                    "location_latitude": 40.72, "location_longitude": -73.96,
                    "distance_meters": 1063.4, "worker_payout_cents": 2100, "priority": "normal",
                    "deadline": null, "proof_types": ["photo"], "posted_at": CREATED,}),
            Self::OwnTask => own_task(),
        }
    }
}

pub(super) fn worker() -> Value {
    json!({
        "id": WORKER_ID, "email": "grace@example.com", "name": "Grace",
        "phone": "+1 718 555 0100", "skills": ["photography", "driving"],
        "home_latitude": 40.71, "home_longitude": -73.95, "radius_km": 15.0,
        "status": "verified", "payout_account": {"status": "ready"}, "completed_tasks": 1,
        "approval_rate": 1.0, "created_at": CREATED, "updated_at": LATER,
    })
}

fn own_task() -> Value {
    json!({
        "id": TASK_ID, "title": "Photograph a storefront",
        "description": "Front of the shop with the door and the opening hours in view.",
        "instructions": "Ring twice.", "category": "photography", "required_skills": [],
        "location_address": "240 Bedford Ave", "location_city": "Brooklyn",
        "location_state": "NY", "location_latitude": 40.7163, "location_longitude": -73.9595,
        "worker_payout_cents": 2100, "priority": "normal", "status": "assigned",
        "deadline": null, "proof_types": ["photo"], "max_proof_attempts": 3, "attempts_used": 0,
        "assigned_at": CREATED, "started_at": null, "completed_at": null, "updated_at": CREATED,
    })
}

pub enum ProofExample {
    Submitted,
    Approved,
    Rejected,
    Evidence,
}

impl ProofExample {
    pub fn value(&self) -> Value {
        match self {
            Self::Submitted => json!({
                "data": [proof::example()],
                "task": {"id": TASK_ID, "status": "proof_submitted", "attempt_number": 1},
            }),
            Self::Approved => json!({
                "id": PROOF_ID, "status": "approved", "reviewed_at": LATER,
                "task": {"id": TASK_ID, "status": "completed", "completed_at": LATER},
            }),
            Self::Rejected => json!({
                "id": PROOF_ID, "status": "rejected",
                "rejection_reason": "The opening hours cannot be read.", "reviewed_at": LATER,
                "task": {"id": TASK_ID, "status": "proof_rejected", "attempts_remaining": 2},
            }),
            Self::Evidence => json!({
                "proof_id": PROOF_ID, "task_id": TASK_ID,
                "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                "exif": {"taken_at": CREATED, "latitude": 40.7331, "longitude": -73.9597},
                "received_at": LATER,
                "findings": [{
                    "code": "exif_gps_far", "value": 1868.0, "unit": "m",
                    "reason": "the place that the camera recorded, from the task, lies 1868 m away",
                    "proof_id": null, "task_id": null,
                }],
            }),
        }
    }
}

pub enum WebhookExample {
    Put,
    Webhook,
    State,
    Test,
    Event,
    Delivery,
}

const EVENT_ID: &str = "019a8574c1f17a52b6c7d8e9f0a1b2c3";
const URL: &str = "https://example.com/hooks/legwork";

fn event() -> Value {
    let mut data = task::example();
    if let Some(fields) = data.as_object_mut() {
        fields.shift_remove("instructions");
    }
    json!({
        "id": EVENT_ID, "number": 2, "event": "task.funded", "data": data,
        "created_at": task::CREATED,
    })
}

fn delivery() -> Value {
    json!({
        "id": EVENT_ID, "event": "task.funded", "status": "delivered", "status_code": 200,
        "attempts_count": 1, "next_attempt_at": null, "created_at": task::CREATED,
        "updated_at": LATER,
    })
}

impl WebhookExample {
    pub fn value(&self) -> Value {
        match self {
            Self::Put => json!({"url": URL, "events": ["task.completed", "task.proof_submitted"]}),
            Self::Webhook => json!({
                "webhook_url": URL, "webhook_events": ["task.proof_submitted", "task.completed"],
                "webhook_secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            }),
            Self::State => json!({
                "webhook_url": URL, "webhook_events": ["task.proof_submitted", "task.completed"],
                "enabled": true, "failing_since": null, "disabled_at": null,
                "disabled_reason": null,
            }),
            Self::Test => json!({
                "event": "task.created", "delivered": true, "status_code": 200,
                "duration_ms": 41, "error": null,
            }),
            Self::Event => event(),
            Self::Delivery => {
                let mut delivery = delivery();
                delivery["attempts"] = json!([{
                    "attempted_at": LATER, "status_code": 200, "duration_ms": 41, "error": null,
                    "response_body": "ok",
                }]);
                delivery
            }
        }
    }
}
