//! A wire to PostgreSQL that can be cut.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio_postgres::config::Host;

/// Forwards a local port to the server's socket, until it is cut.
#[derive(Clone)]
pub struct Proxy {
    pub address: SocketAddr,
    connected: Arc<watch::Sender<bool>>,
}

impl Proxy {
    /// To the server that the URL names.
    pub async fn to(url: &str) -> Self {
        let config: tokio_postgres::Config = url.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connected = Arc::new(watch::Sender::new(true));
        let state = connected.clone();
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                let state = state.subscribe();
                if *state.borrow() {
                    tokio::spawn(forward(from, config.clone(), state));
                }
            }
        });
        Self { address, connected }
    }

    /// Ends all connections and refuses new ones.
    pub fn cut(&self) {
        self.connected.send_replace(false);
    }

    pub fn mend(&self) {
        self.connected.send_replace(true);
    }
}

async fn forward(
    mut from: TcpStream,
    config: tokio_postgres::Config,
    mut state: watch::Receiver<bool>,
) {
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let cut = state.wait_for(|connected| !connected);
    match &config.get_hosts()[0] {
        Host::Unix(folder) => {
            let socket = folder.join(format!(".s.PGSQL.{port}"));
            let mut to = UnixStream::connect(socket).await.unwrap();
            tokio::select! { _ = copy_bidirectional(&mut from, &mut to) => {} _ = cut => {} }
        }
        Host::Tcp(host) => {
            let mut to = TcpStream::connect((host.as_str(), port)).await.unwrap();
            tokio::select! { _ = copy_bidirectional(&mut from, &mut to) => {} _ = cut => {} }
        }
    }
}
