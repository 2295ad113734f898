//! Clients and servers on real sockets.

mod edge;
mod http;
mod proxy;
mod receiver;
mod tls;

pub use edge::{Edge, SOON, endless, free_port, in_time};
pub use http::{Client, Reply, exchange};
pub use proxy::Proxy;
pub use receiver::{Certificate, Gate, Received, Receiver, Response};
pub use tls::Tls;
