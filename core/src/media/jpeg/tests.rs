use proptest::prelude::*;

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use super::super::exif::tests::full;
use super::super::sample::encode;
use super::super::tests::{cases, contains, look, stripped, why};
use super::super::{JPEG, hash_distance, sample};
use super::*;
use crate::domain::tasks::ProofType;

fn photo() -> Vec<u8> {
    sample(ProofType::Photo, b"x").0
}

/// A file with a segment after its start.
fn with(bytes: &[u8], marker: u8, body: &[u8]) -> Vec<u8> {
    let mut file = bytes[..2].to_vec();
    write_segment(&mut file, marker, body).unwrap();
    file.extend(&bytes[2..]);
    file
}

/// A file with bytes that belong to no segment, before its first marker of this kind.
fn with_junk(bytes: &[u8], marker: u8, junk: &[u8]) -> Vec<u8> {
    let place = bytes.windows(2).position(|w| w == [0xff, marker]).unwrap();
    [&bytes[..place], junk, &bytes[place..]].concat()
}

fn error(bytes: &[u8]) -> String {
    why(bytes, ProofType::Photo)
}

fn hash(bytes: &[u8]) -> u64 {
    let inspected = look(bytes, ProofType::Photo).unwrap();
    inspected.perceptual_hash.unwrap()
}

/// One of several scenes, at any size: places are parts of the whole.
fn scene(number: u16, x: f32, y: f32) -> u8 {
    let n = f32::from(number);
    let waves = [
        (3.0 + n, 1.0),
        (1.0, 4.0 + n),
        (2.0 + n / 2.0, 5.0),
        (6.0, 2.0),
    ];
    let sum: f32 = waves
        .iter()
        .zip(1_u8..)
        .map(|((u, v), i)| (u * x * 2.0 + v * y * 3.0 + n * f32::from(i)).sin())
        .sum();
    (128.0 + 28.0 * sum) as u8
}

fn scene_of_size(number: u16, width: u16, height: u16, quality: u8) -> Vec<u8> {
    encode(width, height, quality, &|x, y| {
        let place = |at: u16, length: u16| f32::from(at) / f32::from(length);
        let shade = scene(number, place(x, width), place(y, height));
        [shade, 100, 140]
    })
}

#[test]
fn the_same_picture_is_found_after_compression_and_resizing() {
    let original = hash(&scene_of_size(1, 320, 240, 95));
    for quality in [80, 40, 15] {
        let again = hash(&scene_of_size(1, 320, 240, quality));
        assert!(hash_distance(original, again) <= 5, "quality {quality}");
    }
    for (width, height) in [(480, 360), (241, 181), (200, 150)] {
        let again = hash(&scene_of_size(1, width, height, 80));
        assert!(hash_distance(original, again) <= 8, "{width} x {height}");
    }
    for number in 2..7 {
        let other = hash(&scene_of_size(number, 320, 240, 95));
        assert!(hash_distance(original, other) >= 14, "scene {number}");
    }
}

#[test]
fn a_blank_or_tiny_photo_has_no_hash() {
    let blank = encode(160, 120, 90, &|_, _| [70, 128, 128]);
    let tiny = scene_of_size(1, 63, 480, 90);
    for bytes in [blank, tiny] {
        let inspected = look(&bytes, ProofType::Photo).unwrap();
        assert_eq!(inspected.perceptual_hash, None);
    }
}

/// The same scene in shades of grey, with what `set` asks of the encoder.
fn grey(set: impl Fn(&mut Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    in_colours(ColorType::Luma, |shade| vec![shade], set)
}

fn in_colours(
    colours: ColorType,
    pixel: impl Fn(u8) -> Vec<u8>,
    set: impl Fn(&mut Encoder<&mut Vec<u8>>),
) -> Vec<u8> {
    let places = (0..75_u16).flat_map(|y| (0..83_u16).map(move |x| (x, y)));
    let pixels: Vec<u8> = places
        .map(|(x, y)| scene(3, f32::from(x) / 83.0, f32::from(y) / 75.0))
        .flat_map(pixel)
        .collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 90);
    set(&mut encoder);
    encoder.encode(&pixels, 83, 75, colours).unwrap();
    file
}

#[test]
fn every_kind_of_jpeg_shows_the_same_picture() {
    let plain = hash(&grey(|_| {}));
    let sampled = |sampling| {
        let colours = |shade| vec![shade, 90, 160];
        move |progressive| {
            in_colours(ColorType::Ycbcr, colours, |encoder| {
                encoder.set_sampling_factor(sampling);
                encoder.set_progressive(progressive);
            })
        }
    };
    let mut files = vec![
        grey(|encoder| encoder.set_restart_interval(3)),
        grey(|encoder| encoder.set_progressive(true)),
        grey(|encoder| {
            encoder.set_progressive(true);
            encoder.set_restart_interval(5);
        }),
    ];
    // For inks, the hash follows the first of them.
    let inks = |shade| vec![255 - shade, 90, 160, 10];
    files.push(in_colours(ColorType::Cmyk, inks, |_| {}));
    for progressive in [false, true] {
        for sampling in [
            SamplingFactor::F_1_1,
            SamplingFactor::F_2_1,
            SamplingFactor::F_1_2,
            SamplingFactor::F_2_2,
            SamplingFactor::F_4_1,
        ] {
            files.push(sampled(sampling)(progressive));
        }
    }
    for (number, bytes) in files.iter().enumerate() {
        assert!(hash_distance(plain, hash(bytes)) <= 3, "{number}");
        let clean = stripped(bytes, JPEG).unwrap();
        assert_eq!(hash(&clean), hash(bytes), "{number}");
    }
}

#[test]
fn a_bomb_is_refused_by_its_header() {
    let mut bytes = photo();
    let frame = bytes.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    let mut claim = |height: u16, width: u16| {
        bytes[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
        bytes[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
        // Nothing follows the header, so the header alone decides.
        error(&bytes[..frame + 19])
    };
    let sentence = "has 400,000,000 pixels; the limit is 50,000,000";
    assert_eq!(claim(20_000, 20_000), sentence);
    assert_eq!(claim(0, 100), "is damaged");
    assert_eq!(claim(100, 0), "is damaged");
    assert_eq!(claim(100, 100), "is truncated");
}

/// A progressive JPEG of so many scans, each of one coefficient and with hardly any code.
fn many_scans(scans: u8) -> Vec<u8> {
    let mut file = vec![0xff, SOI];
    let mut add = |marker: u8, body: &[&[u8]]| {
        write_segment(&mut file, marker, &body.concat()).unwrap();
    };
    let side = 1_000_u16.to_be_bytes();
    add(DQT, &[&[0], &[1; 64]]);
    add(DHT, &[&[0, 1], &[0; 15], &[0]]);
    add(DHT, &[&[0x10, 1], &[0; 15], &[0]]);
    add(0xc2, &[&[8], &side, &side, &[1, 1, 0x11, 0]]);
    add(SOS, &[&[1, 1, 0, 0, 0, 0]]);
    // First without its lowest bit, then that bit.
    for number in 0..scans - 1 {
        let (coefficient, bits) = (1 + number / 2, [0x01, 0x10][usize::from(number % 2)]);
        add(SOS, &[&[1, 1, 0, coefficient, coefficient, bits]]);
    }
    file.extend([0xff, EOI]);
    file
}

#[test]
fn scans_are_counted() {
    assert!(look(&many_scans(100), ProofType::Photo).is_ok());
    assert_eq!(error(&many_scans(101)), "has too many scans");
}

/// Written by libjpeg: 83 x 75 pixels, halved colours, ten scans with successive approximation.
const PROGRESSIVE: &[u8] = include_bytes!("tests/progressive.jpg");
/// The same picture, also by libjpeg.
const BASELINE: &[u8] = include_bytes!("tests/baseline.jpg");

#[test]
fn progressive_pictures_are_read_to_the_last_bit() {
    assert_eq!(hash(PROGRESSIVE), hash(BASELINE));
    // Nothing may be refined before it came, or come twice.
    let places: Vec<usize> = PROGRESSIVE
        .windows(2)
        .enumerate()
        .filter_map(|(place, window)| (*window == [0xff, SOS]).then_some(place))
        .collect();
    assert_eq!(places.len(), 10);
    let first = &PROGRESSIVE[places[0]..places[1]];
    let twice = [&PROGRESSIVE[..places[1]], first, &PROGRESSIVE[places[1]..]].concat();
    assert_eq!(error(&twice), "is damaged");
}

#[test]
fn a_scan_needs_tables_before_it() {
    let whole = photo();
    for marker in [DQT, DHT] {
        let mut bytes = whole.clone();
        while let Some(place) = bytes.windows(2).position(|w| w == [0xff, marker]) {
            bytes[place + 1] = 0xfe;
        }
        for start_of_frame in [0xc0, 0xc2] {
            let frame = bytes
                .windows(2)
                .position(|w| w == [0xff, 0xc0] || w == [0xff, 0xc2]);
            bytes[frame.unwrap() + 1] = start_of_frame;
            assert_eq!(error(&bytes), "is damaged", "{marker:x} {start_of_frame:x}");
        }
    }
}

#[test]
fn a_picture_must_have_an_end_and_a_scan() {
    let whole = photo();
    let end = whole.len() - 2;
    assert_eq!(error(&whole[..end]), "is truncated");
    let scan = whole.windows(2).position(|w| w == [0xff, SOS]).unwrap();
    let empty = [&whole[..scan], &[0xff, EOI]].concat();
    assert_eq!(error(&empty), "is truncated");
    assert_eq!(error(&[0xff, SOI, 0xff, EOI]), "is damaged");
}

#[test]
fn rare_kinds_are_refused() {
    let whole = photo();
    let frame = whole.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    let sentence =
        "is an arithmetic, lossless or 12-bit JPEG; only baseline and progressive are supported";
    for marker in [0xc3, 0xc5, 0xc9, 0xca, 0xcf] {
        let mut bytes = whole.clone();
        bytes[frame + 1] = marker;
        assert_eq!(error(&bytes), sentence, "{marker:x}");
    }
    let mut bytes = whole.clone();
    bytes[frame + 4] = 12;
    assert_eq!(error(&bytes), sentence);
}

/// Browsers show all of these.
#[test]
fn a_photo_is_not_refused_for_what_is_wrong_around_the_picture() {
    let photo = photo();
    let exif = [EXIF, &full(true)].concat();
    let codes = photo.windows(2).position(|w| w == [0xff, SOS]).unwrap() + 400;
    let half = [&photo[..codes], &[0xff, EOI]].concat();
    let odd = [
        with(&photo, APP14, b"Adobe"),
        with(&photo, APP14, b"Adobe\0\x64\0\0Secret"),
        with(
            &photo,
            APP1,
            &[EXIF, b"II\x2a\0\xff\xff\xff\xffSecret"].concat(),
        ),
        with(&photo, APP1, &exif[..20]),
        with(&photo, APP0, b"JFIF"),
        with_junk(&photo, DQT, b"Secret"),
        with_junk(&photo, DQT, b"\xff\0Secret"),
        with_junk(&photo, DHT, b"\xff\xd3Secret\xff\xff"),
        with_junk(&photo, 0xc0, &[b'S'; 50_000]),
        half,
    ];
    for (number, file) in odd.iter().enumerate() {
        let before = look(file, ProofType::Photo);
        let before = before.unwrap_or_else(|why| panic!("{number}: {why}"));
        let clean = stripped(file, JPEG).unwrap();
        assert_eq!(
            look(&clean, ProofType::Photo).unwrap().perceptual_hash,
            before.perceptual_hash
        );
        assert_eq!(stripped(&clean, JPEG).unwrap(), clean, "{number}");
        for gone in [b"Secret".as_slice(), b"SSSSSSSS"] {
            assert!(!contains(&clean, gone), "{number}");
        }
    }
    for (number, file) in odd[..9].iter().enumerate() {
        assert_eq!(stripped(file, JPEG).unwrap(), photo, "{number}");
    }
}

#[test]
fn bytes_after_the_last_code_of_a_scan_are_accepted() {
    let whole = photo();
    let end = whole.len() - 2;
    let filled = [&whole[..end], &[0x55; 5_000], &[0xff, EOI]].concat();
    assert_eq!(hash(&filled), hash(&whole));
}

/// The colours depend on it: without it, components named R, G and B would be red, green and blue.
#[test]
fn jfif_is_kept_wherever_it_stands() {
    let mut photo = photo();
    let jfif = photo.split_off(20);
    let head = photo.split_off(2);
    let late = [
        &photo,
        [0xff, 0xfe, 0, 4, b'h', b'i'].as_slice(),
        &head,
        &jfif,
    ]
    .concat();
    let clean = stripped(&late, JPEG).unwrap();
    assert_eq!(clean, [photo, head, jfif].concat());
}

#[test]
fn what_follows_the_end_must_be_padding_or_what_phones_append() {
    let photo = photo();
    let film = sample(ProofType::Video, b"x").0;
    let zip = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".as_slice();
    let html = b"<script>alert('hello')</script>".as_slice();
    let zeros = [0; 5_000].as_slice();
    let samsung = &samsung_block(b"\0\0\x01\x0aImage_UTC_Data1794731400000");
    let taken: [&[&[u8]]; 8] = [
        &[b"\r\n"],
        &[zeros],
        &[&photo],
        &[zeros, &photo, &photo],
        &[&film],
        &[&photo, &film],
        &[samsung],
        &[&photo, samsung],
    ];
    for rest in taken {
        let file = [photo.as_slice(), &rest.concat()].concat();
        assert!(look(&file, ProofType::Photo).is_ok());
        let stripped = stripped(&file, JPEG).unwrap();
        assert_eq!(stripped, photo, "nothing of it is left");
    }
    let hidden = [zip, samsung].concat();
    let between = with_junk(&photo, DQT, zip);
    let refused: [&[&[u8]]; 9] = [
        &[zip],
        &[&between],
        &[html],
        &[zeros, zip],
        &[&photo, zip],
        &[&film, zip],
        &[&photo[..photo.len() - 2]],
        &[&hidden],
        &[&samsung[1..]],
    ];
    for rest in refused {
        let file = [photo.as_slice(), &rest.concat()].concat();
        assert_eq!(error(&file), "has other data after the end of the image");
    }
    let many = photo.repeat(40);
    assert!(look(&many, ProofType::Photo).is_err());
}

fn samsung_block(block: &[u8]) -> Vec<u8> {
    let mut directory = b"SEFH\x6b\0\0\0\x01\0\0\0\0\0\x01\x0a".to_vec();
    directory.extend((block.len() as u32).to_le_bytes());
    directory.extend((block.len() as u32).to_le_bytes());
    let length = (directory.len() as u32).to_le_bytes();
    [block, &directory, &length, b"SEFT"].concat()
}

#[test]
fn exif_is_read() {
    let exif = [EXIF, &full(true)].concat();
    let inspected = look(&with(&photo(), APP1, &exif), ProofType::Photo).unwrap();
    assert!(inspected.exif.taken_at.is_some());
    assert!(inspected.exif.latitude.is_some());
}

#[test]
fn strip_leaves_the_picture_its_colours_and_its_orientation() {
    let picture = photo();
    let exif = [EXIF, &full(false)].concat();
    let icc = [b"ICC_PROFILE\0\x01\x01".as_slice(), &[7; 300]].concat();
    let thumbnail = b"JFIF\0\x01\x02\x01\0\x48\0\x48\x01\x01\x99\x99\x99";
    let mut file = with(&picture, 0xfe, b"Secret comment");
    let segments: [(u8, &[u8]); 7] = [
        (0xed, b"Photoshop 3.0\0Secret IPTC"),
        (APP2, &icc),
        (APP2, b"MPF\0Secret pictures"),
        (APP14, b"Adobe\0\x64\0\0\0\0\x01Secret"),
        (APP1, b"http://ns.adobe.com/xap/1.0/\0Secret XMP"),
        (APP1, &exif),
        (APP0, thumbnail),
    ];
    for (marker, body) in segments {
        file = with(&file, marker, body);
    }
    let before = look(&file, ProofType::Photo).unwrap();
    assert!(before.exif.taken_at.is_some());

    let clean = stripped(&file, JPEG).unwrap();
    let after = look(&clean, ProofType::Photo).unwrap();
    assert_eq!(after.exif, Exif::default());
    assert_eq!(after.perceptual_hash, before.perceptual_hash);
    assert!(!contains(&clean, b"Secret"));
    assert!(!contains(&clean, &[0x99; 3]));
    assert!(contains(&clean, &icc));
    assert!(contains(&clean, b"Adobe\0\x64\0\0\0\0\x01\xff"));
    assert_eq!(
        &clean[2..20],
        b"\xff\xe0\0\x10JFIF\0\x01\x02\x01\0\x48\0\x48\0\0"
    );
    let orientation = first(&clean, |s| exif::orientation(s.body.strip_prefix(EXIF)?));
    assert_eq!(orientation.unwrap(), Some(6));
    let coded = Segments::new(&picture).find_map(|s| s.ok().filter(|s| s.marker == SOS));
    assert!(contains(&clean, coded.unwrap().data));
}

#[test]
fn a_progressive_picture_with_a_changed_byte_is_no_panic() {
    for place in 0..PROGRESSIVE.len() {
        for value in [0, 0xff, PROGRESSIVE[place] ^ 0x10, PROGRESSIVE[place] ^ 1] {
            let mut changed = PROGRESSIVE.to_vec();
            changed[place] = value;
            let _ = look(&changed, ProofType::Photo);
        }
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Several changes at once, in the headers as often as in the codes.
    #[test]
    fn damaged_pictures_are_no_panic_and_what_passes_can_be_stripped(
        progressive: bool,
        changes in proptest::collection::vec((any::<bool>(), any::<u16>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = if progressive { PROGRESSIVE } else { BASELINE }.to_vec();
        for (in_header, place, value) in changes {
            let length = if in_header { 300 } else { bytes.len() };
            bytes[usize::from(place) % length] = value;
        }
        if let Ok(before) = look(&bytes, ProofType::Photo) {
            let mut clean = Vec::new();
            strip(&bytes, &mut clean).unwrap();
            let after = look(&clean, ProofType::Photo).unwrap();
            prop_assert_eq!(after.perceptual_hash, before.perceptual_hash);
            prop_assert_eq!(after.exif, Exif::default());
        }
    }
}
