//! The router as hyper wants it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use tokio::sync::Notify;
use tower_service::Service as _;

use crate::api::server::last_key::LastKey;

/// Who is at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Serves the requests of one connection. Its futures are boxed so that the connection can be polled
/// by hand.
pub struct Handler {
    pub router: Router,
    pub peer: SocketAddr,
    /// Notified of every request.
    pub asked: Arc<Notify>,
    last_key: LastKey,
}

impl Handler {
    pub fn new(router: Router, peer: SocketAddr) -> Self {
        Self {
            router,
            peer,
            asked: Arc::default(),
            last_key: LastKey::default(),
        }
    }
}

pub type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl Service<Request<Incoming>> for Handler {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn call(&self, request: Request<Incoming>) -> Answer {
        self.asked.notify_one();
        let mut router = self.router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(self.peer));
        request.extensions_mut().insert(self.last_key.clone());
        Box::pin(async move { router.call(request).await })
    }
}
