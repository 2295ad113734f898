//! What mandates refuse: counted, and kept for whoever looks at the mandate.

use metrics::counter;

use crate::api::App;
use crate::api::error::ApiError;
use crate::store::KeyHolder;
use crate::usecases::UseCaseError;

/// Notes an error, if it is a refusal by the mandate of this key.
pub fn note(app: &App, holder: &KeyHolder, error: &ApiError) {
    let ApiError::UseCase(error) = error else {
        return;
    };
    let Some(reason) = reason(error) else {
        return;
    };
    counter!("legwork_mandate_refusals_total", "reason" => reason).increment(1);
    let now = app.clock.now();
    app.key_use.note_refusal(holder.key, now, reason);
}

/// The limit that stands in the way: the first of them, if there are several.
fn reason(error: &UseCaseError) -> Option<&'static str> {
    match error {
        UseCaseError::PermissionMissing(_) | UseCaseError::MandateForbids => Some("permissions"),
        UseCaseError::MandatePaused => Some("paused"),
        UseCaseError::MandateExpired => Some("expires_at"),
        UseCaseError::MandateExceeded(refusals) => refusals.first().map(|first| first.limit),
        _ => None,
    }
}
