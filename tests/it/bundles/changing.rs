//! Whatever is changed in a bundle is noticed, and named.

use std::collections::BTreeMap;

use legwork::archive::{Modified, ZipWriter};
use serde_json::Value;

use super::{bundle, completed, published, verify};
use crate::support::archive::unzip;
use crate::support::{Database, Engine, TestApp, runtime};

/// A bundle with files, a smaller one without, and the keys.
fn bundles() -> (Vec<u8>, Vec<u8>, String) {
    runtime().block_on(async {
        let database = std::sync::Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        let (dev, task) = completed(&app).await;
        let with_files = bundle(&dev.live, &task).await;
        let small = dev.create_task().await;
        let small = bundle(&dev.test, &small).await;
        (with_files, small, published(&app).await)
    })
}

#[test]
fn no_byte_can_be_changed_added_or_removed() {
    let (with_files, small, keys) = bundles();
    verify(&small, &keys).unwrap();
    for at in 0..small.len() {
        let mut changed = small.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(verify(&changed, &keys).is_err(), "byte {at}");
    }
    verify(&with_files, &keys).unwrap();
    for at in (0..with_files.len()).step_by(97) {
        let mut changed = with_files.clone();
        changed[at] = changed[at].wrapping_add(1);
        assert!(verify(&changed, &keys).is_err(), "byte {at}");
        let mut shorter = with_files.clone();
        shorter.remove(at);
        assert!(verify(&shorter, &keys).is_err(), "without byte {at}");
        let mut longer = with_files.clone();
        longer.insert(at, 0);
        assert!(verify(&longer, &keys).is_err(), "another byte at {at}");
    }
    let mut longer = with_files.clone();
    longer.push(0);
    assert!(verify(&longer, &keys).is_err());
    for length in [0, 1, 21, 22, with_files.len() - 1] {
        assert!(verify(&with_files[..length], &keys).is_err());
    }
}

/// The entries in their order, as a ZIP file that is right in itself.
fn zipped(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Modified::NONE);
    let mut bytes = Vec::new();
    for (name, data) in entries {
        if name.starts_with("files/") {
            bytes.extend(zip.begin(name).unwrap());
            zip.data(data);
            bytes.extend_from_slice(data);
            bytes.extend(zip.end().unwrap());
        } else {
            bytes.extend(zip.entry(name, data).unwrap());
        }
    }
    bytes.extend(zip.finish().unwrap());
    bytes
}

fn ordered(bundle: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut entries: BTreeMap<String, Vec<u8>> = unzip(bundle);
    let sums = String::from_utf8(entries["SHA256SUMS"].clone()).unwrap();
    let names = sums.lines().map(|line| line.split_once("  ").unwrap().1);
    let names = names.chain(["SHA256SUMS", "SHA256SUMS.sig"]);
    let take = |name: &str| (name.to_owned(), entries.remove(name).unwrap());
    names.map(take).collect()
}

#[test]
fn a_forger_who_writes_the_archive_anew_is_noticed_and_the_entry_is_named() {
    let (bundle, _, keys) = bundles();
    let entries = ordered(&bundle);
    assert_eq!(zipped(&entries), bundle, "it is the same archive");
    let refusal = |entries: &[(String, Vec<u8>)]| {
        let refused = verify(&zipped(entries), &keys);
        refused.unwrap_err().to_string()
    };
    for place in 0..entries.len() - 2 {
        let name = &entries[place].0;
        let mut changed = entries.clone();
        changed[place].1.push(b' ');
        let said = refusal(&changed);
        assert!(said.starts_with(name.as_str()), "{name}: {said}");
        let mut removed = entries.clone();
        removed.remove(place);
        let said = refusal(&removed);
        let is_last = name == "manifest.json";
        assert!(is_last || said.starts_with(name.as_str()), "{name}: {said}");
        let mut renamed = entries.clone();
        renamed[place].0.push('x');
        refusal(&renamed);
    }
    let mut more = entries.clone();
    more.insert(1, ("extra.txt".to_owned(), b"more".to_vec()));
    assert!(refusal(&more).starts_with("extra.txt"));
    let mut twice = entries.clone();
    twice.insert(1, twice[0].clone());
    assert!(refusal(&twice).starts_with("README.txt"));
    let mut swapped = entries.clone();
    swapped.swap(1, 2);
    refusal(&swapped);
    for length in [0, 63, 65] {
        let mut signature = entries.clone();
        signature.last_mut().unwrap().1.resize(length, 0);
        assert!(refusal(&signature).starts_with("SHA256SUMS"));
    }
}

#[test]
fn a_bundle_of_another_service_is_refused() {
    let ((bundle, ..), (_, _, other_keys)) = (bundles(), bundles());
    let refused = verify(&bundle, &other_keys).unwrap_err().to_string();
    assert!(
        refused.contains("not among those that you trust"),
        "{refused}"
    );
    // One that calls its key like ours.
    let entries = unzip(&bundle);
    let manifest: Value = serde_json::from_slice(&entries["manifest.json"]).unwrap();
    let mut keys: Value = serde_json::from_str(&other_keys).unwrap();
    keys["keys"][0]["id"] = manifest["key_id"].clone();
    let refused = verify(&bundle, &keys.to_string()).unwrap_err().to_string();
    assert!(refused.contains("not signed by the key"), "{refused}");
}
