//! The interface over HTTP: requests read, use cases called, answers written. No SQL, no rules.

mod account;
mod answer;
mod authentication;
mod body;
mod edge;
mod error;
mod fields;
mod funding;
mod health;
mod hooks;
mod idempotency;
mod json;
mod key_use;
mod keys;
mod openapi;
mod path;
mod payment_method;
mod payments;
mod query;
mod rate_limit;
mod router;
mod server;
mod span;
mod tasks;
mod upkeep;

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use opentelemetry_sdk::trace::SdkTracer;

pub use key_use::KeyUse;
pub use openapi::document as openapi_document;
pub use router::{metrics_router, router};
pub use server::{Shutdown, Timeouts, serve};
pub use upkeep::upkeep;

use crate::ambient::Clock;
use crate::payments::Payments;
use crate::store::Store;
use idempotency::InFlight;
use rate_limit::RateLimits;

/// What every handler may use.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    pub store: Store,
    pub clock: Clock,
    pub payments: Payments,
    pub metrics: PrometheusHandle,
    pub key_use: KeyUse,
    pub timeouts: Timeouts,
    tracer: Option<SdkTracer>,
    rate_limits: Option<RateLimits>,
    in_flight: InFlight,
}

/// What an app is made of.
pub struct Wiring {
    pub store: Store,
    pub clock: Clock,
    pub payments: Payments,
    pub metrics: PrometheusHandle,
    pub rate_limited: bool,
    pub timeouts: Timeouts,
    /// Where the spans of requests go, when traces are on.
    pub tracer: Option<SdkTracer>,
}

impl App {
    pub fn new(wiring: Wiring) -> Self {
        Self(Arc::new(Parts {
            store: wiring.store,
            clock: wiring.clock,
            payments: wiring.payments,
            metrics: wiring.metrics,
            key_use: KeyUse::default(),
            timeouts: wiring.timeouts,
            tracer: wiring.tracer,
            rate_limits: wiring.rate_limited.then(RateLimits::default),
            in_flight: InFlight::default(),
        }))
    }
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
