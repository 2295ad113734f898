//! The endpoints of all developers: one TLS server that keeps connections alive and responds with
//! 200, on its own runtime. Each endpoint has its own name, as if it were a separate host.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use legwork::outbound::{Outbound, OutboundSettings, Resolver};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::Result;
use crate::load::Window;
use crate::load::http;

/// All subdomains resolve to the receiver.
const DOMAIN: &str = "hooks.example";
/// Requests to it get no response while the receiver is set to hang.
const HANGING_PATH: &str = "/hangs";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

pub struct Receiver {
    port: u16,
    authority: NamedTempFile,
    state: Arc<State>,
    _runtime: Runtime,
}

#[derive(Default)]
struct State {
    answered: AtomicUsize,
    hangs: watch::Sender<bool>,
    arrivals: Mutex<Arrivals>,
}

#[derive(Default)]
struct Arrivals {
    noted: bool,
    all: Vec<Arrival>,
}

/// A complete request.
pub struct Arrival {
    pub at: Instant,
    pub body: Vec<u8>,
}

impl Receiver {
    pub fn start() -> Result<Self> {
        let (authority, config) = identity()?;
        let file = NamedTempFile::new()?;
        std::fs::write(file.path(), authority)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("receiver")
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let state = Arc::<State>::default();
        runtime.spawn(accept(listener, TlsAcceptor::from(config), state.clone()));
        Ok(Self {
            port,
            authority: file,
            state,
            _runtime: runtime,
        })
    }

    /// The endpoint of a developer.
    pub fn url(&self, developer: usize) -> String {
        format!("https://developer-{developer}.{DOMAIN}:{}/", self.port)
    }

    /// An endpoint that any program on this machine can reach, if it trusts the authority.
    pub fn url_here(&self) -> String {
        format!("https://{}:{}/", Ipv4Addr::LOCALHOST, self.port)
    }

    /// The file of the authority.
    pub fn authority(&self) -> &std::path::Path {
        self.authority.path()
    }

    /// An endpoint that hangs when the receiver is set to hang.
    pub fn hanging_url(&self, developer: usize) -> String {
        let port = self.port;
        format!("https://developer-{developer}.{DOMAIN}:{port}{HANGING_PATH}")
    }

    /// The service's HTTP client, configured for this receiver, with its own connections.
    pub fn outbound(&self) -> Result<Outbound> {
        let settings = OutboundSettings {
            allow: vec!["127.0.0.1/32".parse()?],
            authority: Some(self.authority.path().to_owned()),
        };
        Ok(Outbound::with_resolver(&settings, Arc::new(Here))?)
    }

    /// Hanging requests are answered as soon as this is false again.
    pub fn hang(&self, hangs: bool) {
        self.state.hangs.send_replace(hangs);
    }

    pub fn answered(&self) -> usize {
        self.state.answered.load(Ordering::Relaxed)
    }

    /// Tells, from any task, how many requests were answered.
    pub fn counter(&self) -> impl Fn() -> usize + Send + 'static {
        let state = Arc::clone(&self.state);
        move || state.answered.load(Ordering::Relaxed)
    }

    /// How many requests were answered within a window.
    pub async fn answered_within(&self, window: Window) -> usize {
        tokio::time::sleep_until(window.from.into()).await;
        let before = self.answered();
        tokio::time::sleep_until(window.until.into()).await;
        self.answered() - before
    }

    /// Starts recording requests.
    pub fn note_arrivals(&self) {
        *self.state.arrivals() = Arrivals {
            noted: true,
            all: Vec::new(),
        };
    }

    /// The requests since the last call.
    pub fn arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.state.arrivals().all)
    }
}

impl State {
    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        // Nothing panics while it is locked.
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All names resolve to this machine.
struct Here;

#[async_trait]
impl Resolver for Here {
    async fn resolve(&self, _: &str) -> std::result::Result<Vec<IpAddr>, String> {
        Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
    }
}

/// An authority in PEM, and the receiver's certificate.
fn identity() -> Result<(String, Arc<ServerConfig>)> {
    let mut wanted = CertificateParams::default();
    wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(wanted, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let wanted = CertificateParams::new([format!("*.{DOMAIN}"), Ipv4Addr::LOCALHOST.to_string()])?;
    let certificate = wanted.signed_by(&key, &authority)?.der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate],
            PrivateKeyDer::try_from(key.serialize_der())?,
        )?;
    Ok((authority.pem(), Arc::new(config)))
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        // A closed connection is noticed on the other side.
        tokio::spawn(serve(stream, tls.clone(), state.clone()));
    }
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, state: Arc<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = tls.accept(stream).await?;
    let mut buffer = vec![0; 8 * 1024];
    let mut filled = 0;
    loop {
        let request = http::head(&buffer[..filled]).filter(|head| filled >= head.ends);
        let Some(request) = request else {
            if filled == buffer.len() {
                buffer.resize(2 * filled, 0);
            }
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                return Ok(());
            }
            filled += read;
            continue;
        };
        state
            .take(&buffer[..request.ends], request.body_starts)
            .await;
        stream.write_all(ANSWER).await?;
        stream.flush().await?;
        state.answered.fetch_add(1, Ordering::Relaxed);
        // The next request is sent after the response.
        filled = 0;
    }
}

impl State {
    /// Returns when it is time to respond.
    async fn take(&self, request: &[u8], body_starts: usize) {
        {
            let mut arrivals = self.arrivals();
            if arrivals.noted {
                arrivals.all.push(Arrival {
                    at: Instant::now(),
                    body: request[body_starts..].to_vec(),
                });
            }
        }
        let path = request.strip_prefix(b"POST ").unwrap_or_default();
        if path.starts_with(HANGING_PATH.as_bytes()) {
            // The sender lives as long as this.
            let _ = self.hangs.subscribe().wait_for(|hangs| !hangs).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Bytes;
    use axum::http::HeaderMap;
    use legwork::outbound::{EndpointUrl, OutboundError, Response};

    use super::*;

    async fn post(
        outbound: &Outbound,
        url: &str,
        patience: Duration,
    ) -> std::result::Result<Response, OutboundError> {
        let url = EndpointUrl::RULE.check(url).unwrap();
        let body = Bytes::from_static(b"{}");
        outbound.post(&url, HeaderMap::new(), body, patience).await
    }

    #[test]
    fn what_hangs_is_answered_when_the_receiver_is_told() {
        let receiver = Receiver::start().unwrap();
        let outbound = receiver.outbound().unwrap();
        receiver.note_arrivals();
        receiver.hang(true);
        let patience = Duration::from_secs(30);
        Runtime::new().unwrap().block_on(async {
            let prompt = post(&outbound, &receiver.url(1), patience).await;
            assert_eq!(prompt.unwrap().status, 200);
            let url = receiver.hanging_url(2);
            let (hanging, ()) = tokio::join!(post(&outbound, &url, patience), async {
                while receiver.state.arrivals().all.len() < 2 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(receiver.answered(), 1);
                receiver.hang(false);
            });
            assert_eq!(hanging.unwrap().status, 200);
        });
        let bodies = receiver.arrivals().into_iter().map(|arrival| arrival.body);
        assert_eq!(bodies.collect::<Vec<_>>(), [b"{}", b"{}"]);
        // The response is sent before it is counted.
        while receiver.answered() < 2 {
            std::thread::yield_now();
        }
        assert!(receiver.arrivals().is_empty());
    }
}
