//! A certificate chain and its private key.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

use crate::domain::Timestamp;
use crate::domain::sha256::Sha256;
use crate::tls;

#[derive(Debug)]
pub struct Pair {
    pub(super) certified: Arc<CertifiedKey>,
    /// Host names in lower case, and addresses.
    pub names: Vec<String>,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

/// What is wrong with which of the two. The text follows the name of the file or setting, and never
/// holds anything of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairError {
    Certificate(String),
    Key(String),
}

impl std::fmt::Display for PairError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Certificate(reason) => write!(f, "the certificate {reason}"),
            Self::Key(reason) => write!(f, "the private key {reason}"),
        }
    }
}

impl Pair {
    /// Reads a chain, the server's own certificate first, and the key of that certificate.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, PairError> {
        let chain = certificates(chain).map_err(PairError::Certificate)?;
        let key = private_key(key).map_err(PairError::Key)?;
        let own = chain.first().ok_or_else(no_certificate)?;
        let (names, not_before, not_after) = contents(own).map_err(PairError::Certificate)?;
        let certified = certified(chain, key)?;
        match certified.keys_match() {
            Ok(()) => Ok(Self {
                certified: Arc::new(certified),
                names,
                not_before,
                not_after,
            }),
            Err(rustls::Error::InconsistentKeys(_)) => Err(PairError::Key(
                "does not belong to the certificate".to_owned(),
            )),
            Err(error) => Err(PairError::Certificate(format!("cannot be used: {error}"))),
        }
    }

    /// Whether the certificate names this host, given in lower case.
    pub fn is_for(&self, host: &str) -> bool {
        let any_label = host.split_once('.').map(|(_, rest)| format!("*.{rest}"));
        let wanted = [Some(host), any_label.as_deref()];
        self.names.iter().any(|name| wanted.contains(&Some(name)))
    }

    /// The SHA-256 fingerprint as browsers show it: `AB:CD:...`.
    pub fn fingerprint(&self) -> String {
        let own = self.certified.cert.first();
        let digest = Sha256::digest(own.map_or(&[][..], |own| own.as_ref()));
        let bytes: Vec<_> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
        bytes.join(":")
    }
}

/// The certificate and key by which we answer a challenge. Its extension is critical and known to
/// nobody but authorities, so it is not looked into.
pub(super) fn for_challenge(text: &[u8]) -> Result<Arc<CertifiedKey>, PairError> {
    let chain = certificates(text).map_err(PairError::Certificate)?;
    let key = private_key(text).map_err(PairError::Key)?;
    certified(chain, key).map(Arc::new)
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, PairError> {
    let key = tls::provider().key_provider.load_private_key(key);
    let key = key.map_err(|_| PairError::Key("is of a kind that TLS cannot use".to_owned()))?;
    Ok(CertifiedKey::new(chain, key))
}

/// Until when the first certificate of a chain is valid.
pub fn valid_until(chain: &[u8]) -> Result<Timestamp, PairError> {
    let chain = certificates(chain).map_err(PairError::Certificate)?;
    let own = chain.first().ok_or_else(no_certificate)?;
    let (_, _, not_after) = contents(own).map_err(PairError::Certificate)?;
    Ok(not_after)
}

fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let chain = chain.map_err(|error| not_pem(&error, "certificate"))?;
    match chain.is_empty() {
        true => Err("is missing: there is none in PEM form".to_owned()),
        false => Ok(chain),
    }
}

fn no_certificate() -> PairError {
    PairError::Certificate("is missing".to_owned())
}

fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    if text
        .windows(ENCRYPTED.len())
        .any(|part| part == ENCRYPTED.as_bytes())
    {
        return Err("is encrypted with a password: store it without one".to_owned());
    }
    PrivateKeyDer::from_pem_slice(text).map_err(|error| not_pem(&error, "private key"))
}

const ENCRYPTED: &str = "BEGIN ENCRYPTED PRIVATE KEY";

/// The error itself may quote a line.
fn not_pem(error: &pem::Error, what: &str) -> String {
    match error {
        pem::Error::NoItemsFound => format!("is missing: there is no {what} in PEM form"),
        pem::Error::MissingSectionEnd { .. } => "is cut off".to_owned(),
        _ => "is not valid PEM".to_owned(),
    }
}

/// The names, and the times from which and until which the certificate is valid.
fn contents(der: &CertificateDer<'_>) -> Result<(Vec<String>, Timestamp, Timestamp), String> {
    let unreadable = |_| "cannot be read".to_owned();
    let (_, certificate) = parse_x509_certificate(der).map_err(unreadable)?;
    let alternatives = certificate.subject_alternative_name();
    let alternatives = alternatives.map_err(|_| "has unreadable names".to_owned())?;
    let names = alternatives
        .iter()
        .flat_map(|found| &found.value.general_names);
    let validity = certificate.validity();
    let at = |seconds: i64| Timestamp::from_millis(seconds.saturating_mul(1_000));
    Ok((
        names.filter_map(name).collect(),
        at(validity.not_before.timestamp()),
        at(validity.not_after.timestamp()),
    ))
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(host) => Some(host.to_ascii_lowercase()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let v6 = <[u8; 16]>::try_from(*bytes).map(IpAddr::from);
            v4.or(v6).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(names: &[&str]) -> (String, String) {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_certificate_is_for_its_names_and_one_label_of_a_wildcard() {
        let (chain, key) = pair(&["Legwork.example", "*.api.example", "192.0.2.7"]);
        let pair = Pair::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
        assert_eq!(
            pair.names,
            ["legwork.example", "*.api.example", "192.0.2.7"]
        );
        for (host, expected) in [
            ("legwork.example", true),
            ("eu.api.example", true),
            ("api.example", false),
            ("a.b.api.example", false),
            ("www.legwork.example", false),
            ("example", false),
            ("", false),
        ] {
            assert_eq!(pair.is_for(host), expected, "{host}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_of_the_right_half_and_without_the_key() {
        let (chain, key) = pair(&["a.example"]);
        let (_, other) = pair(&["a.example"]);
        let cut = |text: &str| text[..text.len() - 30].to_owned();
        let encrypted = key.replace("PRIVATE", "ENCRYPTED PRIVATE");
        let noise = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned();
        let bad_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".to_owned();
        for (chain, key, expected) in [
            (String::new(), key.clone(), "the certificate is missing"),
            (key.clone(), key.clone(), "the certificate is missing"),
            (cut(&chain), key.clone(), "the certificate is cut off"),
            (noise, key.clone(), "the certificate cannot be read"),
            (chain.clone(), String::new(), "the private key is missing"),
            (chain.clone(), cut(&key), "the private key is cut off"),
            (chain.clone(), encrypted, "the private key is encrypted"),
            (chain.clone(), bad_key, "the private key is of a kind"),
            (chain, other, "the private key does not belong"),
        ] {
            let error = Pair::from_pem(chain.as_bytes(), key.as_bytes()).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with(expected), "{error}, not {expected}");
        }
    }
}
