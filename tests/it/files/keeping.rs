//! What is kept, and how it is found again.

use std::time::Duration;

use bytes::Bytes;
use legwork::domain::accounts::api_key::hash;
use legwork::files::{FileKey, FilesError, Prefix, SignatureError, StoredFile};

use super::place::{NOW, PUBLIC_URL, Place, bytes, in_both_places, key_of, new_key, tell};

in_both_places!(
    what_is_kept_is_read_back_whole_and_in_ranges,
    large_files_come_back_whole,
    a_received_file_can_be_looked_at_before_it_is_kept,
    a_small_file_is_put_from_memory,
    a_file_kept_again_is_replaced,
    a_file_is_deleted_once,
    a_signed_url_opens_its_file_for_an_hour,
    an_altered_url_opens_nothing,
    too_large_a_file_is_stopped_while_it_comes,
    what_is_dropped_leaves_nothing,
    only_old_files_are_listed_page_by_page,
    abandoned_files_are_removed,
);

async fn what_is_kept_is_read_back_whole_and_in_ranges(place: Place) {
    for size in [0, 1, 70_001, 262_144, 262_145, 524_288, 600_000] {
        let (key, given) = (new_key(), bytes(size));
        let stored = place.keep(key, &given).await;
        assert_eq!(stored.size, size as u64);
        assert_eq!(place.files.size(key).await.unwrap(), Some(size as u64));
        assert_eq!(place.read_all(key).await, given, "{size}");
    }

    let (key, given) = (new_key(), bytes(600_000));
    place.keep(key, &given).await;
    for range in [0..1, 599_999..600_000, 262_143..262_145, 100..500_100] {
        let wanted = &given[range.start as usize..range.end as usize];
        assert_eq!(place.read(key, range.clone()).await.unwrap(), wanted);
    }
    for at in [0, 300_000, 600_000] {
        assert_eq!(place.read(key, at..at).await.unwrap(), b"");
    }
    for (start, end) in [
        (0, 600_001),
        (600_000, 600_001),
        (700_000, 700_000),
        (9, 3),
        (0, u64::MAX),
    ] {
        let beyond = place.read(key, start..end).await;
        let unavailable = matches!(beyond, Err(FilesError::Unavailable(_)));
        assert!(unavailable, "{start}..{end}");
    }
    let absent = new_key();
    assert_eq!(place.read(absent, 0..1).await, Err(FilesError::NotFound));
    assert_eq!(place.read(absent, 0..0).await, Err(FilesError::NotFound));
    assert_eq!(place.files.size(absent).await, Ok(None));
    place.nothing_is_incoming().await;
}

/// S3 takes them in several parts.
async fn large_files_come_back_whole(place: Place) {
    const PART: usize = 8 << 20;
    for size in [PART, PART + 1, 2 * PART + 70_001] {
        let (key, given) = (new_key(), bytes(size));
        place.keep(key, &given).await;
        assert!(place.read_all(key).await == given, "{size}");
    }
    place.nothing_is_incoming().await;
}

async fn a_received_file_can_be_looked_at_before_it_is_kept(place: Place) {
    let received = place.receive(b"what a worker sent").await;
    let sha256 = hash("what a worker sent");
    assert_eq!(received.size(), 18);
    assert_eq!(received.sha256(), sha256);
    let seen = std::fs::read(received.path()).unwrap();
    assert_eq!(seen, b"what a worker sent");

    let key = new_key();
    let stored = place.files.keep(received, key, "text/plain").await.unwrap();
    let expected = StoredFile {
        key,
        size: 18,
        sha256,
        content_type: "text/plain".to_owned(),
    };
    assert_eq!(stored, expected);
    place.nothing_is_incoming().await;
}

async fn a_small_file_is_put_from_memory(place: Place) {
    let key = new_key();
    let bytes = Bytes::from_static(b"made by us");
    let stored = place
        .files
        .put(key, bytes, "text/plain", NOW)
        .await
        .unwrap();
    assert_eq!((stored.key, stored.size), (key, 10));
    assert_eq!(stored.sha256, hash("made by us"));
    assert_eq!(place.read_all(key).await, b"made by us");
    place.nothing_is_incoming().await;
}

async fn a_file_kept_again_is_replaced(place: Place) {
    let key = new_key();
    place.keep(key, &bytes(300_000)).await;
    place.keep(key, b"the second").await;
    assert_eq!(place.read_all(key).await, b"the second");
    place.keep(key, b"the second").await;
    assert_eq!(place.read_all(key).await, b"the second");
    place.nothing_is_incoming().await;
}

async fn a_file_is_deleted_once(place: Place) {
    let (key, other) = (new_key(), new_key());
    place.keep(key, b"one").await;
    place.keep(other, b"other").await;
    for _ in 0..2 {
        place.files.delete(key).await.unwrap();
        assert_eq!(place.files.size(key).await, Ok(None));
    }
    place.files.delete(new_key()).await.unwrap();
    assert_eq!(place.read_all(other).await, b"other");
}

async fn a_signed_url_opens_its_file_for_an_hour(place: Place) {
    let (key, other) = (new_key(), new_key());
    place.keep(key, b"a picture").await;
    place.keep(other, b"of somebody else").await;
    let url = place.files.signed_url(key, "image/png", NOW).await.unwrap();

    let opened = Some(("image/png".to_owned(), "a picture".to_owned()));
    assert_eq!(place.open_url(&url, 0).await, opened);
    assert_eq!(place.open_url(&url, 3_590).await, opened);
    assert_eq!(place.open_url(&url, 3_601).await, None);

    let for_another = url.replace(&key.to_string(), &other.to_string());
    assert_ne!(for_another, url);
    assert_eq!(place.open_url(&for_another, 0).await, None);
}

async fn an_altered_url_opens_nothing(place: Place) {
    let key = new_key();
    place.keep(key, b"a picture").await;
    let url = place.files.signed_url(key, "image/png", NOW).await.unwrap();
    assert!(place.open_url(&url, 0).await.is_some());
    let path = url.find("//").unwrap() + 2;
    let path = path + url[path..].find('/').unwrap() + "/files/".len();
    for at in path..url.len() {
        let (before, rest) = url.split_at(at);
        let other = if rest.starts_with('7') { '3' } else { '7' };
        let altered = format!("{before}{other}{}", &rest[1..]);
        assert_eq!(place.open_url(&altered, 0).await, None, "{altered}");
    }
}

async fn too_large_a_file_is_stopped_while_it_comes(place: Place) {
    let limit = 1_000_000;
    let mut incoming = place.files.receive(limit, NOW).await.unwrap();
    incoming.write(&bytes(999_999)).await.unwrap();
    let too_large = Err(FilesError::TooLarge { limit });
    assert_eq!(incoming.write(b"ab").await, too_large);
    assert_eq!(incoming.write(&bytes(2_000_000)).await, too_large);
    drop(incoming);
    place.nothing_is_incoming().await;

    let mut incoming = place.files.receive(limit, NOW).await.unwrap();
    incoming.write(&bytes(999_999)).await.unwrap();
    incoming.write(b"a").await.unwrap();
    let received = incoming.finish().await.unwrap();
    assert_eq!(received.size(), limit);

    let mut incoming = place.files.receive(0, NOW).await.unwrap();
    incoming.write(b"").await.unwrap();
    let too_large = Err(FilesError::TooLarge { limit: 0 });
    assert_eq!(incoming.write(b"a").await, too_large);
}

async fn what_is_dropped_leaves_nothing(place: Place) {
    drop(place.files.receive(10, NOW).await.unwrap());
    for size in [1, 600_000, 3_000_000] {
        let mut incoming = place.files.receive(3_000_000, NOW).await.unwrap();
        incoming.write(&bytes(size)).await.unwrap();
        drop(incoming);
        drop(place.receive(&bytes(size)).await);
    }
    place.nothing_is_incoming().await;

    // A sender that goes away ends the request wherever it is. A fast disk may have written all of it
    // by the time we look: then we try again.
    let given = bytes(3_000_000);
    let mut interrupted = 0;
    for _ in 0..50 {
        let mut incoming = place.files.receive(3_000_000, NOW).await.unwrap();
        let mut writing = Box::pin(incoming.write(&given));
        interrupted += i32::from(futures_util::poll!(&mut writing).is_pending());
        drop(writing);
        drop(incoming);
        place.nothing_is_incoming().await;
    }
    assert!(interrupted > 0, "no write was interrupted");
}

async fn only_old_files_are_listed_page_by_page(place: Place) {
    let days = |days: u64| NOW.minus(Duration::from_secs(days * 86_400));
    let list = async |moment, after, limit| {
        let listed = place
            .files
            .kept_before(Prefix::Proofs, moment, after, limit);
        listed.await.unwrap()
    };
    assert_eq!(list(NOW, None, 10).await, []);

    let mut keys: Vec<FileKey> = [400, 30, 3, 3, 2, 1].map(|age| key_of(days(age))).to_vec();
    keys.sort();
    for key in keys.iter().rev() {
        place.keep(*key, b"kept").await;
    }
    let new = new_key();
    place.keep(new, b"new").await;
    let next = NOW.plus(Duration::from_millis(1));

    assert_eq!(list(NOW, None, 10).await, keys, "all but the new one");
    assert_eq!(list(next, None, 10).await.last(), Some(&new));
    assert_eq!(list(days(2), None, 10).await, keys[..4]);
    assert_eq!(list(NOW, None, 2).await, keys[..2]);
    assert_eq!(list(NOW, Some(keys[1]), 2).await, keys[2..4]);
    assert_eq!(list(NOW, Some(keys[3]), 10).await, keys[4..]);
    assert_eq!(list(NOW, Some(keys[5]), 10).await, []);
    let week = FileKey::first_of(Prefix::Proofs, days(7));
    assert_eq!(list(NOW, Some(week), 10).await, keys[2..]);
    assert_eq!(list(NOW, None, 0).await, []);

    place.files.delete(keys[0]).await.unwrap();
    assert_eq!(list(days(2), None, 10).await, keys[1..4]);
}

async fn abandoned_files_are_removed(place: Place) {
    let an_hour_ago = NOW.minus(Duration::from_secs(3_600));
    let old = place.files.receive(10, an_hour_ago).await.unwrap();
    let new = place.receive(b"new").await;
    let foreign = place.incoming().join("README");
    std::fs::write(&foreign, "not ours").unwrap();

    assert_eq!(place.files.remove_abandoned(an_hour_ago).await, Ok(0));
    assert_eq!(place.files.remove_abandoned(NOW).await, Ok(1));
    assert_eq!(place.files.remove_abandoned(NOW).await, Ok(0));
    assert!(foreign.exists());
    std::fs::remove_file(foreign).unwrap();

    drop(old);
    let key = new_key();
    place.files.keep(new, key, "text/plain").await.unwrap();
    assert_eq!(place.read_all(key).await, b"new");
    place.nothing_is_incoming().await;
}

#[test]
fn hostile_keys_open_nothing() {
    tell(async {
        let place = Place::folder();
        let key = new_key();
        place.keep(key, b"a picture").await;
        let url = place.files.signed_url(key, "image/png", NOW).await.unwrap();
        assert!(url.starts_with(&format!("{PUBLIC_URL}/files/{key}?expires=")));
        let (_, query) = url.split_once('?').unwrap();
        for hostile in [
            String::new(),
            "/etc/passwd".to_owned(),
            "../legwork.db".to_owned(),
            "proofs/../../legwork.db".to_owned(),
            format!("./{key}"),
            format!("{key}/"),
            format!("{key}\0"),
            key.to_string().to_uppercase(),
            key.to_string().replace('/', "%2f"),
        ] {
            let checked = place.files.check(&hostile, query, NOW);
            assert_eq!(checked, Err(SignatureError::Altered), "{hostile:?}");
        }
        for faulty in ["", "expires=9", "signature=", "&signature=", "\0"] {
            let checked = place.files.check(&key.to_string(), faulty, NOW);
            assert_eq!(checked, Err(SignatureError::Altered), "{faulty:?}");
        }
    });
}

#[test]
fn a_file_in_s3_is_shown_and_not_downloaded() {
    tell(async {
        let place = Place::s3();
        let address = super::peer::address();
        for size in [9, 9 << 20] {
            let key = new_key();
            place.keep(key, &bytes(size)).await;
            let url = place.files.signed_url(key, "image/png", NOW).await.unwrap();
            let path = url.strip_prefix(&format!("http://{address}")).unwrap();
            let reply = crate::support::Client::new(address, None).get(path).await;
            assert_eq!(reply.status, 200);
            assert_eq!(reply.header("content-type"), "image/png");
            assert_eq!(reply.header("content-disposition"), "inline");
        }
    });
}
