//! Checks a bundle with nothing but the published keys.

use std::io::{Read, Seek};

use serde_json::Value;

use super::keys::moment;
use super::manifest::{FILES, FORMAT, Listed, MANIFEST, SIGNATURE, SUMS, VERSION, sums};
use crate::archive::{ArchiveError, EntryData, read_archive};
use crate::domain::accounts::api_key::hex;
use crate::domain::proofs::bundles::BundleKey;
use crate::domain::sha256::Sha256;

/// The entries that speak about the others are small.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// Why a bundle is refused.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("{name}: {reason}")]
    Entry { name: String, reason: String },
}

/// What was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedBundle {
    pub task_id: String,
    pub made_at: String,
    pub key_id: String,
    pub entries: usize,
    pub bytes: u64,
    /// Files that the bundle says it does not have, each with the reason.
    pub missing: Vec<(String, String)>,
}

/// Checks the layout of the archive, the signature, and every entry against the signed hashes.
pub fn verify_bundle(
    file: &mut (impl Read + Seek),
    keys: &[BundleKey],
) -> Result<VerifiedBundle, BundleError> {
    let mut seen = Seen::default();
    read_archive(file, |name| name.starts_with(FILES), &mut seen)?;
    let names: Vec<_> = seen
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    if !matches!(names.as_slice(), [.., MANIFEST, SUMS, SIGNATURE]) {
        return refuse(
            SIGNATURE,
            "the signature is not where it belongs, at the end",
        );
    }
    let manifest: Value = serde_json::from_slice(seen.text(MANIFEST)).unwrap_or_default();
    let key = signing_key(&manifest, keys)?;
    if !key.has_signed(seen.text(SUMS), seen.text(SIGNATURE)) {
        return refuse(SUMS, &format!("it was not signed by the key {}", key.id));
    }
    // From here on, SHA256SUMS is what the service wrote.
    compare(&seen)?;
    read_manifest(&manifest, key, &seen.entries)
}

fn refuse<T>(name: &str, reason: &str) -> Result<T, BundleError> {
    Err(BundleError::Entry {
        name: name.to_owned(),
        reason: reason.to_owned(),
    })
}

/// The manifest says which key it is. Until the signature is checked, that is only a hint.
fn signing_key<'a>(manifest: &Value, keys: &'a [BundleKey]) -> Result<&'a BundleKey, BundleError> {
    let Some(id) = manifest["key_id"].as_str() else {
        return refuse(MANIFEST, "it does not name a key");
    };
    match keys.iter().find(|key| key.id == id) {
        Some(key) => Ok(key),
        None => refuse(
            MANIFEST,
            &format!("the key {id:?} is not among those that you trust"),
        ),
    }
}

/// Names the first entry that is not as it was signed.
fn compare(seen: &Seen) -> Result<(), BundleError> {
    let listed = &seen.entries[..seen.entries.len() - 2];
    let signed = String::from_utf8_lossy(seen.text(SUMS)).into_owned();
    let mut lines = signed.lines();
    for entry in listed {
        let line = lines.next().unwrap_or_default();
        if line == sums(std::slice::from_ref(entry)).trim_end() {
            continue;
        }
        return match line.split_once("  ") {
            Some((_, name)) if name == entry.name => {
                refuse(name, "its hash differs from the one that was signed")
            }
            Some((_, name)) if !listed.iter().any(|entry| entry.name == name) => {
                refuse(name, "it was signed, and is missing")
            }
            _ => refuse(
                &entry.name,
                "it is not among what was signed, or not in its place",
            ),
        };
    }
    if let Some((_, name)) = lines.next().and_then(|line| line.split_once("  ")) {
        return refuse(name, "it was signed, and is missing");
    }
    match sums(listed) == signed {
        true => Ok(()),
        false => refuse(SUMS, "it is not laid out as Legwork lays it out"),
    }
}

fn read_manifest(
    manifest: &Value,
    key: &BundleKey,
    entries: &[Listed],
) -> Result<VerifiedBundle, BundleError> {
    if manifest["format"] != FORMAT || manifest["version"] != VERSION {
        return refuse(MANIFEST, "this program does not know its format or version");
    }
    let text = |name: &str| manifest[name].as_str().unwrap_or_default().to_owned();
    match moment(&manifest["made_at"]) {
        Some(made_at) if key.signed_at(made_at) => {}
        _ => {
            return refuse(
                MANIFEST,
                "it says that it was made when its key did not sign",
            );
        }
    }
    let missing = manifest["missing"].as_array().map(Vec::as_slice);
    let missing = missing.unwrap_or_default().iter().map(|file| {
        let text = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        (text("name"), text("reason"))
    });
    Ok(VerifiedBundle {
        task_id: text("task_id"),
        made_at: text("made_at"),
        key_id: key.id.clone(),
        entries: entries.len(),
        bytes: entries.iter().map(|entry| entry.bytes).sum(),
        missing: missing.collect(),
    })
}

/// The hash of each entry, and the data of those that are read.
#[derive(Default)]
struct Seen {
    entries: Vec<Listed>,
    texts: Vec<(String, Vec<u8>)>,
    hash: Sha256,
    is_text: bool,
}

impl Seen {
    fn text(&self, name: &str) -> &[u8] {
        let found = self.texts.iter().find(|(known, _)| known == name);
        found.map_or(&[], |(_, text)| text)
    }
}

impl EntryData for Seen {
    fn begin(&mut self, name: &str, size: u64) -> Result<(), String> {
        if self.entries.iter().any(|entry| entry.name == name) {
            return Err("there are two entries of this name".to_owned());
        }
        self.is_text = matches!(name, MANIFEST | SUMS | SIGNATURE);
        if self.is_text && size > MAX_TEXT_BYTES {
            return Err("it is too large".to_owned());
        }
        if self.is_text {
            self.texts.push((name.to_owned(), Vec::new()));
        }
        self.hash = Sha256::new();
        self.entries.push(Listed {
            name: name.to_owned(),
            bytes: size,
            sha256: String::new(),
        });
        Ok(())
    }

    fn piece(&mut self, piece: &[u8]) {
        self.hash.update(piece);
        if let Some((_, text)) = self.texts.last_mut().filter(|_| self.is_text) {
            text.extend_from_slice(piece);
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let hash = std::mem::take(&mut self.hash);
        if let Some(entry) = self.entries.last_mut() {
            entry.sha256 = hex(&hash.finish());
        }
        Ok(())
    }
}
