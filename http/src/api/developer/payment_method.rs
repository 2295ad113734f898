//! /v1/account/payment_method: what live tasks are charged to.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups};
use crate::api::processor::with_timeout;
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::domain::money::payment::PAYMENT_METHOD;
use crate::domain::{ChargedMethod, Environment, Owner, PaymentMethod, ProcessorName, Timestamp};
use crate::payments::ProcessorError;
use crate::payments::sandbox::Card;
use crate::usecases::{self, UseCaseError};
use crate::views::examples;

const FIELD: &str = "payment_method";

pub struct PutPaymentMethod {
    given: String,
}

impl RequestBody for PutPaymentMethod {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let given = fields
            .doc("The processor's ID of the payment method.")
            .text(FIELD, &PAYMENT_METHOD);
        Some(Self { given: given? })
    }
}

request_bodies! {
    PutPaymentMethod = json!({"payment_method": "pm_card_visa"});
}

/// The default payment method; null when there is none.
#[derive(Serialize, ToSchema)]
#[schema(as = PaymentMethod, example = json!(PaymentMethodBody::example()))]
pub struct PaymentMethodBody {
    #[schema(required)]
    payment_method: Option<String>,
    #[schema(required)]
    processor: Option<ProcessorName>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    updated_at: Option<Timestamp>,
}

impl PaymentMethodBody {
    fn example() -> Self {
        Some(examples::payment_method()).into()
    }
}

impl From<Option<PaymentMethod>> for PaymentMethodBody {
    fn from(method: Option<PaymentMethod>) -> Self {
        Self {
            processor: method.as_ref().map(|method| method.processor),
            updated_at: method.as_ref().map(|method| method.updated_at),
            payment_method: method.map(|method| method.method.id),
        }
    }
}

/// Get the default payment method
#[utoipa::path(
    get, path = "/v1/account/payment_method", tag = "Payments", operation_id = "getPaymentMethod",
    responses((status = 200, description = "The default payment method", body = PaymentMethodBody),
        groups::Developer)
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    JsonResponse::ok(&PaymentMethodBody::from(
        stored(&app, caller.owner()).await?,
    ))
}

/// Set the default payment method
///
/// New live tasks are charged to it right after creation. With a test key, nothing is charged; the
/// method is only stored.
#[utoipa::path(
    put, path = "/v1/account/payment_method", tag = "Payments", operation_id = "putPaymentMethod",
    request_body = PutPaymentMethod,
    responses((status = 200, description = "The default payment method", body = PaymentMethodBody),
        groups::Developer, groups::Body, errors::PaymentUnavailable)
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let PutPaymentMethod { given } = body::json(request, &app).await?;
    let owner = caller.owner();
    let (processor, method) = keep(&app, owner, &given).await?;
    let method = PaymentMethod {
        processor,
        method,
        updated_at: app.clock.now(),
    };
    let (kept, by) = (method.clone(), caller.by());
    app.store
        .write(move |tx| usecases::put_payment_method(tx, owner, &kept, &by, kept.updated_at))
        .await?;
    JsonResponse::ok(&PaymentMethodBody::from(Some(method)))
}

/// Lets the processor store a method. With a test key, the sandbox does.
async fn keep(
    app: &App,
    owner: Owner,
    given: &str,
) -> Result<(ProcessorName, ChargedMethod), ApiError> {
    if owner.environment == Environment::Test {
        let method = ChargedMethod {
            id: given.to_owned(),
            customer: None,
        };
        return match Card::by_method(given) {
            Some(_) => Ok((ProcessorName::Sandbox, method)),
            None => Err(ApiError::invalid(
                FIELD,
                "is no payment method of the test world",
            )),
        };
    }
    let processor = &app.payments.processor;
    let stored = stored(app, owner).await?;
    let customer = stored
        .filter(|method| method.processor == processor.name())
        .and_then(|method| method.method.customer);
    let keeping = async {
        let kept = processor.attach_method(owner.account, given, customer.as_deref());
        match kept.await {
            Err(ProcessorError::Refused { message, .. }) => Ok(Err(message)),
            kept => kept.map(Ok),
        }
    };
    match with_timeout(app, keeping).await? {
        Ok(method) => Ok((processor.name(), method)),
        Err(message) => {
            let message = format!("was refused by the payment processor: {message}");
            Err(ApiError::invalid(FIELD, &message))
        }
    }
}

/// Remove the default payment method
///
/// After this, each live task is paid for separately.
#[utoipa::path(
    delete, path = "/v1/account/payment_method", tag = "Payments",
    operation_id = "deletePaymentMethod",
    responses((status = 200, description = "The payment method is removed", body = PaymentMethodBody),
        groups::Developer)
)]
pub async fn delete(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let (owner, by, clock) = (caller.owner(), caller.by(), app.clock.clone());
    app.store
        .write(move |tx| usecases::remove_payment_method(tx, owner, &by, clock.now()))
        .await?;
    JsonResponse::ok(&PaymentMethodBody::from(None))
}

async fn stored(app: &App, owner: Owner) -> Result<Option<PaymentMethod>, UseCaseError> {
    let method = app.store.read(move |tx| tx.payment_method(owner)).await?;
    Ok(method)
}
