//! The interface over HTTP: requests read, use cases called, answers written. No SQL, no rules.

mod admin;
mod developer;
mod error;
mod exports;
pub mod inside;
mod keys;
mod links;
mod mcp;
mod middleware;
mod openapi;
mod processor;
mod public;
mod request;
mod response;
mod router;
mod routes;
mod second_factor;
mod server;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use ipnet::IpNet;
use metrics_exporter_prometheus::PrometheusHandle;
use middleware::limits::anonymous::AnonymousLimit;
use middleware::limits::answers::AnswerLimits;
use middleware::limits::files::FileLimits;
use middleware::limits::log::LogLimits;
use middleware::limits::rate::RateLimits;
use middleware::limits::streams::StreamLimits;
use middleware::limits::uploads::UploadLimits;
use opentelemetry_sdk::trace::SdkTracer;
use request::body::room::Room;
use request::idempotency::InFlight;

use crate::ambient::Clock;
use crate::domain::{
    AccountId, CheckedSkills, MapTiles, RelyingParty, RequiredFactor, StorageQuota,
};
use crate::files::Files;
use crate::limits::{Places, SignInLimits};
use crate::maintenance::{KeyUse, RequestLog};
use crate::monitoring::Monitoring;
use crate::outbound::Outbound;
use crate::passwords::Passwords;
use crate::payments::Payments;
use crate::scheduler::Scheduler;
use crate::shutdown::Shutdown;
use crate::sign_in::SignIns;
use crate::store::Store;
use crate::submission::{Submissions, Uploads};
use crate::usecases::FourEyes;
use crate::webhooks::Webhooks;

pub use error::codes::markdown_table as error_table;
pub use middleware::cors::CorsRules;
pub use router::{PageRoutes, metrics_router, openapi_document, router};
pub use routes::{AdminRoute, DeveloperRoute, admin_routes, developer_routes};
pub use server::{ConnectionLimits, Serving, Timeouts, listen, redirect_router, serve};

/// The content type of all that the API answers, files and pages aside.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What every handler may use.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    pub store: Store,
    pub clock: Clock,
    pub payments: Payments,
    pub files: Files,
    pub submissions: Submissions,
    /// Takes files that workers send in several requests.
    pub resumable: Uploads,
    pub webhooks: Webhooks,
    pub scheduler: Scheduler,
    pub outbound: Outbound,
    /// The VAPID public key that browsers subscribe with.
    pub push_key: String,
    pub shutdown: Shutdown,
    pub metrics: PrometheusHandle,
    pub monitoring: Monitoring,
    pub key_use: Arc<KeyUse>,
    pub request_log: Arc<RequestLog>,
    pub timeouts: Timeouts,
    pub passwords: Arc<Passwords>,
    /// Whether there is a mail server, so that addresses can be confirmed.
    pub sends_mail: bool,
    pub four_eyes: FourEyes,
    /// Who needs a second factor.
    pub required_factor: RequiredFactor,
    pub checked_skills: CheckedSkills,
    pub pages: PageSettings,
    /// What browsers may load for a page.
    page_policy: HeaderValue,
    hsts: bool,
    cors: CorsRules,
    tracer: Option<SdkTracer>,
    trusted_proxies: Vec<IpNet>,
    pub sandbox_banner: bool,
    rate_limits: Option<RateLimits>,
    anonymous: Option<AnonymousLimit>,
    /// Shared with the pages.
    pub sign_in_limits: Arc<SignInLimits>,
    in_flight: InFlight,
    bodies: Room,
    streams: StreamLimits,
    answers: AnswerLimits,
    file_limits: FileLimits,
    webhook_tests: Places<AccountId>,
    mcp_calls: Places<AccountId>,
    uploads: UploadLimits,
    log_limits: LogLimits,
}

/// What the operator says about the pages.
#[derive(Clone, Debug, Default)]
pub struct PageSettings {
    /// Only this machine reaches the server.
    pub local: bool,
    /// What lies under maps.
    pub tiles: Option<MapTiles>,
}

/// What an app is made of.
pub struct Dependencies {
    pub store: Store,
    pub clock: Clock,
    pub payments: Payments,
    pub files: Files,
    pub webhooks: Webhooks,
    pub scheduler: Scheduler,
    pub outbound: Outbound,
    pub push_key: String,
    pub shutdown: Shutdown,
    pub metrics: PrometheusHandle,
    /// The data folder, whose disk is watched.
    pub data: PathBuf,
    pub rate_limited: bool,
    /// How long it is remembered what accounts asked; none if it is not.
    pub request_log_kept: Option<Duration>,
    /// Who may say for whom a request was forwarded.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether pages say that no money moves, if the processor is the sandbox.
    pub sandbox_banner: bool,
    pub pages: PageSettings,
    pub storage_quota: StorageQuota,
    /// Whether there is a mail server. Without one, every address counts as confirmed.
    pub sends_mail: bool,
    /// Above which amount decisions of admins need a second one.
    pub four_eyes: FourEyes,
    /// Who needs a second factor.
    pub required_factor: RequiredFactor,
    /// Which skills of workers have to be confirmed.
    pub checked_skills: CheckedSkills,
    pub timeouts: Timeouts,
    /// Browsers are told to use nothing but HTTPS.
    pub hsts: bool,
    /// Which web pages of other hosts may call the API.
    pub cors: CorsRules,
    /// Where the spans of requests go, when traces are on.
    pub tracer: Option<SdkTracer>,
}

impl App {
    pub fn new(dependencies: Dependencies) -> Self {
        let (store, files, clock) = (
            &dependencies.store,
            &dependencies.files,
            &dependencies.clock,
        );
        let tiles = dependencies.pages.tiles.as_ref();
        let page_policy =
            middleware::headers::page_policy(files.origin(), tiles.map(MapTiles::origin));
        let (recorder, data) = (dependencies.metrics.clone(), dependencies.data);
        let monitoring =
            Monitoring::new(recorder, store.clone(), files.clone(), clock.clone(), data);
        Self(Arc::new(Parts {
            monitoring,
            submissions: Submissions::new(
                store.clone(),
                files.clone(),
                clock.clone(),
                dependencies.storage_quota,
            ),
            resumable: Uploads::new(store.clone(), files.clone(), clock.clone()),
            rate_limits: (dependencies.rate_limited).then(|| RateLimits::new(store)),
            store: dependencies.store,
            clock: dependencies.clock,
            payments: dependencies.payments,
            files: dependencies.files,
            webhooks: dependencies.webhooks,
            scheduler: dependencies.scheduler,
            outbound: dependencies.outbound,
            push_key: dependencies.push_key,
            checked_skills: dependencies.checked_skills,
            shutdown: dependencies.shutdown,
            bodies: Room::default(),
            streams: StreamLimits::default(),
            answers: AnswerLimits::default(),
            file_limits: FileLimits::default(),
            webhook_tests: Places::default(),
            mcp_calls: Places::default(),
            uploads: UploadLimits::default(),
            log_limits: LogLimits::default(),
            metrics: dependencies.metrics,
            key_use: Arc::default(),
            request_log: Arc::new(RequestLog::new(dependencies.request_log_kept)),
            timeouts: dependencies.timeouts,
            hsts: dependencies.hsts,
            cors: dependencies.cors,
            four_eyes: dependencies.four_eyes,
            tracer: dependencies.tracer,
            page_policy,
            pages: dependencies.pages,
            passwords: Arc::default(),
            sends_mail: dependencies.sends_mail,
            required_factor: dependencies.required_factor,
            trusted_proxies: dependencies.trusted_proxies,
            sandbox_banner: dependencies.sandbox_banner,
            anonymous: dependencies.rate_limited.then(AnonymousLimit::default),
            sign_in_limits: Arc::default(),
            in_flight: InFlight::default(),
        }))
    }
}

impl App {
    /// Where the service is reached.
    pub fn own_url(&self) -> &str {
        &self.cors.own_url
    }

    /// What checks passwords of people.
    pub fn sign_ins(&self) -> SignIns {
        SignIns {
            store: self.store.clone(),
            clock: self.clock.clone(),
            passwords: self.passwords.clone(),
            limits: self.sign_in_limits.clone(),
            sends_mail: self.sends_mail,
            site: RelyingParty::of(self.own_url()),
        }
    }

    /// Drops the counters of callers who have their whole quota back, and tells what the log has left out of them.
    pub fn forget_idle_callers(&self) {
        if let Some(limits) = &self.rate_limits {
            limits.forget_idle();
        }
        if let Some(limit) = &self.anonymous {
            limit.forget_idle();
        }
        self.sign_in_limits.forget_idle();
        middleware::edge::tell_left_out(self.log_limits.forget_idle(Instant::now()));
    }
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
