//! Parameters that several operations take.

use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::domain::admin::audit::{AUDIT_ACTION, SUBJECT_ID};
use crate::domain::rules::{NumberRule, TextRule};
use crate::domain::tasks::field;
use crate::domain::{accounts, geo, workers};
use crate::views::Id;

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "describes a header that `Post` reads")]
pub struct IdempotencyKeyHeader {
    /// Makes the request safe to retry: within 24 hours, the same key with the same request gets the
    /// first response again. 1 to 255 printable characters, bare or in quotes.
    #[param(
        rename = "Idempotency-Key",
        pattern = r#"^("[ -~]{1,255}"|[!#-~]([ -~]{0,253}[!-~])?)$"#,
        required = false,
        nullable = false
    )]
    idempotency_key: Option<String>,
}

/// How long a page is.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "describes what queries read")]
pub struct PageSize {
    /// Page size. More than 100 is served as 100
    #[param(inline)]
    limit: Option<PageLimit>,
}

/// Which part of a list is wanted.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "describes what queries read")]
pub struct OffsetPage {
    /// Page size. More than 100 is served as 100
    #[param(inline)]
    limit: Option<PageLimit>,
    /// How many objects to skip
    #[param(inline)]
    offset: Option<PageOffset>,
}

fn id() -> RefOr<Schema> {
    Id::schema()
}

/// A whole number of any size: what is larger than we can count is as good as the largest.
fn whole_number(minimum: i64, default: i64) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(minimum))
        .default(Some(default.into()))
        .into()
}

fn number(rule: &NumberRule) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .minimum(Some(rule.min))
        .maximum(Some(rule.max))
        .into()
}

fn text(pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .into()
}

fn rule(rule: &TextRule) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(rule.min))
        .max_length(Some(rule.max))
        .pattern(rule.pattern)
        .into()
}

fn flag() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Boolean).into()
}

fn date_time() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .into()
}

fn texts_by_key() -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    ObjectBuilder::new()
        .additional_properties(Some(text))
        .into()
}

/// Types that stand for a schema, since parameters name types.
macro_rules! parameters {
    ($($name:ident = $schema:expr;)+) => { $(
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema
            }
        }

        impl ToSchema for $name {}
    )+ };
}

parameters! {
    AccountId = id();
    Flag = flag();
    EventId = id();
    ItemId = id();
    KeyId = id();
    LastEventId = id();
    NotificationId = id();
    ProofId = id();
    QuoteId = id();
    SessionId = id();
    TaskId = id();
    UploadId = id();
    WorkerId = id();
    PageLimit = whole_number(1, 20);
    PageOffset = whole_number(0, 0);
    Latitude = number(&geo::LATITUDE);
    Longitude = number(&geo::LONGITUDE);
    RadiusKm = number(&workers::RADIUS_KM);
    IdCursor = id();
    NumberCursor = text("^[0-9]{1,18}$");
    SearchCursor = text(r"^[01]\.[0-9a-f]{16}\.[0-9a-f]{32}$");
    JobCursor = text("^(charge|cancel_payment|refund|transfer):[0-9a-f]{32}$");
    SubjectId = rule(&SUBJECT_ID);
    AuditAction = rule(&AUDIT_ACTION);
    MetadataFilter = texts_by_key();
    SearchWords = rule(&field::SEARCH_WORDS);
    DateTime = date_time();
    Month = text("^[2-9][0-9]{3}-(0[1-9]|1[0-2])$");
    Email = rule(&accounts::EMAIL);
}
