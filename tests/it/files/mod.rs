//! Keeping files: one suite, in a folder and in S3.

mod keeping;
mod memory;
pub mod peer;
pub mod place;
mod troubles;
