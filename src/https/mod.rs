//! HTTPS by ourselves: where the certificate comes from (files, the certificate authority, or
//! ourselves), and which one a handshake gets.

mod acme;
mod expiry;
mod files;
mod pair;
mod self_signed;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::tls;

pub use acme::{Acme, AcmeError, Dependencies as AcmeDependencies, Ordered, id as acme_id};
pub use files::{CertificateWatch, read_files};
pub use pair::{Pair, PairError, valid_until};
pub use self_signed::{SelfSigned, address_for_others, self_signed};

/// The protocol by which a certificate authority checks that a name is ours (RFC 8737). After such a
/// handshake the connection is closed.
pub const CHALLENGE_PROTOCOL: &[u8] = b"acme-tls/1";

/// The certificates of this process. Cheap to clone; all clones serve the same.
#[derive(Clone, Debug)]
pub struct Certificates(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    origin: Origin,
    current: RwLock<Option<Arc<Pair>>>,
    /// By name. There are some only while the authority checks a name.
    challenges: RwLock<HashMap<String, Arc<CertifiedKey>>>,
}

/// Where the certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Files,
    /// Signed by ourselves. It is served for every name: whoever trusts it has compared its
    /// fingerprint.
    OurOwn,
    /// A certificate authority, which checks our names by handshakes.
    Authority,
}

impl Certificates {
    /// Without a certificate, every handshake fails.
    fn none_yet(origin: Origin) -> Self {
        Self(Arc::new(Shared {
            origin,
            current: RwLock::default(),
            challenges: RwLock::default(),
        }))
    }

    /// TLS 1.2 and 1.3, with HTTP/2 and HTTP/1.1. A client that comes back resumes its session with a
    /// ticket, whose keys change every six hours.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, String> {
        let mut config = ServerConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_no_client_auth()
            .with_cert_resolver(self.0.clone());
        config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(|e| e.to_string())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if self.0.origin == Origin::Authority {
            config.alpn_protocols.push(CHALLENGE_PROTOCOL.to_vec());
        }
        Ok(Arc::new(config))
    }

    /// Handshakes from now on get this one.
    fn put(&self, pair: Pair) {
        let mut current = write(&self.0.current);
        *current = Some(Arc::new(pair));
    }

    /// Replaces all challenges.
    fn put_challenges(&self, challenges: HashMap<String, Arc<CertifiedKey>>) {
        *write(&self.0.challenges) = challenges;
    }

    /// The certificate that handshakes get now.
    pub fn current(&self) -> Option<Arc<Pair>> {
        read(&self.0.current).clone()
    }
}

impl ResolvesServerCert for Shared {
    /// A client that names another host than the certificate gets no handshake. One that names none
    /// (it calls an address) gets the certificate.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map(str::to_ascii_lowercase);
        if is_challenge(&hello) {
            return read(&self.challenges).get(&name?).cloned();
        }
        let current = read(&self.current).clone()?;
        let served = match &name {
            Some(name) => self.origin == Origin::OurOwn || current.is_for(name),
            None => true,
        };
        served.then(|| current.certified.clone())
    }
}

/// An authority offers this protocol alone. Others who offer it as well want to speak HTTP.
fn is_challenge(hello: &ClientHello<'_>) -> bool {
    let offered = hello.alpn().into_iter().flatten();
    offered.eq([CHALLENGE_PROTOCOL])
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
