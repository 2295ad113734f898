//! Settings from defaults, `legwork.toml`, the environment and flags. The last one wins.

mod list;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;

use crate::domain::{ProcessorName, Secret, Windows};
use crate::files::FilesLocation;
use crate::outbound::OutboundSettings;
use crate::store::Location;

pub use list::{SETTINGS, Setting};

/// Variables with our prefix that are not settings: the test suite's.
const FOREIGN_PREFIX: &str = "LEGWORK_TEST_";

pub fn variable(name: &str) -> String {
    format!("LEGWORK_{}", name.to_uppercase())
}

pub fn flag(name: &str) -> String {
    name.replace('_', "-")
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Environment,
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment => f.write_str("environment"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{setting} (from {origin}): {reason}")]
    Malformed {
        setting: String,
        origin: Origin,
        reason: String,
    },
    #[error("{setting} (from {origin}) is not a setting of legwork")]
    Unknown { setting: String, origin: Origin },
    #[error("{file}: {reason}", file = file.display())]
    File { file: PathBuf, reason: String },
}

/// The values as given, before they are parsed.
#[derive(Clone, Debug, Default)]
pub struct Given {
    values: BTreeMap<String, (String, Origin)>,
}

impl Given {
    pub fn collect(
        flags: BTreeMap<String, String>,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&Path>,
    ) -> Result<Self, SettingsError> {
        let mut given = Self::default();
        if let Some(file) = file {
            given.add_file(file)?;
        }
        for (variable, value) in environment {
            let foreign = variable.starts_with(FOREIGN_PREFIX) || variable == "LEGWORK_CONFIG";
            if let Some(name) = variable.strip_prefix("LEGWORK_")
                && !foreign
            {
                given.add(&name.to_lowercase(), value, Origin::Environment)?;
            }
        }
        for (name, value) in flags {
            given.add(&name, value, Origin::Flag)?;
        }
        Ok(given)
    }

    fn add(&mut self, name: &str, value: String, origin: Origin) -> Result<(), SettingsError> {
        if !SETTINGS.iter().any(|s| s.name == name) {
            return Err(SettingsError::Unknown {
                setting: shown_as(name, &origin),
                origin,
            });
        }
        self.values.insert(name.to_owned(), (value, origin));
        Ok(())
    }

    fn add_file(&mut self, file: &Path) -> Result<(), SettingsError> {
        let unreadable = |reason: String| SettingsError::File {
            file: file.to_owned(),
            reason,
        };
        let text = std::fs::read_to_string(file).map_err(|e| unreadable(e.to_string()))?;
        let table: toml::Table = text
            .parse()
            .map_err(|e: toml::de::Error| unreadable(e.to_string()))?;
        for (name, value) in table {
            let value = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Boolean(on) => if on { "on" } else { "off" }.to_owned(),
                _ => return Err(unreadable(format!("{name} must be text or a whole number"))),
            };
            self.add(&name, value, Origin::File(file.to_owned()))?;
        }
        Ok(())
    }

    pub fn origin(&self, name: &str) -> Origin {
        self.values
            .get(name)
            .map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    fn read<T>(
        &self,
        name: &str,
        default: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, SettingsError> {
        let (value, origin) = match self.values.get(name) {
            Some((value, origin)) => (value.as_str(), origin.clone()),
            None => (default, Origin::Default),
        };
        parse(value).map_err(|reason| SettingsError::Malformed {
            setting: shown_as(name, &origin),
            origin,
            reason,
        })
    }
}

fn shown_as(name: &str, origin: &Origin) -> String {
    match origin {
        Origin::Environment | Origin::Default => variable(name),
        Origin::File(_) => name.to_owned(),
        Origin::Flag => format!("--{}", flag(name)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// The payment processor.
#[derive(Clone, Debug)]
pub enum PaymentSettings {
    Sandbox,
    Stripe {
        key: Secret,
        webhook_secret: Secret,
        url: String,
    },
}

#[derive(Clone, Debug)]
pub struct MailSettings {
    pub smtp_url: Secret,
    pub from: String,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data: PathBuf,
    pub database: Location,
    pub files: FilesLocation,
    pub public_url: Option<String>,
    pub metrics_listen: Option<SocketAddr>,
    pub webhook_delays: Vec<Duration>,
    pub outbound: OutboundSettings,
    pub mail: Option<MailSettings>,
    pub windows: Windows,
    pub payments: PaymentSettings,
    pub rate_limits: bool,
    pub log: String,
    pub log_format: Option<LogFormat>,
}

impl Settings {
    pub fn read(given: &Given) -> Result<Self, SettingsError> {
        let data = given.read("data", "legwork-data", folder)?;
        let connections = given.read("database_connections", "16", connections)?;
        let database = given.read("database_url", "sqlite", |url| {
            database(url, &data, connections)
        })?;
        let listen = given.read("listen", "127.0.0.1:8080", address)?;
        Ok(Self {
            listen,
            database,
            files: given.read("files_url", "file:", |url| FilesLocation::rule(url, &data))?,
            public_url: given.read("public_url", "", public_url)?,
            metrics_listen: given.read("metrics_listen", "", optional(address))?,
            webhook_delays: given.read("webhook_retry_seconds", "60,480,3840", delays)?,
            outbound: outbound(given, listen.ip().is_loopback())?,
            mail: mail(given)?,
            windows: windows(given)?,
            payments: payments(given)?,
            rate_limits: given.read("rate_limits", "on", on_or_off)?,
            log: given.read("log", "info", log_filter)?,
            log_format: given.read("log_format", "", log_format)?,
            data,
        })
    }

    /// Local mode: on a loopback address, the developer is assumed to be the only user.
    pub fn is_local(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}

fn folder(text: &str) -> Result<PathBuf, String> {
    if text.trim().is_empty() {
        return Err("must be the path of a folder".to_owned());
    }
    Ok(PathBuf::from(text))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let malformed = || format!("{text:?} is not an address such as 127.0.0.1:8080");
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let mut found = text.to_socket_addrs().map_err(|_| malformed())?;
    // A name may have several addresses. IPv4 comes first, for old clients.
    let (v4, v6): (Vec<_>, Vec<_>) = found
        .by_ref()
        .partition(|address| matches!(address.ip(), IpAddr::V4(_)));
    v4.into_iter().chain(v6).next().ok_or_else(malformed)
}

fn optional<T>(
    parse: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| match text {
        "" => Ok(None),
        text => parse(text).map(Some),
    }
}

fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1_000) => Ok(number),
        _ => Err("must be a whole number from 1 to 1000".to_owned()),
    }
}

fn database(url: &str, data: &Path, connections: usize) -> Result<Location, String> {
    if url == "sqlite" {
        let file = data.join("legwork.db");
        return Ok(Location::Sqlite { file });
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let url = url.to_owned();
        return Ok(Location::Postgres { url, connections });
    }
    // The URL may contain a password, so it is not repeated. An empty value is refused too: a
    // secret that is missing must not lead to an empty database.
    Err("must begin with postgres:// (leave it out for SQLite in the data folder)".to_owned())
}

fn public_url(text: &str) -> Result<Option<String>, String> {
    let well_formed = text.starts_with("http://") || text.starts_with("https://");
    match text {
        "" => Ok(None),
        text if well_formed => Ok(Some(text.trim_end_matches('/').to_owned())),
        text => Err(format!("{text:?} must begin with http:// or https://")),
    }
}

/// In the order of the attempts.
fn delays(text: &str) -> Result<Vec<Duration>, String> {
    const MAX_DELAYS: usize = 20;
    const WEEK: f64 = 7.0 * 24.0 * 60.0 * 60.0;
    let delay = |text: &str| {
        let seconds = text.trim().parse::<f64>().ok();
        let seconds = seconds.filter(|seconds| (0.0..=WEEK).contains(seconds));
        seconds.map(Duration::from_secs_f64)
    };
    let delays: Option<Vec<_>> = text.split(',').map(delay).collect();
    delays
        .filter(|delays| delays.len() <= MAX_DELAYS)
        .ok_or_else(|| {
            format!("{text:?} must be a comma-separated list of seconds, such as 60,480,3840")
        })
}

fn outbound(given: &Given, local: bool) -> Result<OutboundSettings, SettingsError> {
    let mut allow = given.read("webhook_allow_nets", "", networks)?;
    if local {
        allow.extend(networks("127.0.0.0/8,::1/128").unwrap_or_default());
    }
    let authority = given.read("webhook_ca_file", "", optional(folder))?;
    Ok(OutboundSettings { allow, authority })
}

fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    let network = |text: &str| {
        let text = text.trim();
        let address = |address: IpAddr| IpNet::from(address);
        let net = text.parse::<IpNet>().or_else(|_| text.parse().map(address));
        net.map_err(|_| format!("{text:?} is not a network such as 10.1.0.0/16"))
    };
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    parts.map(network).collect()
}

fn windows(given: &Given) -> Result<Windows, SettingsError> {
    const HOUR: u64 = 60 * 60;
    const DAY: u64 = 24 * HOUR;
    Ok(Windows {
        unpaid: given.read("unpaid_hours", "24", |text| span(text, HOUR))?,
        start: given.read("start_hours", "24", |text| span(text, HOUR))?,
        work: given.read("work_hours", "72", |text| span(text, HOUR))?,
        review: given.read("review_days", "7", |text| span(text, DAY))?,
        dispute: given.read("dispute_hours", "72", |text| span(text, HOUR))?,
        decide: given.read("decide_days", "30", |text| span(text, DAY))?,
        open: given.read("open_days", "30", |text| span(text, DAY))?,
    })
}

/// A whole number of hours or days, at most ten years.
fn span(text: &str, unit_seconds: u64) -> Result<Duration, String> {
    const MAX_SECONDS: u64 = 10 * 366 * 24 * 60 * 60;
    let seconds = text.parse::<u64>().ok();
    let seconds = seconds.and_then(|number| number.checked_mul(unit_seconds));
    let seconds = seconds.filter(|seconds| (1..=MAX_SECONDS).contains(seconds));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("{text:?} must be a whole number, at least 1"))
}

fn mail(given: &Given) -> Result<Option<MailSettings>, SettingsError> {
    let smtp_url = given.read("smtp_url", "", |text| Ok(Secret::presented(text)))?;
    if smtp_url.expose().is_empty() {
        return Ok(None);
    }
    let from = given.read("mail_from", "", |text| match text {
        "" => Err("is required when a mail server is set".to_owned()),
        text => Ok(text.to_owned()),
    })?;
    Ok(Some(MailSettings { smtp_url, from }))
}

fn payments(given: &Given) -> Result<PaymentSettings, SettingsError> {
    Ok(
        match given.read("payments", "sandbox", ProcessorName::rule)? {
            ProcessorName::Sandbox => PaymentSettings::Sandbox,
            ProcessorName::Stripe => PaymentSettings::Stripe {
                key: given.read("stripe_key", "", secret("sk_ or rk_"))?,
                webhook_secret: given.read("stripe_webhook_secret", "", secret("whsec_"))?,
                url: given.read("stripe_url", "https://api.stripe.com", stripe_url)?,
            },
        },
    )
}

/// An external secret. It is only checked to be present, and never repeated.
fn secret(prefix: &'static str) -> impl Fn(&str) -> Result<Secret, String> {
    move |text| {
        let plain = text.chars().all(|c| c.is_ascii_graphic());
        if text.is_empty() || !plain {
            return Err(format!(
                "is required when payments is stripe; it begins with {prefix}"
            ));
        }
        Ok(Secret::presented(text))
    }
}

fn stripe_url(text: &str) -> Result<String, String> {
    public_url(text)?.ok_or_else(|| "must begin with http:// or https://".to_owned())
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        text => Err(format!("{text:?} must be on or off")),
    }
}

fn log_filter(text: &str) -> Result<String, String> {
    tracing_subscriber::EnvFilter::try_new(text)
        .map(|_| text.to_owned())
        .map_err(|e| format!("{text:?} is not a log filter: {e}"))
}

fn log_format(text: &str) -> Result<Option<LogFormat>, String> {
    match text {
        "" => Ok(None),
        "text" => Ok(Some(LogFormat::Text)),
        "json" => Ok(Some(LogFormat::Json)),
        text => Err(format!("{text:?} must be text or json")),
    }
}

#[cfg(test)]
mod tests;
