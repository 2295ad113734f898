//! What runs before and after handlers.

pub mod authentication;
pub mod edge;
pub mod rate_limits;
pub mod sign_in_limits;
pub mod span;
pub mod stream_limits;
