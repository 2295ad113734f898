//! A throw-away certificate for `localhost`, and both ends of a TLS connection with it.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub struct Tls {
    pub server: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

impl Tls {
    /// A server that speaks these protocols.
    pub fn new(protocols: &[&str]) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let mut server = ServerConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        server.alpn_protocols = names(protocols);
        Self {
            server: Arc::new(server),
            certificate,
        }
    }

    /// A client that asks for these protocols.
    pub async fn connect(&self, address: SocketAddr, protocols: &[&str]) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let mut client = ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = names(protocols);
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(client));
        connector.connect(name, stream).await.unwrap()
    }
}

fn names(protocols: &[&str]) -> Vec<Vec<u8>> {
    protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect()
}
