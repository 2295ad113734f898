//! Reads requests: bodies, queries, paths, headers.

pub mod body;
pub mod fields;
pub mod idempotency;
pub mod json;
pub mod multipart;
pub mod path;
pub mod query;
pub mod submission;
