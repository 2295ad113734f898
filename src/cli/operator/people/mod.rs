//! Accounts, workers, admins, and the second factors of all of them.

pub mod account;
pub mod account_access;
pub mod admin;
mod find;
pub mod second_factor;
pub mod worker;
