//! Keeping files: one suite, in a folder and in S3.

mod keeping;
mod memory;
pub mod peer;
mod place;
mod troubles;
