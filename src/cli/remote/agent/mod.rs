//! What agents use, and how their programs are told of it.

mod clients;
pub mod mcp;
pub mod setup;
