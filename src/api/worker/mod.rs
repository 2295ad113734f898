//! What workers call with their token.

pub mod account;
pub mod deletion;
pub mod disputes;
pub mod exports;
pub mod notifications;
pub mod payouts;
pub mod profile;
pub mod proofs;
pub mod push;
pub mod push_settings;
pub mod second_factor;
pub mod session;
pub mod sessions;
pub mod tasks;
pub mod uploads;
pub mod verification;
