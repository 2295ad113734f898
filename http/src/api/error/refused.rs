//! Why the API refused, for whoever tells of it in another form than JSON.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::error::ApiError;
use crate::domain::FieldError;
use crate::usecases::UseCaseError;

/// Why the API refused, in its own words.
#[derive(Clone, Debug)]
pub struct Refused {
    pub status: StatusCode,
    pub code: String,
    pub message: String,
    pub fields: Vec<FieldError>,
    pub retry_after: Option<u64>,
    /// For the log alone.
    error: Box<ApiError>,
}

impl Refused {
    pub fn is(&self, code: &str) -> bool {
        self.code == code
    }

    /// Whether somebody or something else was faster. A request that is still under way is refused with 409 too, and
    /// nothing is decided yet.
    pub fn is_overtaken(&self) -> bool {
        self.status == StatusCode::CONFLICT && !self.is("IDEMPOTENCY_IN_FLIGHT")
    }

    /// Has the cause logged with the answer that tells of it.
    pub fn note_on(&self, response: &mut Response) {
        response.extensions_mut().insert(*self.error.clone());
        response.extensions_mut().insert(Told);
    }
}

/// An answer that tells of its error itself.
#[derive(Clone, Copy)]
pub struct Told;

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        let content = error.content("");
        let details = content.details.unwrap_or_default().into_iter();
        let fields = details.map(|detail| FieldError::new(&detail.field, detail.message));
        let code = serde_json::to_value(content.code).unwrap_or_default();
        let retry_after = error.render("").headers().get(header::RETRY_AFTER).cloned();
        Self {
            status: error.status(),
            code: code.as_str().unwrap_or_default().to_owned(),
            message: content.message,
            fields: fields.collect(),
            retry_after: retry_after.and_then(|value| value.to_str().ok()?.parse().ok()),
            error: Box::new(error),
        }
    }
}

impl From<UseCaseError> for Refused {
    fn from(error: UseCaseError) -> Self {
        ApiError::from(error).into()
    }
}

impl Refused {
    pub fn not_found() -> Self {
        ApiError::NotFound.into()
    }

    pub fn wrong_method() -> Self {
        ApiError::MethodNotAllowed.into()
    }

    /// The error that an answer carries to the layers that tell of it, for one that tells of it itself.
    pub fn taken_from(response: &mut Response) -> Option<Self> {
        let error = response.extensions_mut().remove::<ApiError>();
        error.map(Self::from)
    }
}

impl IntoResponse for Refused {
    /// Carries the error to the layers that tell of it.
    fn into_response(self) -> Response {
        (*self.error).into_response()
    }
}
