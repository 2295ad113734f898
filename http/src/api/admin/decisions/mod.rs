//! What is decided about money: disputes, failed payouts, and what a second admin confirms.

pub mod disputes;
pub mod payouts;
pub mod proposals;
