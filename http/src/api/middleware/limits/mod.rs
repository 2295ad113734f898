//! How much callers may ask for, and hold at once.

pub mod anonymous;
pub mod answers;
pub mod files;
pub mod known;
pub mod log;
pub mod rate;
mod share;
mod shared;
pub mod streams;
pub mod uploads;
