//! How admins get in: their keys, second factors and sessions.

pub mod keys;
pub mod second_factor;
pub mod sessions;
