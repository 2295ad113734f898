//! What workers call with their token.

pub mod deletion;
pub mod disputes;
pub mod exports;
pub mod payouts;
pub mod profile;
pub mod proofs;
pub mod push;
pub mod session;
pub mod tasks;
pub mod verification;
