//! `legwork doctor`: prints the configuration and checks that it works.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ipnet::IpNet;

use super::{checks, file_limit, https, make_data_folder, master_key, print_line};
use crate::files::FilesLocation;
use crate::settings::{Given, LogFormat, Origin, PaymentSettings, Settings, variable};
use crate::store::{Location, Store};

pub fn run(given: &Given, settings: &Settings) -> ExitCode {
    print_line("Settings");
    let windows = &settings.windows;
    let authority = settings.outbound.authority.as_ref();
    let authority = authority.map(|file| file.display());
    for (name, value) in [
        ("listen", listen(settings)),
        ("data", settings.data.display().to_string()),
        ("database_url", database(&settings.database)),
        ("files_url", files(&settings.files)),
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
        ("payments", payments(&settings.payments)),
        ("allow_sandbox", on_or_off(settings.allow_sandbox)),
        ("payout_hold_hours", hours(settings.payout_hold)),
        ("master_key", key_setting(settings)),
        ("storage_gigabytes", gigabytes(&settings.storage_quota)),
        ("tls_cert", tls_cert(settings)),
        ("acme_domains", acme(settings)),
        ("redirect_listen", shown(settings.https.redirect_listen)),
        ("trusted_proxies", networks(&settings.edge.trusted_proxies)),
        ("max_connections", settings.edge.max_connections.to_string()),
        (
            "request_seconds",
            settings.edge.request.as_secs().to_string(),
        ),
        ("drain_seconds", settings.edge.drain.as_secs().to_string()),
        ("rate_limits", on_or_off(settings.rate_limits)),
        ("log", settings.log.clone()),
        ("log_format", shown(settings.log_format.map(log_format))),
    ] {
        let origin = given.origin(name);
        print_line(format_args!("  {:28} {value}  ({origin})", variable(name)));
    }
    print_line("Checks");
    let mut checks = vec![
        check("data folder", data_folder(&settings.data)),
        check("address", address_is_free(settings)),
        check("database", database_works(&settings.database)),
        check("master key", master_key::check(settings)),
        check("files", checks::files(settings)),
        check("mail", checks::mail(settings)),
        check("payments", checks::payments(settings)),
        check("HTTPS", https::check(settings)),
        check("open files", enough_open_files(given, settings)),
    ];
    for (what, found) in checks::database_server(settings).into_iter().flatten() {
        checks.push(check(what, found));
    }
    if let Some(hint) = checks::proxies(settings) {
        print_line(format_args!("  hint {hint}."));
    }
    if checks.iter().all(|good| *good) {
        print_line("Everything works.");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn check(what: &str, result: Result<String, String>) -> bool {
    let (mark, text) = match &result {
        Ok(text) => ("ok  ", text),
        Err(text) => ("FAIL", text),
    };
    print_line(format_args!("  {mark} {what}: {text}"));
    result.is_ok()
}

fn data_folder(folder: &Path) -> Result<String, String> {
    make_data_folder(folder).map_err(|failure| failure.0)?;
    let probe = folder.join(".doctor");
    std::fs::write(&probe, b"x")
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|error| format!("{} is not writable: {error}", folder.display()))?;
    Ok(format!("{} is writable", folder.display()))
}

fn address_is_free(settings: &Settings) -> Result<String, String> {
    let address = settings.listen;
    match std::net::TcpListener::bind(address) {
        Ok(_) => Ok(format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Ok(format!("{address} is in use; is legwork already running?"))
        }
        Err(error) => Err(format!("cannot listen on {address}: {error}")),
    }
}

fn database_works(location: &Location) -> Result<String, String> {
    let name = database(location);
    match Store::lacking_migrations(location) {
        Ok(0) => Ok(format!("{name} is reachable and up to date")),
        Ok(steps) => Ok(format!(
            "{name} is reachable; the next start will apply {steps} migrations"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// With fewer files than connections the server still starts, and accepts fewer. That is a fault only
/// if somebody asked for more.
fn enough_open_files(given: &Given, settings: &Settings) -> Result<String, String> {
    let limit = file_limit::raise_limit();
    let wanted = settings.edge.max_connections;
    let needed = file_limit::needed(wanted);
    if limit >= needed {
        return Ok(format!(
            "up to {limit}, enough for {wanted} connections (LEGWORK_MAX_CONNECTIONS)"
        ));
    }
    let possible = file_limit::connections_within(limit, wanted);
    let text = format!(
        "up to {limit}, enough for {possible} connections, not for {wanted} \
         (LEGWORK_MAX_CONNECTIONS); set LimitNOFILE of the service to {needed} or more"
    );
    match given.origin("max_connections") {
        Origin::Default => Ok(text),
        _ => Err(text),
    }
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
fn database(location: &Location) -> String {
    match location {
        Location::Sqlite { file } => format!("SQLite in {}", file.display()),
        Location::Postgres { url, connections } => {
            let place = url.split_once('?').map_or(url.as_str(), |(place, _)| place);
            let place = place.split_once("://").map_or(place, |(_, place)| place);
            let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
            format!("PostgreSQL at {place}, {connections} connections")
        }
    }
}

fn files(location: &FilesLocation) -> String {
    match location {
        FilesLocation::Folder(folder) => folder.display().to_string(),
        FilesLocation::S3 { bucket, prefix } => format!("s3://{bucket}/{prefix}"),
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

fn log_format(format: LogFormat) -> &'static str {
    match format {
        LogFormat::Text => "text",
        LogFormat::Json => "json",
    }
}

fn on_or_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}
