//! /hooks/stripe: events of the payment processor.

use axum::extract::{Request, State};
use axum::http::HeaderMap;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::body;
use crate::api::response::json::JsonResponse;
use crate::domain::ProcessorName;
use crate::payments::ProcessorEventError;
use crate::usecases;

const SIGNATURE: &str = "stripe-signature";

/// Handles an event once, however often it is sent. An error makes the processor resend it.
pub async fn stripe(
    State(app): State<App>,
    headers: HeaderMap,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let processor = app.payments.processor.clone();
    if processor.name() != ProcessorName::Stripe {
        return Err(ApiError::NotFound);
    }
    let (parts, sent) = request.into_parts();
    let bytes = body::read(&parts.extensions, sent, app.timeouts).await?;
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let event = processor
        .read_event(signature, &bytes, app.clock.now())
        .map_err(refuse)?;
    let clock = app.clock.clone();
    app.store
        .write(move |tx| {
            usecases::receive_processor_event(tx, ProcessorName::Stripe, &event, clock.now())
        })
        .await?;
    JsonResponse::ok(&serde_json::json!({"received": true}))
}

fn refuse(error: ProcessorEventError) -> ApiError {
    match error {
        ProcessorEventError::NoneExpected => ApiError::NotFound,
        error => ApiError::invalid("Stripe-Signature", &error.to_string()),
    }
}
