//! Proof bundles: a ZIP file with a task and all that proves it, and a signature by which anybody can
//! check it without the service.
//!
//! `SHA256SUMS` has a line for each entry before it, in their order, and `SHA256SUMS.sig` is its
//! signature. Everything else in the file follows from these entries, byte for byte.

mod keys;
mod manifest;
mod verify;
mod write;

pub use keys::{PublishedKeys, keys_json, read_keys};
pub use verify::{BundleError, VerifiedBundle, verify_bundle};
pub use write::{BundleParts, send_bundle};
