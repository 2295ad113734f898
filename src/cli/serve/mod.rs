//! `legwork serve`

pub mod file_limit;
mod greeting;
pub mod https;
mod memory_limit;
mod signals;

use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use greeting::{announce, greet};
use https::Https;
use metrics_exporter_prometheus::PrometheusHandle;
use opentelemetry_sdk::trace::SdkTracer;
use signals::stop_on_signals;

use super::{Failure, master_key, open_or_create_store, payments};
use crate::ambient::{self, Clock};
use crate::api::{
    self, App, ConnectionLimits, CorsRules, Dependencies, PageSettings, Serving, Timeouts,
};
use crate::domain::StorageQuota;
use crate::domain::accounts::api_key::hex;
use crate::domain::accounts::same_person::ADDRESS_SECRET;
use crate::files::{Files, SigningKeys};
use crate::jobs::{Channels, Jobs};
use crate::mail::Mailer;
use crate::maintenance::Maintenance;
use crate::outbound::Outbound;
use crate::pages;
use crate::push::Vapid;
use crate::scheduler::Scheduler;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::store::{Store, watch_processors};
use crate::telemetry::{self, Traces};
use crate::usecases::{self, FourEyes};
use crate::webhooks::Webhooks;

/// Requests, jobs and deliveries in flight must end within this time. Other processes take over the
/// rest. Together with the two below and with closing the database, the program ends within 25 s,
/// whatever hangs.
const STOP_WITHIN: Duration = Duration::from_secs(18);
/// How long the last traces may take to be sent.
const TRACES_WITHIN: Duration = Duration::from_secs(2);
/// How long threads that wait for a file, a name or a password are waited for.
const THREADS_WITHIN: Duration = Duration::from_secs(1);

/// Those who read metrics are few.
const MAX_METRICS_CONNECTIONS: usize = 128;

/// Where the server is reached.
struct Front {
    listener: TcpListener,
    url: String,
    https: Option<Https>,
}

pub fn run(settings: &Settings, self_signed: bool) -> Result<(), Failure> {
    settings.check_processor().map_err(Failure)?;
    let _log = telemetry::start_logging(settings)?;
    let metrics = telemetry::start_metrics();
    let store = open_or_create_store(settings)?.keeping_mail(settings.mail.is_none());
    // On SQLite, one thread never waits for the disk. With one more than there are processors, that
    // costs nothing.
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(processors + 1)
        .enable_all()
        .build()?;
    watch_processors(&settings.database);
    let served = runtime.block_on(async {
        let traces = Traces::start().map_err(Failure)?;
        let tracer = traces.as_ref().map(Traces::tracer);
        let (app, channels, front) = open(settings, self_signed, store, (metrics, tracer)).await?;
        let served = serve(app, channels, front, settings).await;
        if let Some(traces) = traces {
            let stopping = tokio::task::spawn_blocking(move || traces.stop());
            let _ = timeout(TRACES_WITHIN, stopping).await;
        }
        served
    });
    runtime.shutdown_timeout(THREADS_WITHIN);
    tracing::info!("stopped");
    served
}

/// Opens everything that the settings name.
async fn open(
    settings: &Settings,
    self_signed: bool,
    store: Store,
    (metrics, tracer): (PrometheusHandle, Option<SdkTracer>),
) -> Result<(App, Channels, Front), Failure> {
    let listener = bind("LEGWORK_LISTEN", settings.listen)?;
    let address = listener.local_addr()?;
    let clock = Clock::system();
    let https = Https::open(settings, self_signed, address, &store, &clock).await?;
    let url = public_url(settings, https.as_ref(), address);
    let channels = open_channels(&store, settings, &url).await?;
    make_address_key(&store).await?;
    make_bundle_key(&store, &clock).await?;
    let (outbound, delays) = (channels.outbound.clone(), settings.webhook_delays.clone());
    let webhooks = Webhooks::new(store.clone(), clock.clone(), outbound.clone(), delays);
    let (kept, windows) = (clock.clone(), settings.windows);
    let app = App::new(Dependencies {
        payments: payments::open(&settings.payments, &store, &clock, &url)?,
        files: open_files(&store, settings, &url).await?,
        scheduler: Scheduler::new(store.clone(), kept, windows, webhooks.clone()),
        webhooks,
        outbound,
        push_key: channels.vapid.public_key(),
        shutdown: Shutdown::default(),
        store,
        clock,
        metrics,
        data: settings.data.clone(),
        rate_limited: settings.rate_limits,
        request_log_kept: settings.request_log_kept,
        storage_quota: StorageQuota(settings.storage_quota),
        sends_mail: settings.mail.is_some(),
        required_factor: settings.required_factor,
        checked_skills: settings.checked_skills.clone(),
        trusted_proxies: settings.edge.trusted_proxies.clone(),
        timeouts: Timeouts {
            request: settings.edge.request,
            ..Timeouts::default()
        },
        // A browser that remembers it for localhost would refuse everything else there.
        hsts: url.starts_with("https://") && !self_signed && !settings.is_local(),
        cors: CorsRules {
            origins: settings.edge.cors_origins.clone(),
            keys: settings.edge.cors_keys,
            own_url: url.clone(),
        },
        four_eyes: FourEyes(settings.four_eyes_cents),
        pages: PageSettings {
            local: settings.is_local(),
            tiles: settings.map_tiles.clone(),
        },
        sandbox_banner: !settings.local().hides_the_sandbox_banner(),
        tracer,
    });
    let front = Front {
        listener,
        url,
        https,
    };
    Ok((app, channels, front))
}

async fn serve(
    app: App,
    channels: Channels,
    front: Front,
    settings: &Settings,
) -> Result<(), Failure> {
    let shutdown = app.shutdown.clone();
    stop_on_signals(shutdown.clone(), settings.edge.drain);
    let serving = Serving {
        shutdown: shutdown.clone(),
        timeouts: app.timeouts,
        limits: connection_limits(settings, front.https.is_some()),
        tls: front.https.as_ref().map(Https::config).transpose()?,
    };
    listen_beside(&app, &front.url, settings, &serving)?;
    let maintenance = tokio::spawn(maintenance(&app, settings).run(shutdown.clone()));
    let (store, files, clock) = (app.store.clone(), app.files.clone(), app.clock.clone());
    let keys = tokio::spawn(master_key::follow(store, files, clock, shutdown.clone()));
    let background = background(&app, channels, settings.payout_hold);
    greet(&app.store, settings, &front).await?;
    let Front {
        listener, https, ..
    } = front;
    let certificates = https.map(|https| https.keep(app.clock.clone(), shutdown.clone()));
    let router = pages::router(&app, settings.local().serves_metrics());
    let serving = tokio::spawn(api::serve(listener, router, serving));
    shutdown.started().await;
    let deadline = Instant::now() + STOP_WITHIN;
    let _ = timeout_at(deadline, serving).await;
    let _ = timeout_at(deadline, maintenance).await;
    let _ = timeout_at(deadline, keys).await;
    if let Some(certificates) = certificates {
        let _ = timeout_at(deadline, certificates).await;
    }
    if timeout_at(deadline, background).await.is_err() {
        tracing::warn!("jobs in flight were left to other processes");
    }
    match timeout_at(deadline, app.key_use.flush(&app.store)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "cannot record when keys were last used"),
        Err(_) => tracing::warn!("no time to record when keys were last used"),
    }
    Ok(())
}

fn maintenance(app: &App, settings: &Settings) -> Maintenance {
    let limits = app.clone();
    Maintenance {
        store: app.store.clone(),
        files: app.files.clone(),
        clock: app.clock.clone(),
        metrics: app.metrics.clone(),
        key_use: app.key_use.clone(),
        request_log: app.request_log.clone(),
        documents_kept: settings.documents_kept,
        checked_skills: settings.checked_skills.clone(),
        forget_idle_callers: Box::new(move || limits.forget_idle_callers()),
    }
}

/// Makes the key under which addresses of callers are remembered, like the other keys of the service:
/// at the start, and not in the middle of a rotation of the master key.
async fn make_address_key(store: &Store) -> Result<(), Failure> {
    let new = hex(&ambient::random::<32>());
    let made = store.write(move |tx| tx.service_secret(ADDRESS_SECRET, &new));
    made.await?;
    Ok(())
}

/// Makes the key that signs proof bundles, at the first start.
async fn make_bundle_key(store: &Store, clock: &Clock) -> Result<(), Failure> {
    let (seed, now) = (ambient::random::<32>(), clock.now());
    let made = store.write(move |tx| usecases::make_bundle_key(tx, &seed, now));
    made.await?;
    Ok(())
}

/// Opens the file storage. All servers on a database sign with the same keys.
async fn open_files(store: &Store, settings: &Settings, url: &str) -> Result<Files, Failure> {
    let new = hex(&ambient::random::<32>());
    let secret = store
        .write(move |tx| tx.service_secret(master_key::SIGNING_KEYS, &new))
        .await?;
    let keys = SigningKeys::parse(&secret);
    let incoming = settings.data.join("incoming");
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Files::open(&settings.files, &incoming, url, keys, environment)
        .map_err(|reason| Failure(format!("LEGWORK_FILES_URL: {reason}")))
}

/// Opens the notification channels. All servers on a database have the same key for push services.
async fn open_channels(store: &Store, settings: &Settings, url: &str) -> Result<Channels, Failure> {
    let new = Vapid::generate().map_err(Failure)?.to_secret();
    let secret = store
        .write(move |tx| tx.service_secret(master_key::PUSH_KEY, &new))
        .await?;
    let mailer = settings.mail.as_ref().map(|mail| {
        Mailer::open(&mail.smtp_url, &mail.from)
            .map_err(|reason| Failure(format!("LEGWORK_SMTP_URL, LEGWORK_MAIL_FROM: {reason}")))
    });
    Ok(Channels {
        mailer: mailer.transpose()?,
        outbound: open_outbound(settings)?,
        vapid: Arc::new(Vapid::from_secret(&secret).map_err(Failure)?),
        public_url: url.to_owned(),
        contact: match &settings.mail {
            Some(mail) => format!("mailto:{}", bare_address(&mail.from)),
            None => url.to_owned(),
        },
    })
}

fn open_outbound(settings: &Settings) -> Result<Outbound, Failure> {
    let outbound = Outbound::new(&settings.outbound)
        .map_err(|reason| Failure(format!("LEGWORK_WEBHOOK_CA_FILE: {reason}")))?;
    let reaches_private = !settings.outbound.allow.is_empty();
    Ok(outbound.discreet(reaches_private && !settings.local().explains_failed_calls()))
}

/// Returns `a@b.example` for `Legwork <a@b.example>`.
fn bare_address(from: &str) -> &str {
    let inside = from.split_once('<').map_or(from, |(_, rest)| rest);
    inside.trim_end_matches('>').trim()
}

/// Everything that runs beside requests until shutdown.
fn background(app: &App, channels: Channels, payout_hold: Duration) -> JoinHandle<()> {
    let processor = app.payments.processor.clone();
    let (store, clock, files) = (app.store.clone(), app.clock.clone(), app.files.clone());
    let jobs = Jobs::new(store, clock, processor, files, channels)
        .with_payout_hold(payout_hold)
        .with_checked_skills(app.checked_skills.clone());
    let app = app.clone();
    tokio::spawn(async move {
        let deliveries = app.webhooks.run(app.shutdown.started());
        let time = app.scheduler.run(app.shutdown.started());
        tokio::join!(jobs.run(app.shutdown.started()), deliveries, time);
    })
}

fn public_url(settings: &Settings, https: Option<&Https>, address: SocketAddr) -> String {
    match (&settings.public_url, https) {
        (Some(url), _) => url.clone(),
        (None, Some(https)) => https.default_url(address),
        (None, None) => format!("http://{address}"),
    }
}

/// The listeners beside the main one: for metrics, and for plain HTTP.
fn listen_beside(
    app: &App,
    url: &str,
    settings: &Settings,
    serving: &Serving,
) -> Result<(), Failure> {
    let plain = Serving {
        tls: None,
        ..serving.clone()
    };
    if let Some(listen) = settings.metrics_listen {
        let listener = bind("LEGWORK_METRICS_LISTEN", listen)?;
        let serving = Serving {
            limits: ConnectionLimits::new(MAX_METRICS_CONNECTIONS, Vec::new()),
            ..plain.clone()
        };
        tokio::spawn(api::serve(listener, api::metrics_router(app), serving));
    }
    if let Some(listen) = settings.https.redirect_listen {
        redirect_plain_http(listen, url, settings, plain)?;
    }
    Ok(())
}

/// Sends whoever comes by plain HTTP to the public URL. The connections count with all others.
fn redirect_plain_http(
    listen: SocketAddr,
    url: &str,
    settings: &Settings,
    serving: Serving,
) -> Result<(), Failure> {
    const SETTING: &str = "LEGWORK_REDIRECT_LISTEN";
    let acme = settings.https.acme.as_ref();
    let names = acme.map_or(&[][..], |acme| &acme.domains);
    let router = api::redirect_router(url, names).ok_or_else(|| {
        Failure(format!(
            "{SETTING} needs a LEGWORK_PUBLIC_URL that begins with https://"
        ))
    })?;
    let listener = bind(SETTING, listen)?;
    let address = listener.local_addr()?;
    announce(format_args!(
        "Plain HTTP on {address} is redirected to {url}"
    ));
    tokio::spawn(api::serve(listener, router, serving));
    Ok(())
}

/// As many as the settings say, as the system lets this process open, and as there is memory for.
fn connection_limits(settings: &Settings, tls: bool) -> ConnectionLimits {
    let wanted = settings.edge.max_connections;
    let (files, memory) = (file_limit::raise_limit(), memory_limit::read());
    let possible = file_limit::connections_within(files, wanted);
    let affordable = memory_limit::connections_within(memory, tls, possible);
    if affordable < wanted {
        tracing::warn!(
            open_files = files,
            memory_bytes = memory,
            max_connections = affordable,
            "the limit of {} is too low for LEGWORK_MAX_CONNECTIONS",
            if affordable < possible {
                "memory"
            } else {
                "open files"
            }
        );
    }
    ConnectionLimits::new(affordable, settings.edge.trusted_proxies.clone())
}

fn bind(setting: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    api::listen(address)
        .map_err(|error| Failure(format!("{setting}: cannot listen on {address}: {error}")))
}
