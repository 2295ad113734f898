//! Reads requests: bodies, queries, paths, headers.

pub mod body;
pub mod fields;
#[cfg(test)]
mod fuzz;
pub mod idempotency;
pub mod json;
pub mod multipart;
mod password;
pub mod path;
pub mod query;
pub mod schema;
pub mod search;
pub mod submission;
#[cfg(test)]
#[path = "../../../../core/src/domain/testing.rs"]
mod testing;
