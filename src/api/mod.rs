//! The interface over HTTP: requests read, use cases called, answers written. No SQL, no rules.

mod account;
mod admin;
mod answer;
mod authentication;
mod body;
mod deliveries;
mod disputes;
mod edge;
mod error;
mod event_stream;
mod events;
mod evidence;
mod fields;
mod files;
mod funding;
mod health;
mod history;
mod hooks;
mod idempotency;
mod json;
mod key_use;
mod keys;
mod openapi;
mod openapi_examples;
mod path;
mod payment_method;
mod payments;
mod proofs;
mod push_subscriptions;
mod query;
mod rate_limit;
mod router;
mod server;
mod sign_in_limits;
mod span;
mod submitting;
mod task_requests;
mod tasks;
mod test_clock;
mod test_helpers;
mod upkeep;
mod uploads;
mod webhook;
mod worker_proofs;
mod worker_tasks;
mod workers;

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use opentelemetry_sdk::trace::SdkTracer;

pub use key_use::KeyUse;
pub use openapi::document as openapi_document;
pub use router::{AdminRoute, admin_routes, metrics_router, router};
pub use server::{Shutdown, Timeouts, serve};
pub use upkeep::{forget, sweep_files, upkeep};

use crate::ambient::Clock;
use crate::clockwork::Clockwork;
use crate::files::Files;
use crate::outbound::Outbound;
use crate::payments::Payments;
use crate::store::Store;
use crate::webhooks::Webhooks;
use event_stream::Streams;
use idempotency::InFlight;
use rate_limit::RateLimits;
use sign_in_limits::SignInLimits;

/// What every handler may use.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    pub store: Store,
    pub clock: Clock,
    pub payments: Payments,
    pub files: Files,
    pub webhooks: Webhooks,
    pub clockwork: Clockwork,
    pub outbound: Outbound,
    /// With which browsers subscribe to notices.
    pub push_key: String,
    pub shutdown: Shutdown,
    pub metrics: PrometheusHandle,
    pub key_use: KeyUse,
    pub timeouts: Timeouts,
    tracer: Option<SdkTracer>,
    rate_limits: Option<RateLimits>,
    sign_in_limits: SignInLimits,
    in_flight: InFlight,
    streams: Streams,
}

/// What an app is made of.
pub struct Wiring {
    pub store: Store,
    pub clock: Clock,
    pub payments: Payments,
    pub files: Files,
    pub webhooks: Webhooks,
    pub clockwork: Clockwork,
    pub outbound: Outbound,
    pub push_key: String,
    pub shutdown: Shutdown,
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
            files: wiring.files,
            webhooks: wiring.webhooks,
            clockwork: wiring.clockwork,
            outbound: wiring.outbound,
            push_key: wiring.push_key,
            shutdown: wiring.shutdown,
            streams: Streams::default(),
            metrics: wiring.metrics,
            key_use: KeyUse::default(),
            timeouts: wiring.timeouts,
            tracer: wiring.tracer,
            rate_limits: wiring.rate_limited.then(RateLimits::default),
            sign_in_limits: SignInLimits::default(),
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
