//! JSON answers.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;

use crate::api::JSON;
use crate::api::error::ApiError;
use crate::views::to_json;

/// How many headers an answer has in the end.
const HEADERS: usize = 10;

/// A successful answer whose body is already JSON text.
#[derive(Debug)]
pub struct JsonResponse {
    pub status: StatusCode,
    pub body: String,
    pub replayed: bool,
}

impl JsonResponse {
    pub fn ok<B: Serialize>(body: &B) -> Result<Self, ApiError> {
        Self::new(StatusCode::OK, body)
    }

    /// Says that it is the answer of an earlier request.
    pub fn replayed(self) -> Self {
        Self {
            replayed: true,
            ..self
        }
    }

    /// A body that is written already.
    pub fn of_text(body: String) -> Self {
        Self {
            status: StatusCode::OK,
            body,
            replayed: false,
        }
    }

    pub fn new<B: Serialize>(status: StatusCode, body: &B) -> Result<Self, ApiError> {
        Ok(Self {
            status,
            body: to_json(body)?,
            replayed: false,
        })
    }
}

impl IntoResponse for JsonResponse {
    fn into_response(self) -> Response<Body> {
        let mut response = of_json(Body::from(self.body));
        *response.status_mut() = self.status;
        if self.replayed {
            let headers = response.headers_mut();
            headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}

/// A successful answer whose JSON text is kept for others, too.
#[derive(Debug)]
pub struct KeptJson(pub Bytes);

impl IntoResponse for KeptJson {
    fn into_response(self) -> Response<Body> {
        of_json(Body::from(self.0))
    }
}

fn of_json(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    // Room for those that the layers above add, so that the map does not grow step by step.
    headers.reserve(HEADERS);
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
