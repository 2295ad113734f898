//! Pictures that others made: our verdict beside Pillow's, and what `strip` leaves of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use legwork::domain::ProofType;
use legwork::media::{self, hash_distance};
use serde_json::Value;

const PILLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/pillow.py");

/// Where we and Pillow disagree, and why. A file that is not listed must get the same verdict.
const DIFFERENCES: [(&str, &str); 2] = [
    (
        "apng/chunk_no_fctl.png",
        "accepted: its first image is complete; only the animation lacks a chunk",
    ),
    (
        "png_decompression_dos.png",
        "accepted: its bomb is a compressed text, which we neither decompress nor pass on",
    ),
];

/// Their orientation is in a text or in XMP. Pillow reads it there; browsers do not.
const ORIENTATION_ELSEWHERE: [&str; 3] = [
    "exif_imagemagick_orientation.png",
    "xmp_tags_orientation.png",
    "xmp_tags_orientation_exiftool.png",
];

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run ./test, or scripts/with-peers cargo test")
    })
}

fn pillow(arguments: &[&str]) -> Command {
    let mut command = Command::new(setting("LEGWORK_TEST_PYTHON"));
    command.arg("-B").arg(PILLOW).args(arguments);
    command
}

fn ask_pillow(paths: &[PathBuf]) -> Vec<Value> {
    let mut child = pillow(&["read"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = paths.iter().map(|p| format!("{}\n", p.display())).collect();
    let mut input = child.stdin.take().unwrap();
    // Writing from another thread: both pipes are bounded.
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), paths.len());
    answers
}

/// All JPEG and PNG files below a folder, by their path inside of it.
fn pictures(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if ["jpg", "jpeg", "mpo", "png", "apng"].contains(&&*extension) {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, path);
            }
        }
    }
    found
}

#[test]
fn what_pillow_decodes_is_accepted_and_nothing_else_but_for_known_differences() {
    let corpus = pictures(Path::new(&setting("LEGWORK_TEST_PICTURES")));
    assert!(corpus.len() > 400, "only {} pictures", corpus.len());
    let paths: Vec<PathBuf> = corpus.values().cloned().collect();
    let mut known = BTreeMap::from(DIFFERENCES);
    let mut new = Vec::new();
    for ((name, path), theirs) in corpus.iter().zip(ask_pillow(&paths)) {
        let ours = media::inspect(path, ProofType::Photo);
        if ours.is_ok() != theirs.get("error").is_none() && known.remove(name.as_str()).is_none() {
            new.push(format!("{name}: we say {ours:?}, Pillow says {theirs}"));
        }
    }
    assert!(new.is_empty(), "new differences:\n{}", new.join("\n"));
    assert!(known.is_empty(), "no longer differences: {known:?}");
}

#[test]
fn stripped_pictures_show_the_same_pixels_and_carry_no_metadata() {
    let corpus = pictures(Path::new(&setting("LEGWORK_TEST_PICTURES")));
    let folder = tempfile::tempdir().unwrap();
    let (mut names, mut originals, mut stripped) = (Vec::new(), Vec::new(), Vec::new());
    for (name, path) in corpus {
        let Ok(inspected) = media::inspect(&path, ProofType::Photo) else {
            continue;
        };
        let mut clean = Vec::new();
        media::strip(&path, &mut clean, inspected.content_type).unwrap();
        let target = folder.path().join(names.len().to_string());
        std::fs::write(&target, &clean).unwrap();
        assert_eq!(
            media::inspect(&target, ProofType::Photo)
                .unwrap()
                .perceptual_hash,
            inspected.perceptual_hash,
            "{name}"
        );
        names.push(name);
        originals.push(path);
        stripped.push(target);
    }
    let (before, after) = (ask_pillow(&originals), ask_pillow(&stripped));
    let (mut with_metadata, mut turned) = (0, Vec::new());
    for ((name, before), after) in names.iter().zip(before).zip(after) {
        // What Pillow refuses is in the table of differences.
        if before.get("error").is_some() {
            continue;
        }
        assert_eq!(after["pixels"], before["pixels"], "{name}");
        if after["orientation"] != before["orientation"] {
            turned.push(name.as_str());
        }
        assert_eq!(after["metadata"], serde_json::json!([]), "{name}");
        with_metadata += usize::from(before["metadata"] != serde_json::json!([]));
    }
    assert_eq!(turned, ORIENTATION_ELSEWHERE);
    assert!(with_metadata > 50, "only {with_metadata} had metadata");
}

/// Sampling of colours, progressive scans with successive approximation, restarts anywhere.
#[test]
fn every_form_that_libjpeg_writes_is_read_as_the_same_picture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert!(pillow(&["write", path]).status().unwrap().success());
    let forms = pictures(folder.path());
    assert_eq!(forms.len(), 80);
    let hash = |path: &Path| {
        let inspected = media::inspect(path, ProofType::Photo).unwrap();
        inspected.perceptual_hash.unwrap()
    };
    let plain = hash(&forms["RGB 444 baseline 0.jpg"]);
    for (name, path) in &forms {
        assert!(hash_distance(plain, hash(path)) <= 2, "{name}");
    }
}
