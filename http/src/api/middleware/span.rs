//! The span of a request, for traces.

use axum::extract::Request;
use axum::http::StatusCode;
use opentelemetry::KeyValue;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span as _, SpanKind, Status, Tracer};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, Span};

/// Begins the span; a `traceparent` header makes it part of the caller's trace.
pub fn begin(tracer: &SdkTracer, request: &Request, route: &str) -> Span {
    let method = request.method().to_string();
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
    tracer
        .span_builder(format!("{method} {route}"))
        .with_kind(SpanKind::Server)
        .with_attributes([
            KeyValue::new("http.request.method", method),
            KeyValue::new("http.route", route.to_owned()),
        ])
        .start_with_context(tracer, &parent)
}

pub fn end(mut span: Span, status: StatusCode, request_id: &str) {
    let code = i64::from(status.as_u16());
    span.set_attribute(KeyValue::new("http.response.status_code", code));
    span.set_attribute(KeyValue::new("legwork.request_id", request_id.to_owned()));
    if status.is_server_error() {
        span.set_status(Status::error(status.as_str().to_owned()));
    }
    span.end();
}
