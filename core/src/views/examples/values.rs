//! Who and what else the story is about.

use crate::domain::accounts::api_key;
use crate::domain::accounts::mandate::spending::{Spending, SpendingLimits, Warned};
use crate::domain::accounts::mandate::{Mandate, Permission, USUAL_LIFE};
use crate::domain::geo::{Point, to_decimeter};
use crate::domain::proofs::capture::{Capture, CaptureSource, Fix};
use crate::domain::tasks::approval::{Approval, ApprovalStatus};
use crate::domain::tasks::{Category, ProofType, Skill};
use crate::domain::{
    Account, Attempt, ChargedMethod, EventType, FileMetadata, NewAccount, NewWorker, Payment,
    PaymentFailure, PaymentIntent, PaymentMethod, PaymentStatus, ProcessorName, Proof, ProofFile,
    ProofStatus, Tier, VerificationFile, WebhookSecret, Windows, Worker, WorkerStatus,
};
use crate::store::{Endpoint, MandateInUse};
use crate::views::examples::ids::{
    CREATED, PAID, REVIEWED, SIGNED_UP, SUBMITTED, TAKEN, account_id, document_id, key_id,
    proof_id, secret_bytes, task_id, worker_id,
};
use crate::views::examples::story::{pending, submitted};

/// The mandate of a bot that audits stores.
pub fn mandate() -> MandateInUse {
    let spent = Spending::default().reserve(2_500, CREATED);
    MandateInUse {
        account: account_id(),
        warned: Warned::default(),
        mandate: Mandate {
            permissions: [Permission::Read, Permission::Create].into_iter().collect(),
            max_task_cents: Some(3_000),
            spending_limits: SpendingLimits {
                day: Some(10_000),
                month: Some(100_000),
                total: None,
            },
            max_open_tasks: Some(10),
            max_tasks_per_day: None,
            categories: vec![Category::Photography, Category::RetailAudit],
            task_types: Vec::new(),
            area: None,
            states: vec!["NY".to_owned(), "NJ".to_owned()],
            approval_above_cents: Some(2_000),
            review_up_to_cents: None,
            expires_at: Some(CREATED.plus(USUAL_LIFE)),
            paused: false,
        },
        spent,
        version: 1,
        refused: Some((REVIEWED, "max_task_cents".to_owned())),
        updated_at: CREATED,
    }
}

/// The storefront waits for Ada's yes.
pub fn approval() -> Approval {
    let task = pending().task;
    Approval {
        task: task.id,
        owner: task.owner,
        key: key_id(),
        budget_cents: task.budget_cents,
        status: ApprovalStatus::Waiting,
        expires_at: task.created_at.plus(Windows::default().unpaid),
        decided: None,
        created_at: task.created_at,
    }
}

/// A signed URL.
pub fn file_url(id: impl std::fmt::Display) -> String {
    format!(
        "http://127.0.0.1:8080/files/proofs/{id}?expires=1794739361&type=image/jpeg&signature=9f8e7d6c"
    )
}

/// A link with a token.
pub fn link_url(page: &str) -> String {
    format!("http://127.0.0.1:8080{page}/6f1e0d5c4b3a29188776655443322110ffeeddccbbaa9988")
}

pub fn account() -> Account {
    let new = NewAccount {
        email: "ada@example.com".to_owned(),
        name: "Ada".to_owned(),
        company: Some("Example Audits".to_owned()),
        tier: Tier::Growth,
    };
    new.open(account_id(), SIGNED_UP)
}

fn signed_up() -> Worker {
    let new = NewWorker {
        email: "grace@example.com".to_owned(),
        name: "Grace".to_owned(),
        phone: Some("+1 718 555 0100".to_owned()),
        skills: vec![Skill::Photography, Skill::Driving],
        home: Some(HOME),
        radius_km: 15.0,
    };
    Worker::sign_up(&new, worker_id(), SIGNED_UP)
}

/// The worker whose documents are in.
pub fn applicant() -> Worker {
    Worker {
        status: WorkerStatus::InReview,
        ..signed_up()
    }
}

pub fn worker() -> Worker {
    Worker {
        status: WorkerStatus::Verified,
        verified_at: Some(SIGNED_UP),
        completed_tasks: 1,
        refused_tasks: 0,
        confirmed_skills: Vec::new(),
        pending_name: None,
        updated_at: REVIEWED,
        ..signed_up()
    }
}

/// Where the worker lives.
pub const HOME: Point = Point {
    latitude: 40.71,
    longitude: -73.95,
};

/// Where the worker stood.
const STOOD: Point = Point {
    latitude: 40.7165,
    longitude: -73.9597,
};

/// Where the camera says it was.
const CAMERA: Point = Point {
    latitude: 40.7331,
    longitude: -73.9597,
};

/// The proof that was submitted, not reviewed yet.
fn capture() -> Capture {
    let fix = Fix {
        place: STOOD,
        accuracy_meters: Some(12.5),
        at: TAKEN,
    };
    Capture {
        captured_at: TAKEN,
        clock_offset_ms: Some(-1_200),
        source: CaptureSource::Camera,
        queued_offline: false,
        fixes: vec![fix],
    }
}

pub fn proof() -> Proof {
    let task = submitted().task;
    let file = ProofFile {
        key: format!("proofs/{}", proof_id()),
        original_key: format!("originals/{}", proof_id()),
        content_type: "image/jpeg".to_owned(),
        size_bytes: 2_418_306,
        sha256: sha256(),
        stored_bytes: 4_836_790,
    };
    let metadata = FileMetadata {
        taken_at: Some(TAKEN),
        place: Some(CAMERA),
        ..FileMetadata::default()
    };
    Proof {
        id: proof_id(),
        task: task.id,
        worker: worker_id(),
        attempt_number: task.proof_attempts,
        proof_type: ProofType::Photo,
        file,
        metadata,
        gps: Some(STOOD),
        accuracy_meters: None,
        distance_meters: Some(to_decimeter(STOOD.distance_meters(task.place()))),
        geo_valid: true,
        device_info: r#"{"user_agent":"Legwork/1.0","platform":"android"}"#.to_owned(),
        capture: Some(capture().to_json()),
        status: ProofStatus::Pending,
        rejection_reason: None,
        reviewed_at: None,
        created_at: SUBMITTED,
        files_expire_at: None,
        files_deleted_at: None,
    }
}

pub fn sha256() -> String {
    api_key::hash("abc")
}

pub fn document() -> VerificationFile {
    VerificationFile {
        id: document_id(),
        kind: "identity".to_owned(),
        key: format!("proofs/{}", document_id()),
        content_type: "image/jpeg".to_owned(),
        sha256: sha256(),
    }
}

const PAYMENT_METHOD: &str = "pm_card_visa";

pub fn payment_method() -> PaymentMethod {
    PaymentMethod {
        processor: ProcessorName::Sandbox,
        method: ChargedMethod {
            id: PAYMENT_METHOD.to_owned(),
            customer: None,
        },
        updated_at: CREATED,
    }
}

pub fn payment_intent() -> PaymentIntent {
    let id = format!("pay_{}", task_id());
    PaymentIntent {
        client_secret: format!("{id}_secret_8d1f0c62b7a94e35"),
        id,
    }
}

/// The payment of the task after a card was declined.
pub fn declined_payment() -> Payment {
    let task = pending().task;
    Payment {
        task: task.id,
        account: task.owner.account,
        processor: ProcessorName::Sandbox,
        intent: None,
        amount_cents: task.budget_cents,
        status: PaymentStatus::RequiresPayment,
        method: None,
        failure: Some(PaymentFailure {
            code: "card_declined".to_owned(),
            message: "The card was declined.".to_owned(),
        }),
        created_at: CREATED,
        updated_at: PAID,
    }
}

pub fn payment() -> Payment {
    Payment {
        status: PaymentStatus::Succeeded,
        failure: None,
        ..declined_payment()
    }
}

/// Where the developer gets events.
pub fn endpoint() -> Endpoint {
    Endpoint {
        account: account_id(),
        url: "https://example.com/hooks/legwork".to_owned(),
        events: vec![EventType::TaskProofSubmitted, EventType::TaskCompleted],
        secret: WebhookSecret::new(&secret_bytes()).expose().to_owned(),
        old_secrets: Vec::new(),
        failing_since: None,
        disabled: None,
        claim: None,
        version: PAID,
    }
}

/// An attempt to deliver an event.
pub fn attempt() -> Attempt {
    Attempt {
        attempted_at: PAID,
        status_code: Some(200),
        duration_ms: 41,
        error: None,
        response_body: Some("ok".to_owned()),
    }
}
