//! Files of proofs, saved in a folder. Each is whole under its name, or is not there.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use legwork_client::{Client, Proof};
use serde_json::json;

use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::{print_json, progress, wants_json};
use crate::cli::{print_line, tell};
use crate::domain::{ProofId, ProofType};
use crate::media::{JPEG, MP4, PNG};

pub async fn download(
    client: &Client,
    arguments: &ArgMatches,
    proofs: &[Proof],
) -> Result<(), Failed> {
    let folder = arguments
        .get_one::<String>("output")
        .map_or(".", String::as_str);
    let folder = Path::new(folder);
    let replaces = arguments.get_flag("force");
    let wanted = wanted(proofs, folder, replaces)?;
    if wanted.is_empty() && !proofs.is_empty() {
        return Err(Failed::Refused(
            "the files of these proofs are no longer kept".to_owned(),
        ));
    }
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    let mut saved = Vec::new();
    for Wanted { proof, url, place } in &wanted {
        progress(&format!("Fetching {}", place.display()));
        let bytes = client.fetch_up_to(url, most_bytes(proof)).await?;
        save(place, &bytes, replaces).map_err(|error| at(place, &error))?;
        let file = place.display().to_string();
        saved.push(json!({"proof_id": proof.id, "file": file, "size_bytes": bytes.len()}));
    }
    if wants_json(arguments) {
        return print_json(&saved);
    }
    for Wanted { place, .. } in &wanted {
        print_line(place.display());
    }
    if saved.is_empty() {
        tell("There are none.");
    }
    Ok(())
}

struct Wanted<'a> {
    proof: &'a Proof,
    url: &'a str,
    place: PathBuf,
}

/// What is saved, and where. All names are looked at before the first file is fetched.
fn wanted<'a>(
    proofs: &'a [Proof],
    folder: &Path,
    replaces: bool,
) -> Result<Vec<Wanted<'a>>, Failed> {
    let mut wanted = Vec::new();
    for proof in proofs {
        let name = file_name(&proof.id, proof.r#type.as_str(), &proof.content_type)?;
        let Some(url) = &proof.file_url else {
            let kept = "is no longer kept";
            tell(format_args!("legwork: the file of {} {kept}", proof.id));
            continue;
        };
        let place = folder.join(name);
        if !replaces && is_there(&place) {
            return Err(Failed::Refused(format!(
                "{} is there already: --force replaces it",
                place.display()
            )));
        }
        wanted.push(Wanted { proof, url, place });
    }
    Ok(wanted)
}

/// Made of what is known here. A server could send anything.
fn file_name(id: &str, kind: &str, content_type: &str) -> Result<String, Failed> {
    let Some(id) = ProofId::parse(id) else {
        return Err(Failed::Refused(
            "the server names a proof by what is no id: nothing was saved".to_owned(),
        ));
    };
    let kind = ProofType::parse(kind).map_or("proof", ProofType::as_str);
    let extension = match content_type {
        JPEG => "jpg",
        PNG => "png",
        MP4 => "mp4",
        _ => "bin",
    };
    Ok(format!("{kind}-{id}.{extension}"))
}

/// What a proof of its type may have; of a type that only a newer server knows, what any may have.
fn most_bytes(proof: &Proof) -> usize {
    let kind = ProofType::parse(proof.r#type.as_str());
    let most = kind.unwrap_or(ProofType::Video).max_bytes();
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The name comes last, and replaces a file only where that is wanted.
fn save(place: &Path, bytes: &[u8], replaces: bool) -> io::Result<()> {
    let mut part = place.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    // One that was interrupted has left it. It is not written through: it may be a link.
    let _ = fs::remove_file(&part);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&part)?;
    let saved = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| publish(&part, place, replaces));
    let _ = fs::remove_file(&part);
    saved
}

/// A hard link never replaces a file that has the name by now. On file systems without links, the name is checked before
/// a rename.
fn publish(part: &Path, place: &Path, replaces: bool) -> io::Result<()> {
    if replaces {
        return fs::rename(part, place);
    }
    match fs::hard_link(part, place) {
        Err(_) if !is_there(place) => fs::rename(part, place),
        linked => linked,
    }
}

/// True for a dangling symbolic link too: it has the name.
fn is_there(place: &Path) -> bool {
    place.symlink_metadata().is_ok()
}

fn at(place: &Path, error: &io::Error) -> Failed {
    Failed::Refused(format!("{}: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1e01d8f8c75a88391536be52060b9";

    #[test]
    fn names_are_made_of_ids_and_types() {
        for (kind, content_type, expected) in [
            ("photo", "image/jpeg", format!("photo-{ID}.jpg")),
            ("signature", "image/png", format!("signature-{ID}.png")),
            ("video", "video/mp4", format!("video-{ID}.mp4")),
            ("../smell", "x/../../y", format!("proof-{ID}.bin")),
        ] {
            let name = file_name(ID, kind, content_type).ok();
            assert_eq!(name, Some(expected));
        }
        for id in ["", "..", "/etc/passwd", "../01a1", &ID.to_uppercase()] {
            assert!(file_name(id, "photo", JPEG).is_err(), "{id}");
        }
    }

    #[test]
    fn a_file_is_replaced_only_where_that_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("photo.jpg");
        let part = folder.path().join("photo.jpg.part");
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        // What an interrupted one has left, or somebody has put there.
        std::os::unix::fs::symlink(&elsewhere, &part).unwrap();
        save(&place, b"one", false).unwrap();
        assert!(save(&place, b"two", false).is_err());
        assert_eq!(fs::read(&place).unwrap(), b"one");
        save(&place, b"two", true).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"two");
        assert_eq!(fs::read(&elsewhere).unwrap(), b"mine");
        assert!(!is_there(&part));
    }
}
