//! Keeping files: one suite, in a folder and in S3.

mod keeping;
mod memory;
mod peer;
mod place;
mod troubles;
