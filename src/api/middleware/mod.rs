//! What runs before and after handlers.

pub mod authentication;
pub mod client_address;
pub mod edge;
pub mod file_limits;
pub mod headers;
pub mod host;
pub mod limiter;
pub mod notes;
pub mod places;
pub mod rate_limits;
pub mod sign_in_limits;
pub mod span;
pub mod strangers;
pub mod stream_limits;
pub mod upload_limits;
