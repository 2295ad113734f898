use super::super::exif::tests::full;
use super::super::sample::jpeg::{
    Bits, encode, frame, segment, tables, transform, write_ac, write_dc, write_symbol,
};
use super::super::tests::{contains, look, stripped, why};
use super::super::{JPEG, hash_distance, sample};
use super::*;
use crate::domain::tasks::ProofType;

fn photo() -> Vec<u8> {
    sample(ProofType::Photo, b"x").0
}

/// A file with a segment behind its start.
fn with(bytes: &[u8], marker: u8, body: &[u8]) -> Vec<u8> {
    let mut file = bytes[..2].to_vec();
    segment(&mut file, marker, body);
    file.extend(&bytes[2..]);
    file
}

fn refusal(bytes: &[u8]) -> String {
    why(bytes, ProofType::Photo)
}

fn hash(bytes: &[u8]) -> u64 {
    let inspected = look(bytes, ProofType::Photo).unwrap();
    inspected.perceptual_hash.unwrap()
}

/// One of several scenes, at whatever size: places are parts of the whole.
fn scene(number: u16, x: f32, y: f32) -> f32 {
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
    128.0 + 28.0 * sum
}

fn scene_of_size(number: u16, width: u16, height: u16, step: u8) -> Vec<u8> {
    encode(width, height, step, &|x, y| {
        let place = |at: u16, length: u16| f32::from(at) / f32::from(length);
        let shade = scene(number, place(x, width), place(y, height));
        [shade, 100.0, 140.0]
    })
}

#[test]
fn the_same_picture_is_found_after_compression_and_resizing() {
    let original = hash(&scene_of_size(1, 320, 240, 2));
    for step in [12, 40, 90] {
        let again = hash(&scene_of_size(1, 320, 240, step));
        assert!(hash_distance(original, again) <= 5, "step {step}");
    }
    for (width, height) in [(480, 360), (241, 181), (200, 150)] {
        let again = hash(&scene_of_size(1, width, height, 12));
        assert!(hash_distance(original, again) <= 8, "{width} x {height}");
    }
    for number in 2..7 {
        let other = hash(&scene_of_size(number, 320, 240, 2));
        assert!(hash_distance(original, other) >= 14, "scene {number}");
    }
}

#[test]
fn a_blank_or_tiny_photo_has_no_hash() {
    let blank = encode(160, 120, 4, &|_, _| [70.0, 128.0, 128.0]);
    let tiny = scene_of_size(1, 63, 480, 4);
    for bytes in [blank, tiny] {
        let inspected = look(&bytes, ProofType::Photo).unwrap();
        assert_eq!(inspected.perceptual_hash, None);
    }
}

#[test]
fn a_bomb_is_refused_by_its_header() {
    let mut bytes = photo();
    let frame = bytes.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    let mut claim = |height: u16, width: u16| {
        bytes[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
        bytes[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
        // Nothing follows the header, so it is the header that is judged.
        refusal(&bytes[..frame + 19])
    };
    let sentence = "has 400,000,000 pixels, at most 50,000,000 are taken";
    assert_eq!(claim(20_000, 20_000), sentence);
    assert_eq!(claim(0, 100), "is damaged");
    assert_eq!(claim(100, 0), "is damaged");
    assert_eq!(claim(100, 100), "is cut off");
}

#[test]
fn a_picture_must_be_whole() {
    let whole = photo();
    let end = whole.len() - 2;
    assert_eq!(refusal(&whole[..end]), "is cut off");
    // Cut in the middle and ended properly: the codes run out.
    let mended = [&whole[..end / 2 + 300], &[0xff, 0xd9]].concat();
    assert_eq!(refusal(&mended), "is damaged");
    // Without any scan.
    let scan = whole.windows(2).position(|w| w == [0xff, SOS]).unwrap();
    let empty = [&whole[..scan], &[0xff, 0xd9]].concat();
    assert_eq!(refusal(&empty), "is cut off");
    assert_eq!(refusal(&[0xff, 0xd8, 0xff, 0xd9]), "is damaged");
}

#[test]
fn rare_kinds_are_refused() {
    let whole = photo();
    let frame = whole.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    for marker in [0xc3, 0xc5, 0xc9, 0xca, 0xcf] {
        let mut bytes = whole.clone();
        bytes[frame + 1] = marker;
        assert!(refusal(&bytes).contains("rare kind"), "{marker:x}");
    }
    let mut bytes = whole.clone();
    bytes[frame + 4] = 12;
    assert!(refusal(&bytes).contains("rare kind"));
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
    let refused: [&[&[u8]]; 8] = [
        &[zip],
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
        assert_eq!(
            refusal(&file),
            "has other data behind the end of the picture"
        );
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
fn a_scan_may_have_a_little_filling_but_no_second_file() {
    let whole = photo();
    let end = whole.len() - 2;
    let filled = |bytes: usize| [&whole[..end], &vec![0x55; bytes], &[0xff, 0xd9]].concat();
    assert!(look(&filled(100), ProofType::Photo).is_ok());
    assert_eq!(refusal(&filled(5_000)), "is damaged");
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
    assert_eq!(orientation(&clean).unwrap(), Some(6));
    let coded = Segments::new(&picture).find_map(|s| s.ok().filter(|s| s.marker == SOS));
    assert!(contains(&clean, coded.unwrap().data));
}

/// The blocks of a grey picture of 80 x 72.
fn grey_blocks() -> Vec<[i32; 64]> {
    let block = |x: u16, y: u16| {
        let shade = |i, j| {
            let place = |at: u16, length: f32| f32::from(at) / length;
            scene(3, place(8 * x + i, 80.0), place(8 * y + j, 72.0)) - 128.0
        };
        transform(&shade, 4.0)
    };
    (0..9)
        .flat_map(|y| (0..10).map(move |x| (x, y)))
        .map(|(x, y)| block(x, y))
        .collect()
}

/// A grey picture with these scans: what their head says of the band, and their coded data.
fn grey(start_of_frame: u8, every: u16, scans: &[([u8; 3], Vec<u8>)]) -> Vec<u8> {
    let mut file = vec![0xff, 0xd8];
    tables(&mut file, 4);
    segment(&mut file, start_of_frame, &frame(80, 72, &[(1, 0x22)]));
    segment(&mut file, DRI, &every.to_be_bytes());
    for ([start, end, bits], data) in scans {
        segment(&mut file, SOS, &[1, 1, 0, *start, *end, *bits]);
        file.extend(data);
    }
    file.extend([0xff, 0xd9]);
    file
}

fn sequential(every: usize) -> Vec<u8> {
    let mut data = Vec::new();
    for (number, part) in grey_blocks().chunks(every).enumerate() {
        if number > 0 {
            data.extend([0xff, 0xd0 + ((number - 1) % 8) as u8]);
        }
        let (mut bits, mut before) = (Bits::default(), 0);
        for block in part {
            write_dc(&mut bits, block[0] - before);
            before = block[0];
            write_ac(&mut bits, &block[1..]);
        }
        data.extend(bits.finish());
    }
    grey(0xc0, every as u16, &[([0, 63, 0], data)])
}

fn coded(mut write: impl FnMut(&mut Bits, &[i32; 64])) -> Vec<u8> {
    let mut bits = Bits::default();
    for block in &grey_blocks() {
        write(&mut bits, block);
    }
    bits.finish()
}

/// Four scans: shades and waves, each first without its lowest bit.
fn progressive_scans() -> Vec<([u8; 3], Vec<u8>)> {
    let mut before = 0;
    let shades = coded(|bits, block| {
        write_dc(bits, (block[0] >> 1) - before);
        before = block[0] >> 1;
    });
    let last_bits = coded(|bits, block| bits.put(block[0] as u32 & 1, 1));
    let waves = coded(|bits, block| write_ac(bits, &block.map(|c| c / 2)[1..]));
    vec![
        ([0, 0, 0x01], shades),
        ([1, 63, 0x01], waves),
        ([0, 0, 0x10], last_bits),
        ([1, 63, 0x10], coded(refine)),
    ]
}

fn refine(bits: &mut Bits, block: &[i32; 64]) {
    let last_new = block.iter().rposition(|c| c.abs() == 1).unwrap_or(0);
    let (mut zeros, mut corrections) = (0, Vec::new());
    let flush = |bits: &mut Bits, corrections: &mut Vec<u32>| {
        corrections.drain(..).for_each(|bit| bits.put(bit, 1));
    };
    for (place, coefficient) in block.iter().enumerate().skip(1) {
        if *coefficient == 0 {
            zeros += 1;
            continue;
        }
        while zeros > 15 && place <= last_new {
            write_symbol(bits, 0xf0);
            flush(bits, &mut corrections);
            zeros -= 16;
        }
        if coefficient.abs() > 1 {
            corrections.push(coefficient.unsigned_abs() & 1);
            continue;
        }
        write_symbol(bits, zeros << 4 | 1);
        bits.put(u32::from(*coefficient > 0), 1);
        flush(bits, &mut corrections);
        zeros = 0;
    }
    if zeros > 0 || !corrections.is_empty() {
        write_symbol(bits, 0);
        flush(bits, &mut corrections);
    }
}

#[test]
fn restarts_are_followed() {
    let plain = hash(&sequential(90));
    for every in [1, 7, 10] {
        let bytes = sequential(every);
        assert_eq!(hash(&bytes), plain);
        let restart = bytes.windows(2).position(|w| w == [0xff, 0xd0]).unwrap();
        let mut wrong = bytes.clone();
        wrong[restart + 1] = 0xd5;
        assert_eq!(refusal(&wrong), "is damaged");
    }
}

#[test]
fn progressive_pictures_are_read_to_the_last_bit() {
    let plain = hash(&sequential(90));
    let scans = progressive_scans();
    let whole = grey(0xc2, 0, &scans);
    assert_eq!(hash(&whole), plain);
    // Each of its scans must have all of its codes.
    for (place, (_, data)) in scans.iter().enumerate() {
        let mut short = scans.clone();
        short[place].1.truncate(data.len() / 2);
        assert_eq!(refusal(&grey(0xc2, 0, &short)), "is damaged", "{place}");
    }
    // Nothing is refined before it came, or twice, and nothing comes twice.
    for order in [[2, 0, 1, 3], [0, 3, 1, 2], [0, 1, 2, 2], [0, 0, 1, 2]] {
        let scans = order.map(|place| scans[place].clone());
        assert_eq!(refusal(&grey(0xc2, 0, &scans)), "is damaged", "{order:?}");
    }
    assert_eq!(refusal(&grey(0xc2, 0, &scans[1..2])), "is cut off");
}

#[test]
fn a_progressive_picture_with_a_changed_byte_is_no_panic() {
    let whole = grey(0xc2, 0, &progressive_scans());
    for place in 0..whole.len() {
        for value in [0, 0xff, whole[place] ^ 0x10, whole[place] ^ 1] {
            let mut changed = whole.clone();
            changed[place] = value;
            let _ = look(&changed, ProofType::Photo);
        }
    }
}

#[test]
fn scans_are_counted() {
    let mut scans = vec![([0, 0, 0], coded(|bits, _| bits.put(0, 4)))];
    // Thirteen bits for each of sixty-three coefficients would be more than eight hundred.
    for coefficient in 1..=63 {
        let nothing = || coded(|bits, _| write_symbol(bits, 0));
        scans.push(([coefficient, coefficient, 0x01], nothing()));
        scans.push(([coefficient, coefficient, 0x10], nothing()));
    }
    assert!(look(&grey(0xc2, 0, &scans[..100]), ProofType::Photo).is_ok());
    assert_eq!(refusal(&grey(0xc2, 0, &scans[..101])), "has too many scans");
}
