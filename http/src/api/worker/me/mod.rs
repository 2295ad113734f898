//! What is held about a worker: the profile, its verification, a copy of everything, deletion.

pub mod deletion;
pub mod exports;
pub mod profile;
pub mod verification;
