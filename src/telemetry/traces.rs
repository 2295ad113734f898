//! Traces: one span for each request, sent to the OpenTelemetry collector that
//! OTEL_EXPORTER_OTLP_ENDPOINT names. OTLP over HTTP, without TLS: the collector should be nearby.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

/// The variables from the OpenTelemetry specification.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends spans until it is stopped.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Returns `None` if no collector is configured. Call it within the runtime that will send.
    pub fn start() -> Result<Option<Self>, String> {
        let named = |variable: &&str| std::env::var_os(variable).is_some_and(|v| !v.is_empty());
        let Some(variable) = ENDPOINTS.iter().find(|v| named(v)) else {
            return Ok(None);
        };
        let client = OnRuntime {
            runtime: Handle::current(),
            client: HyperClient::with_default_connector(COLLECTOR_TIMEOUT, None),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .build()
            .map_err(|error| format!("{variable}: {error}"))?;
        let service = Resource::builder().with_service_name("legwork").build();
        let provider = SdkTracerProvider::builder()
            .with_resource(service)
            .with_batch_exporter(exporter)
            .build();
        Ok(Some(Self(provider)))
    }

    pub fn tracer(&self) -> SdkTracer {
        self.0.tracer("legwork")
    }

    /// Sends what is left. Blocks, so do not call it on a thread that serves requests.
    pub fn stop(&self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "some traces were not sent");
        }
    }
}

/// The exporter runs on its own thread, but the client needs a runtime.
#[derive(Debug)]
struct OnRuntime {
    runtime: Handle,
    client: HyperClient,
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sending = async move { client.send_bytes(request).await };
        self.runtime.spawn(sending).await?
    }
}
