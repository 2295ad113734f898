//! Examples of the workers' side: somebody takes and does the storefront in Brooklyn.

use serde_json::{Value, json};

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
    OwnTasks,
}

const WORKER_ID: &str = "019a85a1d2c37b44a1b2c3d4e5f60718";
pub const TASK_ID: &str = "019a8574c1f07c2e9d1b3a5f60718293";
const CREATED: &str = "2026-11-15T08:10:00.000Z";
const LATER: &str = "2026-11-15T10:02:41.870Z";

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
                "data": [{
                    "id": TASK_ID, "title": "Photograph a storefront",
                    "description": "Front of the shop with the door and the opening hours in view.",
                    "category": "photography", "task_type": "standard", "required_skills": [],
                    "location_city": "Brooklyn", "location_state": "NY",
                    "location_latitude": 40.72, "location_longitude": -73.96,
                    "distance_meters": 1063.4, "worker_payout_cents": 2100, "priority": "normal",
                    "deadline": null, "proof_types": ["photo"], "posted_at": CREATED,
                }],
                "meta": {"limit": 20, "next_cursor": null},
            }),
            Self::OwnTask => own_task(),
            Self::OwnTasks => json!({
                "data": [own_task()], "meta": {"total": 1, "limit": 20, "offset": 0},
            }),
        }
    }
}

fn worker() -> Value {
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
    Proof,
    List,
    Submitted,
    Approved,
    Rejected,
    Evidence,
}

const PROOF_ID: &str = "019a85c2aa517d10b2c3d4e5f6071829";

fn proof() -> Value {
    json!({
        "id": PROOF_ID, "task_id": TASK_ID, "worker_id": WORKER_ID, "attempt_number": 1,
        "type": "photo",
        "file_url": "http://127.0.0.1:8080/files/proofs/019a85c2aa517d10b2c3d4e5f6071829            ?expires=1794739361&type=image/jpeg&signature=9f8e7d6c",
        "content_type": "image/jpeg", "file_size_bytes": 2_418_306,
        "gps_latitude": 40.7165, "gps_longitude": -73.9597, "geo_valid": true,
        "distance_from_task_meters": 27.9,
        "device_info": {"user_agent": "Legwork/1.0", "platform": "android"},
        "status": "pending", "rejection_reason": null, "reviewed_at": null,
        "created_at": LATER,
    })
}

impl ProofExample {
    pub fn value(&self) -> Value {
        match self {
            Self::Proof => proof(),
            Self::List => json!({
                "data": [proof()], "meta": {"total": 1, "limit": 20, "offset": 0},
            }),
            Self::Submitted => json!({
                "data": [proof()],
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

pub enum AdminExample {
    Item,
    Queue,
}

fn item() -> Value {
    json!({
        "id": "019a85d0aa517d10b2c3d4e5f6071829", "kind": "worker_verification", "status": "open",
        "subject_id": WORKER_ID, "task_id": null, "worker_id": WORKER_ID, "note": null,
        "worker": worker(),
        "files": [{"kind": "identity", "content_type": "image/jpeg",
            "file_url": "http://127.0.0.1:8080/files/proofs/019a85d0?expires=1794739361"}],
        "decided_at": null, "created_at": CREATED,
    })
}

impl AdminExample {
    pub fn value(&self) -> Value {
        match self {
            Self::Item => item(),
            Self::Queue => json!({
                "data": [item()], "meta": {"limit": 20, "next_cursor": null},
            }),
        }
    }
}
