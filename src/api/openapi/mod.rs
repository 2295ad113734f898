//! What the generated description says beyond the handlers: title, security, errors, examples.

pub mod errors;

use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ObjectBuilder, OpenApi, RefOr, Schema, Type};
use utoipa::{IntoParams, Modify, PartialSchema, ToSchema};

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
    components(schemas(crate::api::error::ErrorBody)),
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
