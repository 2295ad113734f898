//! Settings from defaults, `legwork.toml`, the environment and flags. The last one wins.

mod list;
mod local;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use tracing_subscriber::filter::Targets;

use crate::domain::{
    CheckedSkills, MapTiles, ProcessorName, RequiredFactor, Secret, Tier, Windows,
};
use crate::files::FilesLocation;
use crate::outbound::OutboundSettings;
use crate::store::Location;

pub use list::{SETTINGS, Setting};
pub use local::LocalMode;
use values::{
    address, cents, connections, database, delays, domains, expect_utf8, folder, gigabytes, hours,
    https_url, is_loopback, log_filter, log_format, master_key, networks, on_or_off, optional,
    public_url, seconds, secret, span, stripe_url,
};

/// Variables with our prefix that are not settings: the name of the file with settings, and what users of the API set for the
/// commands that call a server.
const NOT_SETTINGS: [&str; 3] = ["LEGWORK_CONFIG", "LEGWORK_SERVER", "LEGWORK_KEY"];
/// Those of the test suite are not, either.
const FOREIGN_PREFIX: &str = "LEGWORK_TEST_";

/// A variable that failed to arrive must not turn these off.
const NEVER_EMPTY: [&str; 4] = ["public_url", "smtp_url", "four_eyes_cents", "master_key"];

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
            let foreign =
                variable.starts_with(FOREIGN_PREFIX) || NOT_SETTINGS.contains(&variable.as_str());
            if let Some(name) = variable.strip_prefix("LEGWORK_")
                && !foreign
            {
                let name = name.to_lowercase();
                given.add(&name, value, Origin::Environment)?;
                given.read(&name, "", expect_utf8)?;
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
        if value.trim().is_empty() && NEVER_EMPTY.contains(&name) {
            return Err(SettingsError::Malformed {
                setting: shown_as(name, &origin),
                origin,
                reason: "is empty: give it a value, or leave it out".to_owned(),
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

    /// The same values with one as if its flag had been given.
    pub fn with_flag(mut self, name: &str, value: &str) -> Result<Self, SettingsError> {
        self.add(name, value.to_owned(), Origin::Flag)?;
        Ok(self)
    }

    pub fn origin(&self, name: &str) -> Origin {
        self.values
            .get(name)
            .map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// A path that may be left out. An empty one is refused: a variable that failed to arrive must not
    /// turn something off.
    fn path(&self, name: &str) -> Result<Option<PathBuf>, SettingsError> {
        match self.values.contains_key(name) {
            true => self.read(name, "", folder).map(Some),
            false => Ok(None),
        }
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

/// What every connection and request has to keep to.
#[derive(Clone, Debug)]
pub struct EdgeSettings {
    pub max_connections: usize,
    /// How long a request may wait for the database, with all its transactions.
    pub request: Duration,
    /// How long `/readyz` says no before the listener closes.
    pub drain: Duration,
    /// Who may say for whom a request was forwarded.
    pub trusted_proxies: Vec<IpNet>,
    /// Web pages of other hosts that may call the API.
    pub cors_origins: Vec<String>,
    /// Whether such pages may send API keys.
    pub cors_keys: bool,
}

#[derive(Clone, Debug)]
pub struct HttpsSettings {
    pub files: Option<CertificateFiles>,
    pub acme: Option<AcmeSettings>,
    /// Where plain HTTP is answered with a redirect.
    pub redirect_listen: Option<SocketAddr>,
}

impl HttpsSettings {
    /// Names that an authority is to confirm are public, whatever the address says.
    fn public_url(&self) -> Option<String> {
        let domain = self.acme.as_ref()?.domains.first()?;
        Some(format!("https://{domain}"))
    }
}

#[derive(Clone, Debug)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Clone, Debug)]
pub struct AcmeSettings {
    pub domains: Vec<String>,
    pub email: String,
    pub directory: String,
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
    /// The sandbox may be the processor of a service that the public reaches.
    pub allow_sandbox: bool,
    /// How long a payout waits before the money is sent.
    pub payout_hold: Duration,
    /// Above this, write-offs and dispute payouts need a second admin.
    pub four_eyes_cents: Option<i64>,
    /// How long a worker's documents are kept after the decision on them.
    pub documents_kept: Duration,
    pub checked_skills: CheckedSkills,
    /// `None`: a file in the data folder holds it.
    pub master_key: Option<Secret>,
    /// Bytes of stored proofs for each account, in the order of the tiers.
    pub storage_quota: [u64; Tier::ALL.len()],
    pub required_factor: RequiredFactor,
    /// What lies under the maps of the pages.
    pub map_tiles: Option<MapTiles>,
    pub edge: EdgeSettings,
    pub https: HttpsSettings,
    pub rate_limits: bool,
    /// How long it is remembered what accounts asked; none if it is not.
    pub request_log_kept: Option<Duration>,
    pub log: Targets,
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
        let https = https(given)?;
        let public_url = given.read("public_url", "", public_url)?;
        let public_url = public_url.or_else(|| https.public_url());
        Ok(Self {
            listen,
            database,
            files: given.read("files_url", "file:", |url| FilesLocation::rule(url, &data))?,
            public_url: public_url.clone(),
            metrics_listen: given.read("metrics_listen", "", optional(address))?,
            webhook_delays: given.read("webhook_retry_seconds", "60,480,3840", delays)?,
            outbound: outbound(given, LocalMode::of(listen, public_url.as_deref()))?,
            mail: mail(given)?,
            windows: windows(given)?,
            payments: payments(given)?,
            allow_sandbox: given.read("allow_sandbox", "off", on_or_off)?,
            payout_hold: given.read("payout_hold_hours", "0", hours)?,
            four_eyes_cents: given.read("four_eyes_cents", "", optional(cents))?,
            documents_kept: given.read("document_days", "90", |text| span(text, DAY))?,
            checked_skills: given.read("checked_skills", "notary", CheckedSkills::rule)?,
            master_key: given.read("master_key", "", optional(master_key))?,
            storage_quota: given.read("storage_gigabytes", "5,50,500,5000", gigabytes)?,
            required_factor: given.read("require_second_factor", "none", RequiredFactor::rule)?,
            map_tiles: given.read("map_tiles", "", optional(MapTiles::rule))?,
            edge: edge(given)?,
            https,
            rate_limits: given.read("rate_limits", "on", on_or_off)?,
            request_log_kept: given.read("request_log_days", "7", values::log_days)?,
            log: given.read("log", "info", log_filter)?,
            log_format: given.read("log_format", "", log_format)?,
            data,
        })
    }

    pub fn local(&self) -> LocalMode {
        LocalMode::of(self.listen, self.public_url.as_deref())
    }

    pub fn is_local(&self) -> bool {
        self.local().is_on()
    }

    /// Whether the service may start with its payment processor. Whoever reaches a public URL expects
    /// that money moves.
    pub fn check_processor(&self) -> Result<(), String> {
        let is_sandbox = matches!(self.payments, PaymentSettings::Sandbox);
        let public = self.public_url.as_deref().filter(|url| !is_loopback(url));
        match public {
            Some(url) if is_sandbox && !self.allow_sandbox => Err(format!(
                "LEGWORK_PAYMENTS: the sandbox moves no money, and others reach this service at {url} \
                 (LEGWORK_PUBLIC_URL or LEGWORK_ACME_DOMAINS). Set LEGWORK_PAYMENTS=stripe, or \
                 LEGWORK_ALLOW_SANDBOX=on if no money is meant to move"
            )),
            _ => Ok(()),
        }
    }
}

fn outbound(given: &Given, local: LocalMode) -> Result<OutboundSettings, SettingsError> {
    let mut allow = given.read("webhook_allow_nets", "", networks)?;
    allow.extend(local.reachable());
    let authority = given.read("webhook_ca_file", "", optional(folder))?;
    Ok(OutboundSettings { allow, authority })
}

const HOUR: u64 = 60 * 60;
const DAY: u64 = 24 * HOUR;

fn windows(given: &Given) -> Result<Windows, SettingsError> {
    Ok(Windows {
        unpaid: given.read("unpaid_hours", "24", |text| span(text, HOUR))?,
        start: given.read("start_hours", "24", |text| span(text, HOUR))?,
        work: given.read("work_hours", "72", |text| span(text, HOUR))?,
        review: given.read("review_days", "7", |text| span(text, DAY))?,
        dispute: given.read("dispute_hours", "72", |text| span(text, HOUR))?,
        decide: given.read("decide_days", "30", |text| span(text, DAY))?,
        open: given.read("open_days", "30", |text| span(text, DAY))?,
        upload_grace: given.read("upload_grace_hours", "6", hours)?,
    })
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

/// What every connection and request has to keep to.
fn edge(given: &Given) -> Result<EdgeSettings, SettingsError> {
    Ok(EdgeSettings {
        max_connections: given.read("max_connections", "10000", values::max_connections)?,
        request: given.read("request_seconds", "10", seconds(1..=300))?,
        drain: given.read("drain_seconds", "0", seconds(0..=300))?,
        trusted_proxies: given.read("trusted_proxies", "", networks)?,
        cors_origins: given.read("cors_origins", "", values::origins)?,
        cors_keys: given.read("cors_keys", "off", on_or_off)?,
    })
}

fn https(given: &Given) -> Result<HttpsSettings, SettingsError> {
    let certificate = given.path("tls_cert")?;
    let missing =
        |what: &'static str| move |_: &str| Err::<(), _>(format!("is required with {what}"));
    let key = given.path("tls_key")?;
    let files = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(CertificateFiles { certificate, key }),
        (None, None) => None,
        (None, Some(_)) => given
            .read("tls_cert", "", missing("LEGWORK_TLS_KEY"))
            .map(|()| None)?,
        (Some(_), None) => given
            .read("tls_key", "", missing("LEGWORK_TLS_CERT"))
            .map(|()| None)?,
    };
    let domains = given.read("acme_domains", "", domains)?;
    let acme = AcmeSettings {
        email: given.read("acme_email", "", |text| Ok(text.to_owned()))?,
        directory: given.read("acme_directory", LETS_ENCRYPT, https_url)?,
        domains,
    };
    if files.is_some() && !acme.domains.is_empty() {
        given.read("acme_domains", "", |_| {
            Err::<(), _>("cannot be combined with LEGWORK_TLS_CERT".to_owned())
        })?;
    }
    Ok(HttpsSettings {
        files,
        acme: Some(acme).filter(|acme| !acme.domains.is_empty()),
        redirect_listen: given.read("redirect_listen", "", optional(address))?,
    })
}

/// The directory of the certificate authority that is asked unless another is named.
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

#[cfg(test)]
mod tests;
