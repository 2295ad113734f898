//! Writes responses.

pub mod json;
pub mod page;
pub mod proofs;
pub mod submitted;
pub mod workers;
