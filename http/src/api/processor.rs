//! Calls to the payment processor that a request waits for.

use crate::api::App;
use crate::api::error::ApiError;
use crate::payments::ProcessorError;

/// Waits for the processor, but not for ever.
pub async fn with_timeout<T>(
    app: &App,
    asked: impl Future<Output = Result<T, ProcessorError>>,
) -> Result<T, ApiError> {
    let answered = tokio::time::timeout(app.timeouts.processor, asked).await;
    let timed_out = || ProcessorError::Unavailable("it did not answer in time".to_owned());
    answered
        .unwrap_or_else(|_| Err(timed_out()))
        .map_err(ApiError::from)
}
