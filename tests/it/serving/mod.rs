//! Connections and requests, whatever they ask for.

mod answers;
mod connections;
mod database_loss;
mod hostile_input;
mod http;
mod http2;
mod multipart;
mod stopping;
