//! What developers call with an API key.

pub mod account;
pub mod disputes;
pub mod events;
pub mod exports;
pub mod keys;
pub mod links;
pub mod logs;
pub mod payment_method;
pub mod payments;
pub mod proofs;
pub mod quotes;
pub mod security;
pub mod sign_up;
pub mod tasks;
pub mod test_helpers;
pub mod webhook;
