//! How workers get in: signing up and in, addresses and passwords, second factors, sessions.

pub mod account;
pub mod second_factor;
pub mod session;
pub mod sessions;
