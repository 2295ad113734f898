//! HTTPS by ourselves: certificates from files, from an authority, and our own.

mod acme;
mod files;
mod pebble;
mod program;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use legwork::https::{CHALLENGE_PROTOCOL, Certificates};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Far beyond what anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that does nothing but handshakes. It closes after a challenge, as the real one does.
struct Door {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Door {
    async fn open(certificates: &Certificates, address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(certificates.server_config().unwrap());
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    if stream.get_ref().1.alpn_protocol() != Some(CHALLENGE_PROTOCOL) {
                        let _ = stream.write_all(b"hello").await;
                        let _ = stream.shutdown().await;
                    }
                });
            }
        });
        Self { address, task }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a handshake ended with.
#[derive(Debug)]
struct Visit {
    certificate: CertificateDer<'static>,
    protocol: Option<Vec<u8>>,
    version: ProtocolVersion,
}

/// A client that trusts these authorities alone.
#[derive(Clone)]
struct Visitor {
    roots: Arc<RootCertStore>,
    protocols: Vec<Vec<u8>>,
    versions: &'static [&'static rustls::SupportedProtocolVersion],
}

impl Visitor {
    fn trusting(pem: &str) -> Self {
        use rustls::pki_types::pem::PemObject;
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        Self {
            roots: Arc::new(roots),
            protocols: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            versions: rustls::DEFAULT_VERSIONS,
        }
    }

    fn offering(&self, protocols: &[&[u8]]) -> Self {
        let protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Self {
            protocols,
            ..self.clone()
        }
    }

    fn speaking(&self, version: &'static [&'static rustls::SupportedProtocolVersion]) -> Self {
        Self {
            versions: version,
            ..self.clone()
        }
    }

    fn config(&self) -> ClientConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .unwrap()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = self.protocols.clone();
        config
    }

    /// Calls a host by its name, or by an address, which is not sent.
    async fn visit(&self, address: SocketAddr, name: &str) -> Result<Visit, String> {
        let visit = tokio::time::timeout(PATIENCE, self.try_visit(address, name));
        visit.await.expect("a handshake ends quickly")
    }

    async fn try_visit(&self, address: SocketAddr, name: &str) -> Result<Visit, String> {
        let mut stream = self.connect(address, name).await?;
        let session = stream.get_ref().1;
        let visit = Visit {
            certificate: session.peer_certificates().unwrap()[0].clone(),
            protocol: session.alpn_protocol().map(<[u8]>::to_vec),
            version: session.protocol_version().unwrap(),
        };
        assert_eq!(read_to_end(&mut stream).await?, "hello");
        Ok(visit)
    }

    async fn connect(
        &self,
        address: SocketAddr,
        name: &str,
    ) -> Result<TlsStream<TcpStream>, String> {
        let stream = TcpStream::connect(address).await.map_err(text)?;
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let connector = TlsConnector::from(Arc::new(self.config()));
        connector.connect(name, stream).await.map_err(text)
    }

    /// The certificate of a real server, and its response to a request for its health.
    async fn ask_health(
        &self,
        address: SocketAddr,
        name: &str,
    ) -> Result<(Vec<u8>, String), String> {
        let visitor = self.offering(&[b"http/1.1"]);
        let asked = async {
            let mut stream = visitor.connect(address, name).await?;
            let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
            let request =
                format!("GET /healthz HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.map_err(text)?;
            Ok((certificate, read_to_end(&mut stream).await?))
        };
        let asked = tokio::time::timeout(PATIENCE, asked).await;
        asked.expect("the server answers")
    }
}

async fn read_to_end(stream: &mut TlsStream<TcpStream>) -> Result<String, String> {
    let mut read = String::new();
    stream.read_to_string(&mut read).await.map_err(text)?;
    Ok(read)
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}
