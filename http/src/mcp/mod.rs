//! The Model Context Protocol: what agents use instead of the HTTP API. Everything that knows the protocol's crate is here.
//!
//! Each tool is one or more calls of the API, with the key of the agent's owner. So limits, mandates and errors are those of
//! the API, whether the server runs at `/mcp` or on somebody's machine (`legwork mcp`).

mod approvals;
mod calls;
mod looks;
mod messages;
mod proofs;
mod reach;
mod refusals;
mod resources;
mod server;
mod tools;
mod waits;

pub use messages::{readable, too_large};
pub use reach::{Answer, Reach, Remote};
pub use server::{Connect, http_service, serve_on_stdio};
