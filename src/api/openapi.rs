//! What the generated description says beyond the handlers: title, security, errors, examples.

pub mod errors;

use serde_json::{Value, json};
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ObjectBuilder, OpenApi, RefOr, Schema, Type};
use utoipa::{IntoParams, Modify, PartialSchema, ToSchema};

use crate::objects::proof::LATER;
use crate::objects::task::{self, ACCOUNT_ID, CREATED, TASK_ID};

/// The whole document, as committed in `openapi.json`.
pub fn document() -> String {
    let mut text = super::router::openapi()
        .to_pretty_json()
        .unwrap_or_default();
    text.push('\n');
    text
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Legwork",
        description = "A marketplace for physical work. Create a task at a place with a budget; \
            a verified worker goes there and sends proof; you approve and the worker is paid.\n\n\
            The prefix of the key chooses the world: `svc_live_` keys act on live data, \
            `svc_test_` keys on test data.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
    ),
    tags(
        (name = "Tasks", description = "Create tasks and follow them"),
        (name = "Proofs", description = "What workers send, and what you make of it"),
        (name = "Test helpers", description = "Walk a test task through its life"),
        (name = "Workers", description = "The other side: workers find tasks and do them"),
        (name = "Admin", description = "Those who run the marketplace"),
        (name = "Payments", description = "How live tasks are paid for, and where the money is"),
        (name = "Webhooks", description = "What happened: pushed to you, or for you to read"),
        (name = "Account", description = "The account, its API keys and its usage"),
    ),
    components(schemas(super::error::ErrorBody)),
    modifiers(&Keys),
    security(("api_key" = [])),
)]
pub struct Description;

struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("svc_live_... or svc_test_...")
            .build();
        openapi
            .components
            .get_or_insert_default()
            .add_security_scheme("api_key", SecurityScheme::Http(scheme));
    }
}

/// Bodies that are read field by field and refuse a field they do not know.
const CLOSED: [&str; 21] = [
    "CreateTask",
    "CreateTaskLocation",
    "UpdateTask",
    "CreateKey",
    "DeleteAccount",
    "PutPaymentMethod",
    "PutWebhook",
    "SignUp",
    "SignIn",
    "UpdateWorker",
    "Subscribe",
    "SubscribeKeys",
    "Unsubscribe",
    "Dispute",
    "RejectProof",
    "Advance",
    "AdvanceClock",
    "ItemNote",
    "DecideDispute",
    "SetTier",
    "RetryJob",
];

/// Says of request bodies that they take no other fields.
pub fn close_request_bodies(openapi: &mut OpenApi) {
    let schemas = &mut openapi.components.get_or_insert_default().schemas;
    for name in CLOSED {
        if let Some(RefOr::T(Schema::Object(object))) = schemas.get_mut(name) {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
    }
}

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "documents a header that `Post` reads")]
pub struct IdempotencyKeyHeader {
    /// Makes the request safe to send again: within 24 hours the same key with the same request
    /// gets the first answer again. 1 to 255 printable characters, bare or in quotes.
    #[param(
        rename = "Idempotency-Key",
        pattern = r#"^("[ -~]{1,255}"|[!#-~]([ -~]{0,253}[!-~])?)$"#,
        required = false,
        nullable = false
    )]
    idempotency_key: Option<String>,
}

/// A whole number of any size: what is larger than we can count is as good as the largest.
fn whole_number(minimum: i64) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(minimum))
        .into()
}

pub struct PageLimit;

impl PartialSchema for PageLimit {
    fn schema() -> RefOr<Schema> {
        whole_number(1)
    }
}

impl ToSchema for PageLimit {}

pub struct PageOffset;

impl PartialSchema for PageOffset {
    fn schema() -> RefOr<Schema> {
        whole_number(0)
    }
}

impl ToSchema for PageOffset {}

/// One story runs through all examples: a storefront in Brooklyn.
pub enum Example {
    CreateTask,
    UpdateTask,
    CreatedTask,
    TaskList,
    CancelledTask,
    CreateKey,
    CreatedKey,
    KeyList,
    RevokedKey,
    Account,
    Usage,
    Payment,
    Ledger,
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
            Self::TaskList => json!({
                "data": [{
                    "id": TASK_ID, "title": "Photograph a storefront", "status": "funded",
                    "category": "photography", "budget_cents": 2500, "location_city": "Brooklyn",
                    "location_state": "NY", "priority": "normal", "worker_id": null,
                    "created_at": CREATED, "updated_at": CREATED,
                }],
                "meta": {"total": 1, "limit": 20, "offset": 0},
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
            Self::Ledger => json!({
                "data": [{
                    "task_id": TASK_ID, "type": "payment",
                    "postings": [
                        {"account": "processor", "amount_cents": -2500},
                        {"account": "escrow", "amount_cents": 2500},
                    ],
                    "created_at": LATER,
                }],
                "meta": {"total": 1, "limit": 20, "offset": 0},
            }),
            Self::PutPaymentMethod => json!({"payment_method": "pm_card_visa"}),
            Self::PaymentMethod => json!({
                "payment_method": "pm_card_visa", "processor": "sandbox", "updated_at": LATER,
            }),
        }
    }
}
