//! The `webhooks` section: what is sent to a developer's URL, for every event type.

use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{AllOfBuilder, SchemaFormat};
use utoipa::openapi::{
    ArrayBuilder, Content, ContentBuilder, HttpMethod, ObjectBuilder, OpenApi, Paths, Ref, RefOr,
    Required, ResponseBuilder, Schema, Type,
};
use utoipa::{PartialSchema, ToSchema};

use crate::domain::{EventType, Skill};
use crate::views::Id;
use crate::views::proof::ProofBody;
use crate::views::task::TaskBody;

const EVENT_TASK: &str = "EventTask";
const EVENT_PROOF: &str = "EventProof";
const EVENT_WORKER: &str = "EventWorker";

/// Describes the webhooks, and the objects that their bodies carry.
pub fn describe(openapi: &mut OpenApi) {
    let schemas = &mut openapi.components.get_or_insert_default().schemas;
    let task = without(TaskBody::schema(), "instructions");
    schemas.insert(EVENT_TASK.to_owned(), task);
    let proof = without(ProofBody::schema(), "file_url");
    schemas.insert(EVENT_PROOF.to_owned(), proof);
    schemas.insert(EVENT_WORKER.to_owned(), worker());
    let parameters = &mut openapi.components.get_or_insert_default().parameters;
    for (name, header, description) in HEADERS {
        parameters.insert(name.to_owned(), parameter(header, description).into());
    }
    let mut webhooks = Paths::new();
    for event in EventType::ALL {
        let item = PathItem::new(HttpMethod::Post, delivery(*event));
        webhooks.paths.insert(event.as_str().to_owned(), item);
    }
    openapi.webhooks = Some(webhooks);
}

fn delivery(event: EventType) -> Operation {
    let body = RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content("application/json", body(event));
    let mut operation = OperationBuilder::new()
        .tag("Webhooks")
        .summary(Some(format!("The event `{event}`")))
        .operation_id(Some(format!("on_{}", event.as_str().replace('.', "_"))))
        .request_body(Some(body.build()))
        .response("2XX", accepted())
        .response("410", gone())
        .build();
    let headers = HEADERS.map(|(name, _, _)| RefOr::Ref(Ref::new(parameter_path(name))));
    operation.parameters = Some(headers.into());
    // The signature says who sent it.
    operation.security = Some(Vec::new());
    operation
}

/// What an event carries beside the task: fields and their schemas.
fn beside_task(event: EventType) -> &'static [(&'static str, &'static str)] {
    match event {
        event if event.is_about_proof() => &[("proof", EVENT_PROOF)],
        EventType::TaskCancelled => &[("refund", "Refund"), ("payout", "TaskPayout")],
        EventType::TaskPaymentFailed => &[("failure", "PaymentFailure")],
        EventType::TaskRefundPaid => &[("refund", "Refund")],
        EventType::TaskApprovalRequired => &[("approval", "Approval")],
        _ => &[],
    }
}

fn body(event: EventType) -> Content {
    let data: RefOr<Schema> = match event {
        EventType::WorkerVerified => Ref::from_schema_name(EVENT_WORKER).into(),
        event if beside_task(event).is_empty() => Ref::from_schema_name(EVENT_TASK).into(),
        event => {
            let mut beside = ObjectBuilder::new();
            for (field, schema) in beside_task(event) {
                beside = beside
                    .property(*field, Ref::from_schema_name(*schema))
                    .required(*field);
            }
            let task = AllOfBuilder::new().item(Ref::from_schema_name(EVENT_TASK));
            task.item(beside).into()
        }
    };
    let name = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([event.as_str()]));
    let schema = ObjectBuilder::new()
        .property("event", name)
        .required("event")
        .property("data", data)
        .required("data");
    ContentBuilder::new()
        .schema(Some(Schema::Object(schema.build())))
        .build()
}

/// The task as it stands after what happened, which is the task object without one field.
fn without(schema: RefOr<Schema>, field: &str) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = schema else {
        return schema;
    };
    object.properties.shift_remove(field);
    object.required.retain(|required| required != field);
    object.example = None;
    RefOr::T(Schema::Object(object))
}

fn worker() -> RefOr<Schema> {
    let date_time = SchemaFormat::Custom("date-time".to_owned());
    let skill = Skill::name();
    ObjectBuilder::new()
        .property("id", Ref::from_schema_name(Id::name()))
        .required("id")
        .property(
            "skills",
            ArrayBuilder::new().items(Ref::from_schema_name(skill)),
        )
        .required("skills")
        .property(
            "verified_at",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(date_time)),
        )
        .required("verified_at")
        .into()
}

/// The headers of a delivery: the name of their description, their own name, what they hold.
const HEADERS: [(&str, &str, &str); 5] = [
    (
        "ServiceSignature",
        "X-Service-Signature",
        "`v1=` and the hex HMAC-SHA256 of `<timestamp>.<body>`, keyed with the webhook secret",
    ),
    (
        "ServiceTimestamp",
        "X-Service-Timestamp",
        "Unix seconds of this attempt",
    ),
    (
        "WebhookId",
        "webhook-id",
        "The ID of the event, the same over retries",
    ),
    (
        "WebhookTimestamp",
        "webhook-timestamp",
        "As Standard Webhooks defines it",
    ),
    (
        "WebhookSignature",
        "webhook-signature",
        "As Standard Webhooks defines it",
    ),
];

fn parameter_path(name: &str) -> String {
    format!("#/components/parameters/{name}")
}

fn parameter(header: &str, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(header)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

fn accepted() -> utoipa::openapi::Response {
    ResponseBuilder::new()
        .description("Delivered. Anything else than 2xx within 30 seconds is retried.")
        .build()
}

fn gone() -> utoipa::openapi::Response {
    ResponseBuilder::new()
        .description("The endpoint is gone: the webhook is disabled.")
        .build()
}
