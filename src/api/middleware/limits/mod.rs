//! How much callers may ask for, and hold at once.

pub mod anonymous;
pub mod files;
pub mod limiter;
pub mod places;
pub mod rate;
mod share;
mod shared;
pub mod sign_in;
pub mod streams;
pub mod uploads;
