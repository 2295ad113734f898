use proptest::prelude::*;

use super::super::exif::tests::full;
use super::super::sample::stored;
use super::super::tests::{cases, contains, look, stripped, why};
use super::super::{hash_distance, sample};
use super::*;
use crate::domain::tasks::ProofType;

fn error(bytes: &[u8]) -> String {
    why(bytes, ProofType::Photo)
}

/// A picture from its size, depth, colour type and whether it is interlaced, and its rows.
fn picture(width: u32, height: u32, kind: [u8; 3], chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([kind[0], kind[1], 0, 0, kind[2]]);
    let mut file = [SIGNATURE.to_vec(), write_chunk(*b"IHDR", &header)].concat();
    file.extend(chunks.concat());
    file.extend(write_chunk(*b"IEND", &[]));
    file
}

fn shade(x: u32, y: u32) -> u8 {
    let (x, y) = (x as f32, y as f32);
    (128.0 + 60.0 * (x / 13.0).sin() + 60.0 * (y / 9.0 + x / 40.0).cos()) as u8
}

/// 100 x 90 pixels, each written by `pixel`.
fn rows(pixel: impl Fn(u8) -> Vec<u8>) -> Vec<u8> {
    let row = |y| {
        let pixels = (0..100).flat_map(|x| pixel(shade(x, y)));
        [0].into_iter().chain(pixels).collect::<Vec<u8>>()
    };
    (0..90).flat_map(row).collect()
}

fn grey_picture() -> Vec<u8> {
    let data = write_chunk(*b"IDAT", &stored(&rows(|shade| vec![shade])));
    picture(100, 90, [8, 0, 0], &[data])
}

fn hash(bytes: &[u8]) -> u64 {
    let inspected = look(bytes, ProofType::Photo).unwrap();
    assert_eq!((inspected.width, inspected.height), (Some(100), Some(90)));
    inspected.perceptual_hash.unwrap()
}

#[test]
fn every_kind_of_pixel_shows_the_same_picture() {
    let grey = hash(&grey_picture());
    let split = |data: Vec<u8>| -> Vec<Vec<u8>> {
        let parts = data.chunks(1_000);
        parts.map(|part| write_chunk(*b"IDAT", part)).collect()
    };
    let wide = stored(&rows(|shade| vec![shade, 0x80]));
    let colour = stored(&rows(|shade| vec![shade; 3]));
    let clear = stored(&rows(|shade| vec![0, 255 - shade]));
    let palette: Vec<u8> = (0..=255).flat_map(|shade| [shade; 3]).collect();
    let indexed = [
        vec![write_chunk(*b"PLTE", &palette)],
        split(stored(&rows(|shade| vec![shade]))),
    ];
    for bytes in [
        picture(100, 90, [16, 0, 0], &split(wide)),
        picture(100, 90, [8, 2, 0], &split(colour)),
        picture(100, 90, [8, 4, 0], &split(clear)),
        picture(100, 90, [8, 3, 0], &indexed.concat()),
        interlaced(100, 90),
    ] {
        assert!(hash_distance(grey, hash(&bytes)) <= 1);
    }
}

/// In which pass each pixel comes, as the standard draws it.
const PASSES: [&[u8; 8]; 8] = [
    b"16462646",
    b"77777777",
    b"56565656",
    b"77777777",
    b"36463646",
    b"77777777",
    b"56565656",
    b"77777777",
];

fn interlaced(width: u32, height: u32) -> Vec<u8> {
    let mut data = Vec::new();
    for pass in b'1'..=b'7' {
        for y in 0..height {
            let in_pass = |x: &u32| PASSES[y as usize % 8][*x as usize % 8] == pass;
            let row: Vec<u8> = (0..width).filter(in_pass).map(|x| shade(x, y)).collect();
            if !row.is_empty() {
                data.push(0);
                data.extend(row);
            }
        }
    }
    let data = write_chunk(*b"IDAT", &stored(&data));
    picture(width, height, [8, 0, 1], &[data])
}

#[test]
fn an_interlaced_picture_has_each_pixel_in_its_place() {
    let shades = |bytes: &[u8]| decode(bytes, 100, 90).unwrap().shades;
    assert_eq!(shades(&interlaced(100, 90)), shades(&grey_picture()));
}

#[test]
fn narrow_interlaced_pictures_skip_passes() {
    for (width, height) in [(1, 1), (1, 9), (9, 1), (3, 3), (5, 2)] {
        let bytes = interlaced(width, height);
        assert!(look(&bytes, ProofType::Photo).is_ok(), "{width} x {height}");
        let cut = picture(
            width,
            height,
            [8, 0, 1],
            &[write_chunk(*b"IDAT", &stored(&[0]))],
        );
        assert_eq!(error(&cut), "is damaged");
    }
}

#[test]
fn any_changed_byte_is_found() {
    let whole = sample(ProofType::Signature, b"x").0;
    for place in 0..whole.len() {
        for change in [1, 0x20, 0x80] {
            let mut changed = whole.clone();
            changed[place] ^= change;
            assert!(look(&changed, ProofType::Signature).is_err(), "{place}");
        }
    }
}

#[test]
fn a_bomb_is_refused_by_its_header() {
    let claim = |width, height| error(&picture(width, height, [8, 2, 0], &[]));
    assert_eq!(
        claim(20_000, 20_000),
        "has 400,000,000 pixels; the limit is 50,000,000"
    );
    assert_eq!(
        claim(70_000, 1),
        "is 70000 x 1 pixels; the limit for a side is 65,535"
    );
    assert_eq!(claim(0, 1), "is damaged");
    assert!(claim(u32::MAX, u32::MAX).starts_with("has 18,446,"));
    assert_eq!(claim(10, 10), "is damaged", "no pixels at all");
}

#[test]
fn too_few_rows_are_refused_and_too_many_not_read() {
    let all = rows(|shade| vec![shade]);
    let of = |rows: &[u8]| {
        let data = write_chunk(*b"IDAT", &stored(rows));
        picture(100, 90, [8, 0, 0], &[data])
    };
    assert_eq!(error(&of(&all[..all.len() - 1])), "is damaged");
    let more = [all, vec![0; 50_000]].concat();
    assert!(look(&of(&more), ProofType::Photo).is_ok());
}

#[test]
fn what_follows_the_end_must_be_padding() {
    let whole = grey_picture();
    for rest in [b"".as_slice(), b"\n", &[0; 3_000]] {
        let file = [&whole, rest].concat();
        assert!(look(&file, ProofType::Photo).is_ok());
        assert_eq!(stripped(&file, PNG).unwrap(), whole);
    }
    let html = b"<html><script>alert('hello')</script>".as_slice();
    let jpeg = sample(ProofType::Photo, b"x").0;
    for rest in [html, &jpeg, &[[0; 100].as_slice(), html].concat(), &whole] {
        let file = [&whole, rest].concat();
        assert_eq!(error(&file), "has other data after the end of the image");
    }
}

#[test]
fn chunks_that_nobody_may_ignore_are_refused() {
    let data = write_chunk(*b"IDAT", &stored(&rows(|shade| vec![shade])));
    let unknown = write_chunk(*b"EVIL", b"must be understood");
    let bytes = picture(100, 90, [8, 0, 0], &[unknown, data.clone()]);
    assert_eq!(error(&bytes), "is damaged");
    let header_later = [SIGNATURE.to_vec(), data].concat();
    assert_eq!(error(&header_later), "is damaged");
}

/// Metadata of all sorts, an animation, a compressed text that would be a bomb.
fn with_everything() -> Vec<u8> {
    let data = stored(&rows(|shade| vec![shade]));
    let frame = |number: u32| {
        let mut body = number.to_be_bytes().to_vec();
        body.extend([100_u32.to_be_bytes(), 90_u32.to_be_bytes()].concat());
        body.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 10, 0, 0]);
        write_chunk(*b"fcTL", &body)
    };
    let second = [2_u32.to_be_bytes().as_slice(), &data].concat();
    let chunks = [
        write_chunk(*b"gAMA", &45_455_u32.to_be_bytes()),
        write_chunk(*b"acTL", &[0, 0, 0, 2, 0, 0, 0, 0]),
        write_chunk(*b"eXIf", &full(true)),
        write_chunk(*b"tEXt", b"Author\0Secret author"),
        write_chunk(*b"zTXt", b"Comment\0\0not zlib at all: Secret"),
        write_chunk(*b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0Secret"),
        write_chunk(*b"tIME", &[7, 234, 11, 15, 9, 30, 0]),
        frame(0),
        write_chunk(*b"IDAT", &data),
        frame(1),
        write_chunk(*b"fdAT", &second),
        write_chunk(*b"prVt", b"Secret of some program"),
    ];
    picture(100, 90, [8, 0, 0], &chunks)
}

#[test]
fn strip_leaves_the_picture_its_colours_and_its_orientation() {
    let file = with_everything();
    let before = look(&file, ProofType::Photo).unwrap();
    assert!(before.exif.taken_at.is_some() && before.exif.latitude.is_some());
    assert_eq!(
        hash(&file),
        hash(&grey_picture()),
        "animated is still a PNG"
    );

    let clean = stripped(&file, PNG).unwrap();
    let after = look(&clean, ProofType::Photo).unwrap();
    assert_eq!(after.exif, Exif::default());
    assert_eq!(after.perceptual_hash, before.perceptual_hash);
    for gone in [b"Secret".as_slice(), b"tIME", b"zTXt", b"tEXt", b"iTXt"] {
        assert!(!contains(&clean, gone));
    }
    for unseen in [b"acTL", b"fcTL", b"fdAT"] {
        assert!(!contains(&clean, unseen), "browsers show these frames");
    }
    assert!(contains(&clean, b"gAMA"));
    let exif = Chunks::new(&clean).find_map(|c| c.ok().filter(|c| c.kind == *b"eXIf"));
    assert_eq!(exif::orientation(exif.unwrap().body), Some(6));
    assert_eq!(stripped(&clean, PNG).unwrap(), clean);
}

#[test]
fn metadata_with_changed_bytes_is_no_panic() {
    let whole = with_everything();
    for place in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[place] ^= 0x55;
        assert!(look(&changed, ProofType::Photo).is_err());
        assert!(strip(&changed, &mut Vec::new()).is_err() || place < 8);
    }
}

/// Chunks with their checksums put right: what they say is looked into.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut file = bytes[..SIGNATURE.len()].to_vec();
    let mut rest = &bytes[SIGNATURE.len()..];
    while rest.len() >= 12 {
        let length = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        let Some(end) = length.checked_add(12).filter(|end| *end <= rest.len()) else {
            break;
        };
        let name = [rest[4], rest[5], rest[6], rest[7]];
        file.extend(write_chunk(name, &rest[8..end - 4]));
        rest = &rest[end..];
    }
    file.extend_from_slice(rest);
    file
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn damaged_pictures_are_no_panic_and_what_passes_can_be_stripped(
        signed: bool,
        changes in proptest::collection::vec((any::<bool>(), any::<u16>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = if signed {
            sample(ProofType::Signature, b"x").0
        } else {
            grey_picture()
        };
        for (in_header, place, value) in changes {
            let length = if in_header { 60 } else { bytes.len() };
            bytes[usize::from(place) % length] = value;
        }
        bytes[..SIGNATURE.len()].copy_from_slice(&SIGNATURE);
        let bytes = repaired(&bytes);
        if let Ok(before) = look(&bytes, ProofType::Photo) {
            let mut clean = Vec::new();
            strip(&bytes, &mut clean).unwrap();
            let after = look(&clean, ProofType::Photo).unwrap();
            prop_assert_eq!(after.perceptual_hash, before.perceptual_hash);
        }
    }
}
