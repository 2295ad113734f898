//! The certificate of the server: where it comes from, and what `doctor` says about it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::task::JoinHandle;

use crate::ambient::Clock;
use crate::cli::{Failure, block_on};
use crate::domain::Timestamp;
use crate::https::{
    self, Acme, AcmeDependencies, CertificateWatch, Certificates, Pair, SelfSigned,
};
use crate::settings::{AcmeSettings, Settings};
use crate::shutdown::Shutdown;
use crate::store::{AcmeCertificate, Store, StoreError};

/// How often to look whether the files have changed.
const FILES_INTERVAL: Duration = Duration::from_secs(5);
/// How often to look for what other servers have stored. While an order runs, the authority waits
/// for twice as long.
const DATABASE_INTERVAL: Duration = Duration::from_secs(2);

/// The certificate, and what keeps it up to date.
pub struct Https {
    certificates: Certificates,
    source: Source,
}

enum Source {
    Files(CertificateWatch),
    Acme(Box<Acme>),
    SelfSigned { fingerprint: String },
}

impl Https {
    /// `None` when the server speaks plain HTTP. `listen` is where it listens.
    pub async fn open(
        settings: &Settings,
        self_signed: bool,
        listen: SocketAddr,
        store: &Store,
        clock: &Clock,
    ) -> Result<Option<Self>, Failure> {
        let given = &settings.https;
        if self_signed && (given.files.is_some() || given.acme.is_some()) {
            let reason =
                "--self-signed cannot be combined with LEGWORK_TLS_CERT or LEGWORK_ACME_DOMAINS";
            return Err(Failure(reason.to_owned()));
        }
        let (certificates, source) = if self_signed {
            let made = https::self_signed(&settings.data, listen.ip(), clock.now());
            let SelfSigned {
                certificates,
                fingerprint,
            } = made.map_err(Failure)?;
            (certificates, Source::SelfSigned { fingerprint })
        } else if let Some(files) = &given.files {
            let watch = CertificateWatch::start(files).map_err(Failure)?;
            let watch = watch.for_host(public_host(settings));
            (watch.certificates(), Source::Files(watch))
        } else if let Some(acme) = &given.acme {
            let acme = open_acme(acme, store, clock).await?;
            (acme.certificates(), Source::Acme(Box::new(acme)))
        } else {
            return Ok(None);
        };
        Ok(Some(Self {
            certificates,
            source,
        }))
    }

    pub fn config(&self) -> Result<Arc<ServerConfig>, Failure> {
        self.certificates.server_config().map_err(Failure)
    }

    /// The URL under which others reach the server, if no setting says.
    pub fn default_url(&self, listen: SocketAddr) -> String {
        let address = match &self.source {
            Source::SelfSigned { .. } => https::address_for_others(listen.ip()),
            _ => listen.ip(),
        };
        format!("https://{}", SocketAddr::new(address, listen.port()))
    }

    /// What a person has to compare before trusting the certificate.
    pub fn fingerprint(&self) -> Option<&str> {
        match &self.source {
            Source::SelfSigned { fingerprint } => Some(fingerprint),
            _ => None,
        }
    }

    /// Keeps the certificate up to date until shutdown.
    pub fn keep(self, clock: Clock, shutdown: Shutdown) -> JoinHandle<()> {
        tokio::spawn(async move {
            match self.source {
                Source::Files(watch) => watch.run(FILES_INTERVAL, clock, shutdown).await,
                Source::Acme(acme) => acme.run(shutdown).await,
                Source::SelfSigned { .. } => {}
            }
        })
    }
}

async fn open_acme(acme: &AcmeSettings, store: &Store, clock: &Clock) -> Result<Acme, Failure> {
    let opened = Acme::open(AcmeDependencies {
        store: store.clone(),
        clock: clock.clone(),
        settings: acme.clone(),
        authorities: None,
        poll: DATABASE_INTERVAL,
    });
    let opened = opened.await;
    opened.map_err(|error| Failure(format!("LEGWORK_ACME_DOMAINS: {error}")))
}

/// What `doctor` says about HTTPS.
pub fn check(settings: &Settings) -> Result<String, String> {
    let now = Clock::system().now();
    if let Some(files) = &settings.https.files {
        let pair = https::read_files(files)?;
        return told(&pair, public_host(settings).as_deref(), now);
    }
    match &settings.https.acme {
        Some(acme) => check_acme(settings, acme, now),
        None => Ok("off, the server speaks plain HTTP".to_owned()),
    }
}

/// The host by which clients ask for us, in the form in which certificates name it. A proxy may ask for another.
fn public_host(settings: &Settings) -> Option<String> {
    if !settings.edge.trusted_proxies.is_empty() {
        return None;
    }
    let url = url::Url::parse(settings.public_url.as_deref()?).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    Some(host.to_ascii_lowercase())
}

fn told(pair: &Pair, host: Option<&str>, now: Timestamp) -> Result<String, String> {
    if let Some(fault) = pair.fault(None, now) {
        return Err(fault);
    }
    // Something in front of us may ask for another name.
    if let Some(other_host) = pair.fault(host, now) {
        return Ok(other_host);
    }
    match pair.warning(now) {
        Some(warning) if pair.days_left(now) == 0 => Err(warning),
        Some(warning) => Ok(warning),
        None => Ok(format!(
            "a certificate for {}, {} days left",
            pair.names.join(", "),
            pair.days_left(now)
        )),
    }
}

/// Reads what the servers have stored, if there is a database.
fn check_acme(settings: &Settings, acme: &AcmeSettings, now: Timestamp) -> Result<String, String> {
    let domains = acme.domains.join(", ");
    let none = format!("no certificate for {domains} yet; the running server orders it");
    if !matches!(Store::lacking_migrations(&settings.database), Ok(0)) {
        return Ok(none);
    }
    let store = Store::open(&settings.database).map_err(|error| error.to_string())?;
    let id = https::acme_id(&acme.directory, &acme.domains);
    let read =
        block_on(store.read(move |tx| tx.acme_certificate(&id))).map_err(|e| e.to_string())?;
    let row: Result<Option<AcmeCertificate>, StoreError> = read;
    let Some(row) = row.map_err(|error| error.to_string())? else {
        return Ok(none);
    };
    let state = match &row.chain {
        Some(chain) => {
            let until = https::valid_until(chain.as_bytes()).map_err(|e| e.to_string())?;
            let days = until.since(now).as_secs() / 86_400;
            format!("a certificate for {domains}, {days} days left")
        }
        None => format!("no certificate for {domains}"),
    };
    match row.last_error {
        Some(error) => Err(format!(
            "{state}; the last order failed: {error}; next try at {}",
            row.next_order_at
        )),
        None => Ok(format!("{state}; next order at {}", row.next_order_at)),
    }
}
