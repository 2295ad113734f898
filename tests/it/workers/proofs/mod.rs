//! Proofs: what is taken and what is kept of it.

mod evidence;
pub mod proving;
mod storage;
mod submitting;
mod uploads;
