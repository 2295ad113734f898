//! Opens connections, in time, and tells calls that opened one from those that used one that was kept.

use std::cell::Cell;
use std::error::Error;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::ClientConfig;
use tower_service::Service;

use super::OutboundError;
use super::guard::Guard;

/// For all of it, the handshake too. Addresses of a name share it, so that an unreachable one does not use up
/// the time of the others.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

tokio::task_local! {
    /// Whether the call of this task has opened a connection.
    static OPENED: Cell<bool>;
}

/// Also tells whether the call has opened a connection for itself.
pub async fn noting_opening<F: Future>(call: F) -> (F::Output, bool) {
    let noted = async {
        let done = call.await;
        (done, OPENED.with(Cell::get))
    };
    OPENED.scope(Cell::new(false), noted).await
}

/// What opens the connections of a client: to addresses that the guard has judged, and over TLS.
#[derive(Clone)]
pub struct Opening(HttpsConnector<HttpConnector<Guard>>);

impl Opening {
    pub fn new(tls: ClientConfig, guard: Guard) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(guard);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only();
        Self(https.enable_http1().wrap_connector(tcp))
    }
}

impl Service<Uri> for Opening {
    type Response = <HttpsConnector<HttpConnector<Guard>> as Service<Uri>>::Response;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let opening = self.0.call(to);
        Box::pin(async move {
            let opened = tokio::time::timeout(CONNECT_TIMEOUT, opening).await;
            // Not every call wants to know. One that gets a kept connection before this one is open leaves
            // this one to another task, where nobody asks.
            let _ = OPENED.try_with(|noted| noted.set(true));
            opened.unwrap_or_else(|_| Err(OutboundError::connecting_took_too_long().into()))
        })
    }
}
