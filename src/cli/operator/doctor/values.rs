//! The settings as `doctor` shows them. Secrets are not shown.

use std::time::Duration;

use ipnet::IpNet;

use crate::domain::MapTiles;
use crate::settings::{LogFormat, PaymentSettings, Settings};
use crate::store::Location;

/// Each setting, in the order of the documentation.
pub fn values(settings: &Settings) -> Vec<(&'static str, String)> {
    let (windows, edge) = (&settings.windows, &settings.edge);
    let authority = settings.outbound.authority.as_ref();
    let authority = authority.map(|file| file.display());
    vec![
        ("listen", listen(settings)),
        ("data", settings.data.display().to_string()),
        ("database_url", database(&settings.database)),
        ("files_url", settings.files.to_string()),
        ("public_url", shown(settings.public_url.as_deref())),
        ("metrics_listen", shown(settings.metrics_listen)),
        ("webhook_retry_seconds", delays(&settings.webhook_delays)),
        ("webhook_allow_nets", networks(&settings.outbound.allow)),
        ("webhook_ca_file", shown(authority)),
        ("smtp_url", mail(settings)),
        ("unpaid_hours", hours(windows.unpaid)),
        ("start_hours", hours(windows.start)),
        ("work_hours", hours(windows.work)),
        ("review_days", days(windows.review)),
        ("dispute_hours", hours(windows.dispute)),
        ("decide_days", days(windows.decide)),
        ("open_days", days(windows.open)),
        ("upload_grace_hours", hours(windows.upload_grace)),
        ("payments", payments(&settings.payments)),
        ("allow_sandbox", on_or_off(settings.allow_sandbox)),
        ("payout_hold_hours", hours(settings.payout_hold)),
        ("four_eyes_cents", shown(settings.four_eyes_cents)),
        ("document_days", days(settings.documents_kept)),
        ("checked_skills", settings.checked_skills.to_string()),
        ("master_key", key_setting(settings)),
        ("storage_gigabytes", gigabytes(&settings.storage_quota)),
        (
            "require_second_factor",
            settings.required_factor.to_string(),
        ),
        (
            "map_tiles",
            shown(settings.map_tiles.as_ref().map(MapTiles::origin)),
        ),
        ("tls_cert", tls_cert(settings)),
        ("acme_domains", acme(settings)),
        ("redirect_listen", shown(settings.https.redirect_listen)),
        ("trusted_proxies", networks(&edge.trusted_proxies)),
        ("cors_origins", origins(&edge.cors_origins)),
        ("cors_keys", on_or_off(edge.cors_keys)),
        ("max_connections", edge.max_connections.to_string()),
        ("request_seconds", edge.request.as_secs().to_string()),
        ("drain_seconds", edge.drain.as_secs().to_string()),
        ("rate_limits", on_or_off(settings.rate_limits)),
        (
            "request_log_days",
            days(settings.request_log_kept.unwrap_or_default()),
        ),
        ("log", settings.log.to_string()),
        ("log_format", log_format(settings.log_format)),
    ]
}

fn listen(settings: &Settings) -> String {
    let mode = if settings.is_local() {
        ", local mode"
    } else {
        ""
    };
    format!("{}{mode}", settings.listen)
}

/// The URL may contain a password, so only the part after it is shown.
pub fn place(url: &str) -> &str {
    let place = url.split_once('?').map_or(url, |(place, _)| place);
    let place = place.split_once("://").map_or(place, |(_, place)| place);
    place.rsplit_once('@').map_or(place, |(_, place)| place)
}

pub fn database(location: &Location) -> String {
    match location {
        Location::Sqlite { file } => format!("SQLite in {}", file.display()),
        Location::Postgres { url, connections } => {
            format!("PostgreSQL at {}, {connections} connections", place(url))
        }
    }
}

fn origins(origins: &[String]) -> String {
    match origins {
        [] => "none".to_owned(),
        origins => origins.join(","),
    }
}

fn delays(delays: &[Duration]) -> String {
    let seconds = delays.iter().map(|delay| delay.as_secs_f64().to_string());
    seconds.collect::<Vec<_>>().join(",")
}

fn hours(span: Duration) -> String {
    (span.as_secs() / 3_600).to_string()
}

fn days(span: Duration) -> String {
    (span.as_secs() / 86_400).to_string()
}

fn networks(nets: &[IpNet]) -> String {
    let nets: Vec<_> = nets.iter().map(ToString::to_string).collect();
    match nets.as_slice() {
        [] => "none".to_owned(),
        nets => nets.join(","),
    }
}

/// The URL may contain a password, so it is not shown.
fn mail(settings: &Settings) -> String {
    match &settings.mail {
        None => "none, notifications stay in the database".to_owned(),
        Some(mail) => format!("set, sender {}", mail.from),
    }
}

fn key_setting(settings: &Settings) -> String {
    match settings.master_key {
        Some(_) => "set".to_owned(),
        None => "the file master.key in the data folder".to_owned(),
    }
}

fn gigabytes(quotas: &[u64]) -> String {
    let gigabytes = quotas
        .iter()
        .map(|bytes| (bytes / 1_000_000_000).to_string());
    gigabytes.collect::<Vec<_>>().join(",")
}

fn tls_cert(settings: &Settings) -> String {
    let files = settings.https.files.as_ref();
    shown(files.map(|files| files.certificate.display()))
}

fn acme(settings: &Settings) -> String {
    let acme = settings.https.acme.as_ref();
    shown(acme.map(|acme| format!("{} from {}", acme.domains.join(","), acme.directory)))
}

/// The keys are not shown.
fn payments(settings: &PaymentSettings) -> String {
    match settings {
        PaymentSettings::Sandbox => "sandbox, no money moves".to_owned(),
        PaymentSettings::Stripe { url, .. } => format!("stripe at {url}"),
    }
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

fn log_format(format: Option<LogFormat>) -> String {
    match format {
        Some(LogFormat::Text) => "text",
        Some(LogFormat::Json) => "json",
        None => "text on a terminal, json otherwise",
    }
    .to_owned()
}

fn on_or_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}
