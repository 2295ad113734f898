//! The limit of GET: the server's HTTP stack without the server. It responds with a constant.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, header};
use axum::routing::get;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::Result;

/// The bench starts itself with this argument: the limit, too, runs in a process of its own.
pub const COMMAND: &str = "constant-server";
/// Printed before its address, as by the server.
pub const GREETING: &str = "The constant is at http://";

/// Serves until it is killed.
pub fn serve(body: String) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{GREETING}{}", listener.local_addr()?);
        let body = Bytes::from(body);
        let answer = move || {
            let body = body.clone();
            async move { ([(header::CONTENT_TYPE, "application/json")], body) }
        };
        let router = Router::new().route("/v1/tasks/{id}", get(answer));
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(connection(stream, router.clone()));
        }
    })
}

/// Like the server: the same timeout for the request head, the same boxed future.
async fn connection(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(15))
        .serve_connection(TokioIo::new(stream), Handler(router))
        .await;
}

struct Handler(Router);

impl hyper::service::Service<Request<Incoming>> for Handler {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future =
        Pin<Box<dyn Future<Output = std::result::Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut router = self.0.clone();
        Box::pin(async move { router.call(request.map(Body::new)).await })
    }
}
