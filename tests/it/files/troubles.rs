//! Places that cannot be used: the caller is told, and nothing is left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bytes::Bytes;
use legwork::files::{FileKey, Files, FilesError, FilesLocation, Prefix};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::peer;
use super::place::{NOW, PUBLIC_URL, Place, bytes, new_key, tell};
use crate::support::Client;

#[track_caller]
fn assert_unavailable<T: std::fmt::Debug>(result: Result<T, FilesError>) {
    assert!(
        matches!(result, Err(FilesError::Unavailable(_))),
        "{result:?}"
    );
}

/// All that can be done with files fails, and nothing is incoming afterwards.
async fn assert_nothing_works(place: &Place) {
    let (files, key) = (&place.files, new_key());
    let received = place.receive(b"a picture").await;
    assert_unavailable(files.keep(received, key, "image/png").await);
    let bytes = Bytes::from_static(b"made by us");
    assert_unavailable(files.put(key, bytes, "image/png", NOW).await);
    assert_unavailable(files.size(key).await);
    assert_unavailable(files.read(key, 0..1).await.map(drop));
    assert_unavailable(files.delete(key).await);
    let listed = files.kept_before(Prefix::Proofs, NOW, None, 1).await;
    assert_unavailable(listed);
    place.nothing_is_incoming().await;
}

#[test]
fn s3_that_is_down() {
    tell(async {
        // Nobody listens where somebody did just now.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let location = FilesLocation::S3 {
            bucket: peer::BUCKET.to_owned(),
            prefix: String::new(),
        };
        assert_nothing_works(&Place::s3_at(&location, address)).await;
    });
}

/// It says that something is wrong, and then does not stop to say why.
#[test]
fn s3_that_answers_without_end() {
    tell(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = async |stream: &mut tokio::net::TcpStream| -> std::io::Result<()> {
            let head = "HTTP/1.1 403 Forbidden\r\ncontent-type: text/xml\r\n\r\n";
            stream.read_u8().await?;
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 64 << 10]).await?;
            }
        };
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move { answer(&mut stream).await });
            }
        });
        let location = FilesLocation::S3 {
            bucket: peer::BUCKET.to_owned(),
            prefix: String::new(),
        };
        assert_nothing_works(&Place::s3_at(&location, address)).await;
    });
}

#[test]
fn a_bucket_that_is_not_there() {
    tell(async {
        let location = FilesLocation::S3 {
            bucket: "no-such-bucket".to_owned(),
            prefix: "tests".to_owned(),
        };
        let place = Place::s3_at(&location, peer::address());
        for size in [9, 9 << 20] {
            let received = place.receive(&bytes(size)).await;
            let kept = place.files.keep(received, new_key(), "image/png").await;
            assert_unavailable(kept);
        }
        assert_nothing_works(&place).await;
        assert_unavailable(place.files.check_place().await);
    });
}

/// Somebody else's server, which has nothing at all.
#[test]
fn a_server_that_is_not_s3() {
    tell(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let missing = async || (axum::http::StatusCode::NOT_FOUND, "<h1>Not Found</h1>");
        let app = axum::Router::new().fallback(missing);
        tokio::spawn(async move { axum::serve(listener, app).await });
        let location = FilesLocation::S3 {
            bucket: peer::BUCKET.to_owned(),
            prefix: String::new(),
        };
        let place = Place::s3_at(&location, address);
        assert_nothing_works(&place).await;
        assert_unavailable(place.files.check_place().await);
    });
}

#[test]
fn an_upload_to_s3_that_breaks_off_leaves_no_parts() {
    tell(async {
        let place = Place::s3_below("breaking-");
        let key = new_key();
        let received = place.receive(&bytes(17 << 20)).await;
        assert_unavailable(place.files.keep(received, key, "video/mp4").await);
        assert_eq!(place.files.size(key).await, Ok(None));
        place.nothing_is_incoming().await;

        let credential = "Credential=tests/20251115/us-east-1/s3/aws4_request";
        let signed = format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0");
        let path = format!("/{}?uploads", peer::BUCKET);
        let client = Client::new(peer::address(), None);
        let unfinished = client
            .send("GET", &path, &[("authorization", &signed)], "")
            .await;
        assert_eq!(unfinished.status, 200);
        let text = unfinished.text;
        assert!(text.contains("ListMultipartUploadsResult"), "{text}");
        assert!(!text.contains(&key.to_string()), "{text}");
    });
}

#[test]
fn a_folder_that_has_vanished() {
    tell(async {
        let place = Place::folder();
        fs::remove_dir_all(place.folder.path().join("files")).unwrap();
        assert_nothing_works(&place).await;
        assert!(!place.folder.path().join("files").exists());
    });
}

#[test]
fn a_folder_that_cannot_be_written() {
    tell(async {
        let place = Place::folder();
        // Also for a superuser, who may write wherever there is a folder.
        let in_the_way = place.folder.path().join("files/proofs");
        fs::write(&in_the_way, "").unwrap();
        assert_nothing_works(&place).await;
        assert!(in_the_way.is_file());
    });
}

#[test]
fn an_incoming_folder_that_has_vanished() {
    tell(async {
        let place = Place::folder();
        fs::remove_dir(place.incoming()).unwrap();
        assert_unavailable(place.files.receive(10, NOW).await.map(drop));
        assert_unavailable(place.files.remove_abandoned(NOW).await);
        let bytes = Bytes::from_static(b"made by us");
        let put = place.files.put(new_key(), bytes, "text/plain", NOW).await;
        assert_unavailable(put);
        let files = place.folder.path().join("files");
        assert_eq!(fs::read_dir(files).unwrap().count(), 0);
    });
}

fn open(folder: &Path, incoming: &Path) -> Result<Files, String> {
    let location = FilesLocation::Folder(folder.to_owned());
    Files::open(&location, incoming, PUBLIC_URL, [7; 32], [])
}

#[test]
fn a_folder_that_cannot_be_made_is_named_at_the_start() {
    let base = tempfile::tempdir().unwrap();
    let (good, file) = (base.path().join("good"), base.path().join("file"));
    fs::write(&file, "").unwrap();
    for (folder, incoming) in [(&good, &file.join("in")), (&file.join("files"), &good)] {
        let reason = open(folder, incoming).err().unwrap();
        assert!(reason.contains("file"), "{reason}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_come_in_on_the_file_system_where_they_stay() {
    let base = tempfile::tempdir().unwrap();
    let reason = open(base.path(), Path::new("/proc")).err().unwrap();
    assert!(reason.contains("same file system"), "{reason}");
}

#[test]
fn half_a_credential_is_named_at_the_start() {
    let base = tempfile::tempdir().unwrap();
    let location = FilesLocation::S3 {
        bucket: peer::BUCKET.to_owned(),
        prefix: String::new(),
    };
    let environment = [("AWS_ACCESS_KEY_ID".to_owned(), "tests".to_owned())];
    let opened = Files::open(&location, base.path(), PUBLIC_URL, [7; 32], environment);
    let reason = opened.err().unwrap();
    assert!(reason.contains("SecretAccessKey"), "{reason}");
}

#[test]
fn files_are_for_nobody_else_on_the_machine() {
    tell(async {
        let place = Place::folder();
        let key: FileKey = new_key();
        place.keep(key, b"a picture").await;
        let received = place.receive(b"another").await;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(received.path()), 0o600);
        assert_eq!(mode(&place.incoming()), 0o700);

        let mut path = place.folder.path().join("files");
        let text = key.to_string();
        let (shelf, name) = text.split_once('/').unwrap();
        assert_eq!(mode(&path), 0o700);
        for folder in [shelf, &name[..6]] {
            path.push(folder);
            assert_eq!(mode(&path), 0o700);
        }
        assert_eq!(mode(&path.join(name)), 0o600);
    });
}
