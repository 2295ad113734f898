//! The SMTP server.

use std::time::Duration;

use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::smtp_url::{Security, SmtpUrl};
use super::{MailError, unavailable};

/// The limit for connecting to each of its addresses.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

pub struct Server {
    host: String,
    port: u16,
    tls: Tls,
    credentials: Option<Credentials>,
    /// The name in EHLO.
    hello: ClientId,
}

impl Server {
    pub fn at(url: SmtpUrl, our_domain: &str) -> Result<Self, String> {
        Ok(Self {
            tls: tls(&url)?,
            host: url.host,
            port: url.port,
            credentials: url.credentials,
            hello: ClientId::Domain(our_domain.to_owned()),
        })
    }

    /// Opens a connection that is ready for mail. A failure up to here, such as a wrong password,
    /// is not the fault of the mail.
    pub async fn connect(&self) -> Result<AsyncSmtpConnection, MailError> {
        let from_the_start = match &self.tls {
            Tls::Wrapper(parameters) => Some(parameters.clone()),
            _ => None,
        };
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            (self.host.as_str(), self.port),
            Some(CONNECT_LIMIT),
            &self.hello,
            from_the_start,
            None,
        )
        .await
        .map_err(unavailable)?;
        let upgrade = match &self.tls {
            Tls::Required(parameters) => Some(parameters.clone()),
            Tls::Opportunistic(parameters) if connection.can_starttls() => Some(parameters.clone()),
            _ => None,
        };
        if let Some(parameters) = upgrade {
            let upgraded = connection.starttls(parameters, &self.hello).await;
            upgraded.map_err(unavailable)?;
        }
        if let Some(credentials) = &self.credentials {
            let let_in = connection.auth(DEFAULT_MECHANISMS, credentials).await;
            let_in.map_err(unavailable)?;
        }
        Ok(connection)
    }
}

fn tls(url: &SmtpUrl) -> Result<Tls, String> {
    let parameters = || {
        let mut trusted = TlsParameters::builder(url.host.clone());
        for authority in authorities(url.ca_file.as_deref())? {
            trusted = trusted.add_root_certificate(authority);
        }
        trusted.build_rustls().map_err(|e| e.to_string())
    };
    Ok(match url.security {
        Security::None => Tls::None,
        Security::Opportunistic => Tls::Opportunistic(parameters()?),
        Security::Required => Tls::Required(parameters()?),
        Security::FromTheStart => Tls::Wrapper(parameters()?),
    })
}

/// The authorities that are trusted in addition to the system's.
fn authorities(file: Option<&str>) -> Result<Vec<Certificate>, String> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
    let unreadable = |e: &dyn std::fmt::Display| format!("sslrootcert {file}: {e}");
    let certificates = CertificateDer::pem_file_iter(file).map_err(|e| unreadable(&e))?;
    let mut authorities = Vec::new();
    for certificate in certificates {
        let der = certificate.map_err(|e| unreadable(&e))?.to_vec();
        authorities.push(Certificate::from_der(der).map_err(|e| unreadable(&e))?);
    }
    if authorities.is_empty() {
        return Err(unreadable(&"has no certificate"));
    }
    Ok(authorities)
}
