//! What a request must be, whoever sends it.

pub mod host;
pub mod parameters;
