//! Writes responses.

pub mod evidence;
pub mod exports;
pub mod json;
pub mod keys;
pub mod page;
pub mod proofs;
pub mod submitted;
pub mod workers;
