//! A wire to PostgreSQL that can be cut.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;

/// Forwards a local port to the server's socket, until it is cut.
#[derive(Clone)]
pub struct Proxy {
    pub address: SocketAddr,
    connected: Arc<watch::Sender<bool>>,
}

impl Proxy {
    /// To the server in a socket folder.
    pub async fn to(socket: std::path::PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connected = Arc::new(watch::Sender::new(true));
        let state = connected.clone();
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut state = state.subscribe();
                let socket = socket.clone();
                tokio::spawn(async move {
                    if !*state.borrow() {
                        return;
                    }
                    let mut to = UnixStream::connect(socket).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                        _ = state.wait_for(|connected| !connected) => {}
                    }
                });
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
