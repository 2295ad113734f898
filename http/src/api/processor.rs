//! Calls to the payment processor that a request waits for.

use crate::api::App;
use crate::api::error::ApiError;
use crate::payments::ProcessorError;

/// Waits for the processor, but not for ever.
pub async fn with_timeout<T, E: Into<ProcessorError>>(
    app: &App,
    asked: impl Future<Output = Result<T, E>>,
) -> Result<T, ApiError> {
    let answered = tokio::time::timeout(app.timeouts.processor, asked).await;
    let timed_out = || ProcessorError::Unavailable("it did not answer in time".to_owned());
    answered
        .map_err(|_| timed_out())
        .and_then(|answer| answer.map_err(E::into))
        .map_err(ApiError::from)
}
