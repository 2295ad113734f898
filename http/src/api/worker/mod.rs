//! What workers call with their token.

pub mod access;
pub mod me;
pub mod notifications;
pub mod payouts;
pub mod tasks;
pub mod uploads;
