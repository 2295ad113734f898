use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// Chunks that were prepared, or one that comes again and again. Counts what was asked for.
struct Chunks {
    ready: VecDeque<Bytes>,
    endless: Option<Bytes>,
    taken: usize,
}

impl Chunks {
    fn of(body: &[u8], size: usize) -> Self {
        let ready = body.chunks(size.max(1)).map(Bytes::copy_from_slice);
        Self {
            ready: ready.collect(),
            endless: None,
            taken: 0,
        }
    }

    fn endless(begin: &[u8], again: &[u8]) -> Self {
        Self {
            endless: Some(Bytes::copy_from_slice(again)),
            ..Self::of(begin, usize::MAX)
        }
    }
}

impl Source for Chunks {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let next = self.ready.pop_front().or_else(|| self.endless.clone());
        self.taken += next.as_ref().map_or(0, Bytes::len);
        Ok(next)
    }
}

type Parts = Vec<(String, Vec<u8>)>;

/// Everything, and how many bytes were held at most.
fn read_all(source: &mut Chunks, limit: u64) -> (Result<Parts, Fault>, usize) {
    let mut held = 0;
    let reading = async {
        let mut reader = Reader::new(source, "b", limit);
        let mut parts = Vec::new();
        while let Some(name) = reader.next_part().await? {
            let mut content = Vec::new();
            while let Some(chunk) = reader.chunk().await? {
                held = held.max(reader.buffer.len() + chunk.len());
                content.extend_from_slice(&chunk);
            }
            parts.push((name, content));
        }
        Ok(parts)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let read = runtime.block_on(reading);
    (read, held)
}

fn read(body: &[u8], size: usize) -> Result<Parts, Fault> {
    read_all(&mut Chunks::of(body, size), u64::MAX).0
}

fn written(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b--\r\n");
    body
}

const HEAD: &[u8] = b"--b\r\nContent-Disposition: form-data; name=\"photo\"\r\n\r\n";

#[test]
fn heads_are_read_as_clients_write_them() {
    for (head, name) in [
        ("Content-Disposition: form-data; name=\"photo\"", "photo"),
        ("content-disposition:form-data;name=photo", "photo"),
        (
            "Content-Type: image/jpeg\r\nContent-Disposition: form-data; filename=\"a;name=b\"; name=\"x\"",
            "x",
        ),
        (
            "Content-Disposition: form-data; name=\"a\\\"b\"; filename=\"C:\\x\"",
            "a\"b",
        ),
        (
            "Content-Disposition: form-data; filename*=UTF-8''x; name=\"é\"",
            "é",
        ),
        ("Content-Disposition: form-data", ""),
        ("Content-Disposition: form-data; name=\"open", ""),
        ("X: y", ""),
    ] {
        let body = format!("--b \t\r\n{head}\r\n\r\nx\r\n--b--");
        for size in [1, 2, 7, 1_000] {
            let parts = read(body.as_bytes(), size);
            assert_eq!(parts, Ok(vec![(name.to_owned(), b"x".to_vec())]), "{head}");
        }
    }
    let bare = read(b"preamble\r\n--b\r\n\r\nx\r\n--b--epilogue", 3);
    assert_eq!(bare, Ok(vec![(String::new(), b"x".to_vec())]));
    assert_eq!(read(b"--b--", 1), Ok(vec![]));
}

#[test]
fn boundaries_are_read_from_the_content_type() {
    let of = |text| boundary(text).unwrap_or_default();
    assert_eq!(of("multipart/form-data; boundary=abc"), "abc");
    assert_eq!(
        of("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\""),
        "a b"
    );
    let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
    for none in [
        "",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/mixed; boundary=abc",
        "application/json; boundary=abc",
        "multipart/form-data; boundary=\"a\r\nb\"",
        "multipart/form-data; boundary=\"abc",
        &long,
    ] {
        assert_eq!(boundary(none), None, "{none}");
    }
}

#[test]
fn what_is_not_a_form_is_refused() {
    let malformed = |body: &[u8]| matches!(read(body, 5), Err(Fault::Malformed(_)));
    assert!(malformed(b"--bad\r\n\r\nx\r\n--b--"));
    assert!(malformed(b"--b\r\nno colon\r\n\r\nx\r\n--b--"));
    assert!(malformed(b"--b\r\nX: \xff\r\n\r\nx\r\n--b--"));
    for cut in [
        &b""[..],
        b"--",
        b"--b",
        b"--b\r\n",
        b"--b\r\nX: y\r\n\r\nx",
        b"--b\r\n\r\n\r\n--b",
    ] {
        assert_eq!(read(cut, 2), Err(Fault::CutOff), "{cut:?}");
    }
}

/// What never ends is refused after the bound, with no more than one chunk too many.
#[test]
fn what_never_ends_is_refused_as_it_comes() {
    let chunk = |text: &[u8]| text.repeat(1_024 / text.len());
    let part = [b"\r\n".as_slice(), HEAD, b"x"].concat();
    let outside = MAX_OUTSIDE_BYTES + 2_048;
    for (what, begin, again, at_most) in [
        (
            "header",
            &b"--b\r\nX: "[..],
            chunk(b"a"),
            MAX_HEAD_BYTES + 2_048,
        ),
        (
            "headers",
            b"--b\r\n",
            chunk(b"X: y\r\n"),
            MAX_HEAD_BYTES + 2_048,
        ),
        ("padding", b"--b", chunk(b" "), MAX_HEAD_BYTES + 2_048),
        ("preamble", b"", chunk(b"a"), outside),
        ("almost a boundary", b"", chunk(b"\r\n--a"), outside),
        ("line breaks", b"", chunk(b"\r"), outside),
        ("parts", b"", part.clone(), (MAX_PARTS + 2) * part.len()),
        ("epilogue", b"--b--", chunk(b"\r\n--b--"), outside),
    ] {
        let mut source = Chunks::endless(begin, &again);
        let (read, held) = read_all(&mut source, u64::MAX);
        assert!(matches!(read, Err(Fault::Malformed(_))), "{what}: {read:?}");
        assert!(source.taken <= at_most, "{what}: {}", source.taken);
        assert!(held <= MAX_HEAD_BYTES, "{what}: {held}");
    }
}

#[test]
fn a_body_ends_at_its_limit_and_is_never_held() {
    for again in [&b"x"[..], b"\r\n--", b"\r\n--c", b"\r"] {
        let mut source = Chunks::endless(HEAD, &again.repeat(1_024));
        let (read, held) = read_all(&mut source, 1_000_000);
        assert_eq!(read, Err(Fault::TooLarge));
        assert!(source.taken <= 1_000_000 + 5_120, "{}", source.taken);
        assert!(held <= 3 * 5_120, "{held}");
    }
}

fn parts() -> impl Strategy<Value = Parts> {
    let content = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        // Almost boundaries.
        "(\r|\n|-|b|--|\r\n|\r\n-){0,40}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(("[a-z_]{0,12}", content), 0..8)
}

proptest! {
    #![proptest_config(crate::api::request::testing::cases(256))]

    #[test]
    fn a_form_is_read_as_it_was_written(parts in parts(), size in 1_usize..400) {
        let delimiter = b"\r\n--b";
        let clean = |content: &Vec<u8>| !content.windows(5).any(|five| five == delimiter);
        prop_assume!(parts.iter().all(|(_, content)| clean(content)));
        prop_assert_eq!(read(&written(&parts), size), Ok(parts));
    }

    /// Whatever comes, in whatever pieces, gives the same answer, and none of it panics.
    #[test]
    fn any_bytes_are_read_or_refused(
        body in proptest::collection::vec(
            prop_oneof![
                any::<u8>().prop_map(|byte| vec![byte]),
                Just(b"\r\n--b".to_vec()), Just(b"--".to_vec()), Just(b"\r\n".to_vec()),
                Just(b"\r\n\r\n".to_vec()), Just(HEAD.to_vec()), Just(b"\"\\;=:".to_vec()),
            ], 0..60),
        size in 1_usize..50,
    ) {
        let body = body.concat();
        prop_assert_eq!(read(&body, size), read(&body, usize::MAX));
    }

    #[test]
    fn any_header_has_a_parameter_or_none(header in ".{0,80}") {
        let _ = parameter(&header, "name");
        if let Some(found) = boundary(&header) {
            prop_assert!((1..=70).contains(&found.len()));
        }
    }
}
