//! What runs before and after handlers.

pub mod around;
pub mod authentication;
pub mod checks;
pub mod client_address;
pub mod cors;
pub mod edge;
pub mod headers;
pub mod incoming;
pub mod limits;
pub mod notes;
pub mod people;
pub mod span;
pub mod user_agent;
