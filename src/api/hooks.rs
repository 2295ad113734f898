//! /hooks/stripe: notices of the payment processor.

use axum::extract::{Request, State};
use axum::http::HeaderMap;

use super::answer::Answer;
use super::error::ApiError;
use super::{App, body};
use crate::domain::ProcessorName;
use crate::payments::NoticeError;
use crate::usecases;

const SIGNATURE: &str = "stripe-signature";

/// Handles a notice once, however often it comes. An error makes the processor send it again.
pub async fn stripe(
    State(app): State<App>,
    headers: HeaderMap,
    request: Request,
) -> Result<Answer, ApiError> {
    let processor = app.payments.processor.clone();
    if processor.name() != ProcessorName::Stripe {
        return Err(ApiError::NotFound);
    }
    let bytes = body::read(request.into_body(), app.timeouts).await?;
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let notice = processor
        .read_notice(signature, &bytes, app.clock.now())
        .map_err(refuse)?;
    let clock = app.clock.clone();
    app.store
        .write(move |tx| usecases::receive_notice(tx, ProcessorName::Stripe, &notice, clock.now()))
        .await?;
    Answer::ok(&serde_json::json!({"received": true}))
}

fn refuse(error: NoticeError) -> ApiError {
    match error {
        NoticeError::NoneExpected => ApiError::NotFound,
        error => ApiError::invalid("Stripe-Signature", &error.to_string()),
    }
}
