//! The entries of a bundle that speak about the others.

use serde_json::{Value, json};

use crate::domain::{Environment, TaskId, Timestamp};

pub const README: &str = "README.txt";
pub const MANIFEST: &str = "manifest.json";
pub const SUMS: &str = "SHA256SUMS";
pub const SIGNATURE: &str = "SHA256SUMS.sig";
/// Entries below this are streamed.
pub const FILES: &str = "files/";
pub const FORMAT: &str = "legwork-proof-bundle";
pub const VERSION: i64 = 1;

pub const README_TEXT: &str = "\
A task and all that proves it, as Legwork held it when this file was made.

task.json        the task
proofs.json      what the worker sent, and how it was reviewed; `file` names the file
evidence.json    what was found out about each proof; `sha256` is that of the file as it was sent,
                 with the metadata of the camera. The files here are without it.
history.json     every move of the task: who made it, and why
ledger.json      the money of the task
payment.json     how the task was paid for
dispute.json     the dispute, if there was one
files/           the files
manifest.json    what is in here, what is missing and why, and the key that has signed
SHA256SUMS       the hashes of all of these, and
SHA256SUMS.sig   its Ed25519 signature

To check it: legwork bundle verify FILE --keys legwork-keys.json, where legwork-keys.json is what the
service publishes at /.well-known/legwork-keys.json. Or with openssl, unzip and sha256sum:
docs/guides/proof-bundles.md.
";

/// An entry and the hash of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

/// A file that should be there and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub name: String,
    pub reason: &'static str,
}

/// What a bundle is about.
#[derive(Clone, Debug)]
pub struct About {
    pub task: TaskId,
    pub environment: Environment,
    pub made_at: Timestamp,
    pub key_id: String,
}

pub fn manifest(about: &About, listed: &[Listed], missing: &[Missing]) -> Value {
    let files = listed
        .iter()
        .map(|entry| json!({"name": entry.name, "bytes": entry.bytes, "sha256": entry.sha256}));
    let missing = missing
        .iter()
        .map(|file| json!({"name": file.name, "reason": file.reason}));
    json!({
        "format": FORMAT,
        "version": VERSION,
        "task_id": about.task.to_string(),
        "environment": about.environment,
        "made_at": about.made_at,
        "key_id": about.key_id,
        "files": files.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
    })
}

/// As `sha256sum` writes it.
pub fn sums(listed: &[Listed]) -> String {
    let line = |entry: &Listed| format!("{}  {}\n", entry.sha256, entry.name);
    listed.iter().map(line).collect()
}
