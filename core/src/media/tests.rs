use std::io::Cursor;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

pub use crate::domain::testing::cases;

const KINDS: [ProofType; 3] = [ProofType::Photo, ProofType::Video, ProofType::Signature];

pub fn look(bytes: &[u8], expected: ProofType) -> Result<Inspected, Rejection> {
    match inspect_from(Cursor::new(bytes), bytes.len() as u64, expected) {
        Ok(inspected) => Ok(inspected),
        Err(InspectError::Rejected(why)) => Err(why),
        Err(InspectError::Unreadable(e)) => panic!("{e}"),
    }
}

pub fn why(bytes: &[u8], expected: ProofType) -> String {
    look(bytes, expected).unwrap_err().to_string()
}

pub fn stripped(bytes: &[u8], content_type: &str) -> io::Result<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof");
    std::fs::write(&path, bytes).unwrap();
    let mut target = Vec::new();
    strip(&path, &mut target, content_type)?;
    Ok(target)
}

pub fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn samples_are_what_they_say() {
    for kind in KINDS {
        for seed in [b"".as_slice(), b"a", b"\0\xff", &[7; 1_000]] {
            let (bytes, content_type) = sample(kind, seed);
            let inspected = look(&bytes, kind).unwrap();
            assert_eq!(inspected.content_type, content_type);
            assert_eq!(inspected.exif, Exif::default());
            assert!(inspected.width.is_some() && inspected.height.is_some());
            assert!(bytes.len() < 8_000, "{kind:?}: {}", bytes.len());
            assert_eq!(sample(kind, seed), (bytes, content_type));
        }
    }
}

#[test]
fn samples_of_different_seeds_differ_and_do_not_look_alike() {
    for kind in KINDS {
        assert_ne!(sample(kind, b"a"), sample(kind, b"b"));
    }
    let hash = |seed: u8| {
        let (photo, _) = sample(ProofType::Photo, &[seed]);
        look(&photo, ProofType::Photo)
            .unwrap()
            .perceptual_hash
            .unwrap()
    };
    let hashes: Vec<u64> = (0..25).map(hash).collect();
    for (i, a) in hashes.iter().enumerate() {
        for b in &hashes[..i] {
            assert!(hash_distance(*a, *b) >= 10);
        }
    }
}

#[test]
fn distance_counts_bits() {
    assert_eq!(hash_distance(0, 0), 0);
    assert_eq!(hash_distance(0b1011, 0b0001), 2);
    assert_eq!(hash_distance(0, u64::MAX), 64);
}

#[test]
fn other_files_are_refused_with_what_is_wanted() {
    let gif = b"GIF89a\x01\0\x01\0\0\0\0;".as_slice();
    let webp = b"RIFF\x10\0\0\0WEBPVP8 \0\0\0\0".as_slice();
    let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".as_slice();
    for (bytes, photo) in [
        (gif, "must be a JPEG or PNG image, not GIF"),
        (webp, "must be a JPEG or PNG image, not WebP"),
        (heic, "must be a JPEG or PNG image, not HEIC"),
        (b"PK\x03\x04zip", "must be a JPEG or PNG image, not ZIP"),
        (b"%PDF-1.7", "must be a JPEG or PNG image, not PDF"),
        (b"BM\x46\0\0\0", "must be a JPEG or PNG image"),
        (b"<svg xmlns='x'/>", "must be a JPEG or PNG image"),
        (b"<!doctype html>", "must be a JPEG or PNG image"),
        (b"just some text", "must be a JPEG or PNG image"),
        (b"\xff\xd8", "must be a JPEG or PNG image"),
        (b"\x89PNG", "must be a JPEG or PNG image"),
        (b"x", "must be a JPEG or PNG image"),
        (b"", "is empty"),
    ] {
        assert_eq!(why(bytes, ProofType::Photo), photo);
        let as_signature = why(bytes, ProofType::Signature);
        assert!(as_signature == "is empty" || as_signature.starts_with("must be a PNG image"));
        let as_video = why(bytes, ProofType::Video);
        assert!(as_video == "is empty" || as_video.starts_with("must be an MP4 video"));
    }
}

#[test]
fn each_kind_takes_its_own_types() {
    let file = |kind| sample(kind, b"x").0;
    let (jpeg, mp4, png) = (
        file(ProofType::Photo),
        file(ProofType::Video),
        file(ProofType::Signature),
    );
    assert!(look(&png, ProofType::Photo).is_ok());
    let refusals = [
        (&jpeg, ProofType::Signature, "must be a PNG image, not JPEG"),
        (
            &mp4,
            ProofType::Signature,
            "must be a PNG image, not a video",
        ),
        (&jpeg, ProofType::Video, "must be an MP4 video, not JPEG"),
        (&png, ProofType::Video, "must be an MP4 video, not PNG"),
        (
            &mp4,
            ProofType::Photo,
            "must be a JPEG or PNG image, not a video",
        ),
    ];
    for (bytes, kind, sentence) in refusals {
        assert_eq!(why(bytes, kind), sentence);
    }
}

#[test]
fn only_photos_have_a_hash() {
    let (png, _) = sample(ProofType::Signature, b"x");
    let hash = |kind| look(&png, kind).unwrap().perceptual_hash;
    assert!(hash(ProofType::Photo).is_some());
    assert_eq!(hash(ProofType::Signature), None);
}

#[test]
fn a_file_of_too_many_bytes_is_not_read() {
    struct Untouchable;
    impl Read for Untouchable {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("read")
        }
    }
    impl Seek for Untouchable {
        fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
            panic!("sought")
        }
    }
    for (kind, sentence) in [
        (
            ProofType::Photo,
            "has 10,000,001 bytes; the limit is 10,000,000",
        ),
        (
            ProofType::Video,
            "has 100,000,001 bytes; the limit is 100,000,000",
        ),
        (
            ProofType::Signature,
            "has 1,000,001 bytes; the limit is 1,000,000",
        ),
    ] {
        let refused = inspect_from(Untouchable, kind.max_bytes() + 1, kind).unwrap_err();
        assert_eq!(refused.to_string(), sentence);
    }
}

#[test]
fn a_file_on_disk_is_read_and_one_that_is_not_there_is_no_fault_of_the_sender() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("misleading.txt");
    std::fs::write(&path, sample(ProofType::Photo, b"x").0).unwrap();
    assert_eq!(inspect(&path, ProofType::Photo).unwrap().content_type, JPEG);
    for path in [folder.path().join("nothing"), folder.path().to_owned()] {
        let refused = inspect(&path, ProofType::Photo);
        assert!(matches!(refused, Err(InspectError::Unreadable(_))));
        assert!(strip(&path, &mut Vec::new(), JPEG).is_err());
    }
}

#[test]
fn what_strip_wrote_passes_and_has_nothing_more_to_strip() {
    for kind in KINDS {
        let (bytes, content_type) = sample(kind, b"x");
        let once = stripped(&bytes, content_type).unwrap();
        let before = look(&bytes, kind).unwrap();
        assert_eq!(look(&once, kind).unwrap(), before);
        assert_eq!(stripped(&once, content_type).unwrap(), once);
    }
}

#[test]
fn strip_refuses_what_is_not_of_the_type() {
    for content_type in [JPEG, PNG, MP4, "image/gif", ""] {
        for bytes in [b"".as_slice(), b"x", b"GIF89a and more of it, too"] {
            let refused = stripped(bytes, content_type).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidData, "{content_type}");
        }
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    for kind in KINDS {
        let (whole, _) = sample(kind, b"x");
        for end in 0..whole.len() {
            assert!(look(&whole[..end], kind).is_err(), "{kind:?} at {end}");
        }
    }
}

#[test]
fn a_changed_byte_anywhere_is_no_panic() {
    for kind in KINDS {
        let (whole, content_type) = sample(kind, b"x");
        let mut target = Vec::new();
        for place in 0..whole.len() {
            for value in [0xff, whole[place] ^ 0x81] {
                let mut changed = whole.clone();
                changed[place] = value;
                let _ = look(&changed, kind);
                target.clear();
                let _ = match content_type {
                    JPEG => jpeg::strip(&changed, &mut target),
                    PNG => png::strip(&changed, &mut target),
                    _ => {
                        let length = changed.len() as u64;
                        mp4::strip(&mut Cursor::new(&changed), length, &mut target)
                    }
                };
            }
        }
    }
}

#[test]
fn sizes_are_judged_before_anything_else() {
    assert!(check_size(10_000, 5_000).is_ok());
    assert!(check_size(10_000, 5_001).is_err());
    assert!(check_size(65_535, 700).is_ok());
    assert!(check_size(65_536, 700).is_err());
    assert!(check_size(0, 700).is_err());
    assert!(check_size(u32::MAX, u32::MAX).is_err());
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(400_000_000), "400,000,000");
    assert_eq!(grouped(1_234), "1,234");
}

static SAMPLES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| KINDS.map(|kind| sample(kind, b"x").0));

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn anything_behind_a_magic_is_no_panic(
        start in 0..4_usize,
        rest in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let starts: [&[u8]; 4] = [
            b"\xff\xd8\xff",
            &png::SIGNATURE,
            b"\0\0\0\x10ftypisom\0\0\0\0",
            b"",
        ];
        let bytes = [starts[start], &rest].concat();
        for kind in KINDS {
            prop_assert!(look(&bytes, kind).is_err());
        }
    }

    #[test]
    fn many_changes_at_once_are_no_panic(
        kind in 0..3_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = SAMPLES[kind].clone();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let _ = look(&bytes, KINDS[kind]);
        bytes.truncate(cut.index(bytes.len()));
        let _ = look(&bytes, KINDS[kind]);
    }
}
