//! The protocol, request by request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;

use super::client::{
    Begun, OCTETS, TUS, UPLOADS, begun, create, create_with, head, id, metadata, offset, patch,
    patch_with,
};
use crate::support::{Client, TestApp, on_both_engines, until};

on_both_engines!(
    a_file_arrives_in_pieces,
    headers_are_checked,
    bytes_are_what_their_checksum_says,
    the_first_bytes_may_come_with_the_creation,
    the_one_who_came_last_goes_on,
);

async fn a_file_arrives_in_pieces(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let (client, other) = (&worker.client, app.ready_worker().await.client);
    let asked = app.client().send("OPTIONS", UPLOADS, &[], "").await;
    assert_eq!(asked.status, 204);
    assert_eq!(asked.header("tus-version"), "1.0.0");
    assert_eq!(asked.header("tus-max-size"), "100000000");
    assert_eq!(asked.header("tus-checksum-algorithm"), "sha1,sha256");
    let extensions = "creation,creation-with-upload,termination,checksum,expiration";
    assert_eq!(asked.header("tus-extension"), extensions);

    let path = create(client, &task, "photo", 10).await;
    let begun = head(client, &path).await;
    assert_eq!(begun.status, 200);
    assert_eq!(begun.header("upload-offset"), "0");
    assert_eq!(begun.header("upload-length"), "10");
    assert_eq!(begun.header("upload-metadata"), metadata(&task, "photo"));
    assert_eq!(begun.header("cache-control"), "no-store");
    assert_eq!(begun.header("tus-resumable"), "1.0.0");
    // Three days after noon on the fifteenth.
    let expires = "Tue, 18 Nov 2025 12:00:00 GMT";
    assert_eq!(begun.header("upload-expires"), expires);

    app.advance(std::time::Duration::from_secs(60));
    let sent = patch(client, &path, 0, b"0123").await;
    assert_eq!(sent.status, 204, "{}", sent.text);
    assert_eq!(sent.header("upload-offset"), "4");
    let expires = "Tue, 18 Nov 2025 12:01:00 GMT";
    assert_eq!(
        sent.header("upload-expires"),
        expires,
        "after the last byte"
    );
    for wrong in [0, 3, 5, 10] {
        let refused = patch(client, &path, wrong, b"45").await;
        assert_eq!(refused.header("upload-offset"), "4");
        refused.expect_error(409, "OFFSET_MISMATCH");
    }
    let more = patch(client, &path, 4, b"4567890").await;
    more.expect_error(413, "FILE_TOO_LARGE");
    assert_eq!(offset(client, &path).await, 4);

    // Another worker does not find it.
    for reply in [
        head(&other, &path).await,
        patch(&other, &path, 4, b"4").await,
        other.send("DELETE", &path, &[TUS], "").await,
        head(client, &format!("{UPLOADS}/nothing")).await,
        head(client, &format!("{UPLOADS}/{}", "0".repeat(32))).await,
    ] {
        assert_eq!(reply.status, 404, "{}", reply.text);
        assert_eq!(reply.header("tus-resumable"), "1.0.0");
    }
    let nobody = Client::new(app.address, None);
    assert_eq!(head(&nobody, &path).await.status, 401);

    let gone = client.send("DELETE", &path, &[TUS], "").await;
    assert_eq!(gone.status, 204);
    assert_eq!(head(client, &path).await.status, 410);
    let late = patch(client, &path, 4, b"4").await;
    late.expect_error(410, "UPLOAD_GONE");
    app.jobs.drain().await.unwrap();
    assert_eq!(parts_on_disk(&app), 0);
}

/// Files in which parts of uploads are kept.
pub fn parts_on_disk(app: &TestApp) -> usize {
    let folder = app.database.folder.path().join("files/uploads");
    let Ok(subfolders) = std::fs::read_dir(folder) else {
        return 0;
    };
    let files = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_dir(entry.unwrap().path()).unwrap().count()
    };
    subfolders.map(files).sum()
}

async fn headers_are_checked(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let path = create(client, &task, "photo", 10).await;
    let named = metadata(&task, "photo");
    let create = |headers: Vec<(&'static str, String)>| async move {
        let headers: Vec<_> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        client.send("POST", UPLOADS, &headers, "").await
    };
    let tus = || ("tus-resumable", "1.0.0".to_owned());
    let length = |text: &str| ("upload-length", text.to_owned());
    let says = |text: &str| ("upload-metadata", text.to_owned());

    for version in [None, Some("0.2.2"), Some("1.0"), Some("2.0.0")] {
        let version = version.map(|version| ("tus-resumable", version));
        for (method, path) in [("POST", UPLOADS), ("PATCH", &path), ("DELETE", &path)] {
            let refused = client.send(method, path, version.as_slice(), "").await;
            assert_eq!(refused.header("tus-version"), "1.0.0");
            refused.expect_error(412, "TUS_VERSION_UNSUPPORTED");
        }
        let refused = client.send("HEAD", &path, version.as_slice(), "").await;
        assert_eq!(refused.status, 412);
    }
    let nothing = create(vec![tus()]).await.faulty_fields();
    assert_eq!(nothing, ["Upload-Length", "task_id", "proof_type"]);
    let wrong = [("-1", named.as_str()), ("ten", &named), ("1.5", &named)];
    for (given, named) in wrong {
        let reply = create(vec![tus(), length(given), says(named)]).await;
        assert_eq!(reply.faulty_fields(), ["Upload-Length"], "{given}");
    }
    let video = metadata(&task, "video");
    let reply = create(vec![tus(), length("1"), says(&video)]).await;
    assert_eq!(reply.faulty_fields(), ["proof_type"], "not of this task");
    let cat = metadata(&task, "cat");
    let reply = create(vec![tus(), length("1"), says(&cat)]).await;
    assert_eq!(reply.faulty_fields(), ["proof_type"]);
    let long = format!("{named},filename {}", "A".repeat(2_048));
    let reply = create(vec![tus(), length("1"), says(&long)]).await;
    assert_eq!(reply.faulty_fields(), ["Upload-Metadata"]);
    for large in ["10000001", "99999999999999999999999999"] {
        let reply = create(vec![tus(), length(large), says(&named)]).await;
        reply.expect_error(413, "FILE_TOO_LARGE");
    }
    let other = metadata(&json!({"id": "0".repeat(32)}), "photo");
    let reply = create(vec![tus(), length("1"), says(&other)]).await;
    reply.expect_error(404, "TASK_NOT_FOUND");

    let at = ("upload-offset", "0");
    let json = ("content-type", "application/json");
    for headers in [vec![TUS, at], vec![TUS, at, json]] {
        let reply = client.send("PATCH", &path, &headers, "x").await;
        reply.expect_error(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    let reply = client.send("PATCH", &path, &[TUS, OCTETS], "x").await;
    assert_eq!(reply.faulty_fields(), ["Upload-Offset"]);
    for wrong in [
        "sha1",
        "md5 1B2M2Y8AsgTpgAmy7PhCfg==",
        "sha256 abc",
        "sha1 AAAA",
    ] {
        let reply = patch_with(client, &path, 0, &[("upload-checksum", wrong)], b"x").await;
        assert_eq!(reply.faulty_fields(), ["Upload-Checksum"], "{wrong}");
    }
    assert_eq!(offset(client, &path).await, 0);
}

async fn bytes_are_what_their_checksum_says(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let path = create(client, &task, "photo", 20).await;
    let sha256 = format!("sha256 {}", STANDARD.encode(Sha256::digest(b"0123456789")));
    let sha256 = [("upload-checksum", sha256.as_str())];
    let wrong = patch_with(client, &path, 0, &sha256, b"0123456780").await;
    wrong.expect_error(460, "CHECKSUM_MISMATCH");
    assert_eq!(offset(client, &path).await, 0, "dropped");
    let right = patch_with(client, &path, 0, &sha256, b"0123456789").await;
    assert_eq!(right.status, 204, "{}", right.text);
    // What `printf 0123456789 | openssl sha1 -binary | base64` prints.
    let sha1 = [("upload-checksum", "sha1 h6zsF82dzSCnFsws9nQXtxyKcBY=")];
    let right = patch_with(client, &path, 10, &sha1, b"0123456789").await;
    assert_eq!(right.header("upload-offset"), "20");

    // A chunk that is cut off cannot be checked.
    let path = create(client, &task, "photo", 20).await;
    let mut cut = Begun::patch_with(client, &path, 0, 10, sha256[0]).await;
    cut.send(b"01234").await;
    drop(cut);
    // The one that was cut off may come last, and then this one is asked to begin again.
    let right = until("the whole is stored", async || {
        let right = patch_with(client, &path, 0, &sha256, b"0123456789").await;
        (right.status == 204).then_some(right)
    });
    assert_eq!(right.await.header("upload-offset"), "10");
}

async fn the_first_bytes_may_come_with_the_creation(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let key = ("idempotency-key", "photo-1");
    let first = create_with(client, &task, ("photo", 10), &[OCTETS, key], b"0123").await;
    assert_eq!(first.status, 201, "{}", first.text);
    assert_eq!(first.header("upload-offset"), "4");
    let path = first.header("location").to_owned();
    assert_eq!(patch(client, &path, 4, b"4").await.status, 204);
    // The same name finds the same upload, and its body is not taken again.
    let again = create_with(client, &task, ("photo", 10), &[OCTETS, key], b"0123").await;
    assert_eq!(again.header("location"), path);
    assert_eq!(again.header("upload-offset"), "5");
    let differs = create_with(client, &task, ("photo", 11), &[key], b"").await;
    differs.expect_error(422, "IDEMPOTENCY_MISMATCH");
    // Once it is gone, the name is free.
    client.send("DELETE", &path, &[TUS], "").await;
    let new = create_with(client, &task, ("photo", 11), &[key], b"").await;
    assert_ne!(id(new.header("location")), id(&path));
    let more = create_with(client, &task, ("photo", 3), &[OCTETS], b"0123").await;
    more.expect_error(413, "FILE_TOO_LARGE");
}

async fn the_one_who_came_last_goes_on(app: TestApp) {
    let (_, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    // What the server has read is stored when the next one comes. If it has read nothing yet, a new upload
    // is tried.
    let preempted = until("the first bytes are stored", async || {
        let path = create(client, &task, "photo", 10).await;
        let mut slow = Begun::patch(client, &path, 0, 10).await;
        slow.send(b"012").await;
        let second = patch(client, &path, 0, b"").await;
        let is_stored = second.status == 409 && second.header("upload-offset") == "3";
        if !is_stored {
            client.send("DELETE", &path, &[TUS], "").await;
        }
        is_stored.then_some((path, slow))
    });
    let (path, mut slow) = preempted.await;
    let mut heard = String::new();
    slow.0.read_to_string(&mut heard).await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 409 "), "{heard}");
    assert!(heard.contains("OFFSET_MISMATCH"), "{heard}");
    let rest = patch(client, &path, 3, b"3456789").await;
    assert_eq!(rest.header("upload-offset"), "10");
}
