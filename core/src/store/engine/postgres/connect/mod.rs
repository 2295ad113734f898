//! Connections: which server to ask, how, and whether something stands in between.

pub mod backend;
pub mod connector;
mod hosts;
pub mod pooler;
pub mod runtime;
pub mod server;
mod tls_options;
