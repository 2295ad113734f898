//! What needs no key.

pub mod files;
pub mod health;
pub mod keys;
pub mod stripe_webhook;
