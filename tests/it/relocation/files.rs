//! Files go from a folder to S3, and nothing else does.

use bytes::Bytes;
use futures_util::TryStreamExt;
use legwork::ambient;
use legwork::domain::Timestamp;
use legwork::files::{FileKey, Files, FilesLocation, Prefix};

use super::lived_in;
use crate::files::peer;
use crate::support::{Command, Database, Server, runtime};

const LATER: Timestamp = Timestamp::from_millis(9_000_000_000_000);

fn bucket() -> FilesLocation {
    let random: [u8; 8] = ambient::random();
    FilesLocation::S3 {
        bucket: peer::BUCKET.to_owned(),
        prefix: format!("moved/{:016x}", u64::from_be_bytes(random)),
    }
}

fn open(location: &FilesLocation, database: &Database) -> Files {
    let incoming = database.folder.path().join("incoming");
    let environment = peer::environment(peer::address());
    Files::open(location, &incoming, "", [7; 32], environment).unwrap()
}

fn folder(database: &Database) -> FilesLocation {
    FilesLocation::Folder(database.folder.path().join("files"))
}

fn to_bucket(database: &Database, to: &FilesLocation, endpoint: &str) -> Command {
    let to = to.to_string();
    let mut command = Command::new(&["move", "--files-to", &to]).on(database);
    for (name, value) in peer::environment(peer::address()) {
        if name.starts_with("AWS_") {
            command = command.env(&name, &value);
        }
    }
    command.env("AWS_ENDPOINT_URL", endpoint)
}

fn endpoint() -> String {
    format!("http://{}", peer::address())
}

async fn all(files: &Files) -> Vec<(FileKey, Vec<u8>)> {
    let keys = files.kept_before(Prefix::Proofs, LATER, None, 1_000).await;
    let mut found = Vec::new();
    for key in keys.unwrap() {
        let size = files.size(key).await.unwrap().unwrap();
        let pieces: Vec<Bytes> = files
            .read(key, 0..size)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        found.push((key, pieces.concat()));
    }
    found
}

#[test]
fn files_are_copied_compared_and_served_from_there() {
    let (database, _) = lived_in();
    let to = bucket();
    // Nobody is there: nothing is marked, and the next try goes on.
    let said = to_bucket(&database, &to, "http://127.0.0.1:1").fail();
    assert!(said.contains("run the same command again"), "{said}");
    let before = runtime().block_on(async {
        let here = open(&folder(&database), &database);
        let files = all(&here).await;
        // A file that no record names stays, and one that differs in the bucket is replaced.
        let orphan = FileKey::new(Prefix::Proofs, 7);
        let bytes = Bytes::from_static(b"nobody's");
        here.put(orphan, bytes, "text/plain", LATER).await.unwrap();
        let (key, bytes) = &files[0];
        let spoiled = Bytes::from(vec![0; bytes.len()]);
        let there = open(&to, &database);
        there.put(*key, spoiled, "text/plain", LATER).await.unwrap();
        files
    });
    assert!(before.len() >= 4, "{}", before.len());

    let said = to_bucket(&database, &to, &endpoint()).succeed();
    let counted = format!("{} files copied and compared", before.len());
    assert!(said.contains(&counted), "{said}");
    let there = runtime().block_on(async { all(&open(&to, &database)).await });
    assert_eq!(there, before);

    let refused = Command::new(&["serve", "--listen", "127.0.0.1:0"]).on(&database);
    let said = refused.fail();
    assert!(said.contains("the files were moved to s3://"), "{said}");
    let said = to_bucket(&database, &to, &endpoint()).succeed();
    assert!(said.contains("already in s3://"), "{said}");
    Command::new(&["move", "--undo"]).on(&database).succeed();
    assert_eq!(Server::start(&database).terminate(), Some(0));
}

#[test]
fn what_has_gone_from_the_new_place_since_is_copied_again() {
    let (database, _) = lived_in();
    let to = bucket();
    to_bucket(&database, &to, &endpoint()).succeed();
    Command::new(&["move", "--undo"]).on(&database).succeed();
    let before = runtime().block_on(async {
        let there = open(&to, &database);
        let files = all(&there).await;
        there.delete(files[0].0).await.unwrap();
        files
    });
    // As if a try had been interrupted at its end.
    let progress = database.folder.path().join("move-files.json");
    let last = "ffffffffffffffffffffffffffffffff";
    let done = format!(
        r#"{{"to":"{to}","proof":"{last}","document":"{last}","export":"z","upload":"z"}}"#
    );
    std::fs::write(&progress, &done).unwrap();
    to_bucket(&database, &to, &endpoint()).succeed();
    let there = runtime().block_on(async { all(&open(&to, &database)).await });
    assert_eq!(there, before);
    std::fs::write(&progress, &done).unwrap();
    Command::new(&["move", "--undo"]).on(&database).succeed();
    assert!(!progress.exists());
}

#[test]
fn undoing_beside_a_server_changes_nothing() {
    let (database, _) = lived_in();
    let server = Server::start(&database);
    let mark = database.folder.path().join("files/MOVED");
    std::fs::write(&mark, "s3://elsewhere/files").unwrap();
    Command::new(&["move", "--undo"]).on(&database).fail();
    assert!(mark.exists());
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_missing_file_is_named_and_the_rest_goes_on() {
    let (database, _) = lived_in();
    let missing = runtime().block_on(async {
        let here = open(&folder(&database), &database);
        let (key, _) = all(&here).await.remove(0);
        here.delete(key).await.unwrap();
        key
    });
    let to = bucket();
    let said = to_bucket(&database, &to, &endpoint()).succeed();
    assert!(said.contains(&format!("missing: {missing}")), "{said}");
    assert!(said.contains("1 that the database names"), "{said}");
}
