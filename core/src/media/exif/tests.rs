use super::super::tests::cases;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

#[derive(Clone)]
pub enum Value {
    Text(&'static str),
    Short(u16),
    Long(u32),
    Rationals([(u32, u32); 3]),
}

use Value::{Long, Rationals, Short, Text};

type Entries<'a> = &'a [(u16, Value)];

/// A TIFF block from its parts, in either order of bytes.
pub fn tiff(little: bool, main: Entries, camera: Entries, gps: Entries) -> Vec<u8> {
    let with_pointers = |camera, gps| {
        let pointers = [(EXIF_DIRECTORY, Long(camera)), (GPS_DIRECTORY, Long(gps))];
        [main, &pointers].concat()
    };
    let main_end = 8 + directory(little, 8, &with_pointers(0, 0)).len() as u32;
    let camera_part = directory(little, main_end, camera);
    let camera_end = main_end + camera_part.len() as u32;
    let head = if little { b"II\x2a\0" } else { b"MM\0\x2a" };
    [
        head.to_vec(),
        long(little, 8),
        directory(little, 8, &with_pointers(main_end, camera_end)),
        camera_part,
        directory(little, camera_end, gps),
    ]
    .concat()
}

fn directory(little: bool, at: u32, entries: Entries) -> Vec<u8> {
    let mut table = short(little, entries.len() as u16);
    let mut data = Vec::new();
    let data_at = at + 2 + 12 * entries.len() as u32 + 4;
    for (tag, value) in entries {
        let (kind, count, raw) = match value {
            Text(text) => (ASCII, text.len() + 1, [text.as_bytes(), b"\0"].concat()),
            Short(number) => (SHORT, 1, short(little, *number)),
            Long(number) => (LONG, 1, long(little, *number)),
            Rationals(parts) => {
                let both = parts.iter().flat_map(|(top, bottom)| [top, bottom]);
                let raw = both.flat_map(|n| long(little, *n)).collect();
                (RATIONAL, 3, raw)
            }
        };
        table.extend(short(little, *tag));
        table.extend(short(little, kind));
        table.extend(long(little, count as u32));
        if raw.len() <= 4 {
            table.extend(raw.iter().chain(&[0; 4]).take(4));
        } else {
            table.extend(long(little, data_at + data.len() as u32));
            data.extend(raw);
        }
    }
    [table, long(little, 0), data].concat()
}

fn short(little: bool, number: u16) -> Vec<u8> {
    match little {
        true => number.to_le_bytes().to_vec(),
        false => number.to_be_bytes().to_vec(),
    }
}

fn long(little: bool, number: u32) -> Vec<u8> {
    match little {
        true => number.to_le_bytes().to_vec(),
        false => number.to_be_bytes().to_vec(),
    }
}

const NORTH: [(u32, u32); 3] = [(37, 1), (46, 1), (2_964, 100)];
const WEST: [(u32, u32); 3] = [(122, 1), (25, 1), (984, 100)];

/// A block with everything in it: taken in San Francisco, lying on its side.
pub fn full(little: bool) -> Vec<u8> {
    tiff(
        little,
        &[(ORIENTATION, Short(6)), (0x010f, Text("Secret Maker"))],
        &[
            (ORIGINAL, Text("2026:11:15 09:30:00")),
            (OFFSET_ORIGINAL, Text("-08:00")),
        ],
        &[
            (LATITUDE_REF, Text("N")),
            (LATITUDE, Rationals(NORTH)),
            (LONGITUDE_REF, Text("W")),
            (LONGITUDE, Rationals(WEST)),
        ],
    )
}

fn at(text: &str) -> Option<Timestamp> {
    Some(Timestamp::RULE.check(text).unwrap())
}

#[test]
fn time_place_and_orientation_are_read_in_either_order_of_bytes() {
    for little in [false, true] {
        let block = full(little);
        let exif = read(&block);
        assert_eq!(exif.taken_at, at("2026-11-15T17:30:00Z"));
        assert!(exif.has_offset);
        assert!((exif.latitude.unwrap() - 37.7749).abs() < 1e-9);
        assert!((exif.longitude.unwrap() + 122.4194).abs() < 1e-9);
        assert_eq!(orientation(&block), Some(6));
    }
}

#[test]
fn a_time_without_offset_is_read_as_utc_and_says_so() {
    for (offset, expected, known) in [
        (None, "2026-11-15T09:30:00Z", false),
        (Some("Z"), "2026-11-15T09:30:00Z", true),
        (Some("+05:30"), "2026-11-15T04:00:00Z", true),
        (Some(""), "2026-11-15T09:30:00Z", false),
        (Some("   :  "), "2026-11-15T09:30:00Z", false),
        (Some("+99:99"), "2026-11-15T09:30:00Z", false),
    ] {
        let mut camera = vec![(ORIGINAL, Text("2026:11:15 09:30:00"))];
        camera.extend(offset.map(|text| (OFFSET_ORIGINAL, Text(text))));
        let exif = read(&tiff(true, &[], &camera, &[]));
        assert_eq!(exif.taken_at, at(expected), "{offset:?}");
        assert_eq!(exif.has_offset, known, "{offset:?}");
    }
}

#[test]
fn the_moment_of_taking_comes_before_those_of_scanning_and_saving() {
    let saved = [(DATE_TIME, Text("2026:11:15 03:00:00"))];
    let scanned = (DIGITIZED, Text("2026:11:15 02:00:00"));
    let taken = (ORIGINAL, Text("2026:11:15 01:00:00"));
    let hour = |camera: Entries| read(&tiff(false, &saved, camera, &[])).taken_at;
    assert_eq!(
        hour(&[scanned.clone(), taken.clone()]),
        at("2026-11-15T01:00:00Z")
    );
    assert_eq!(hour(&[scanned]), at("2026-11-15T02:00:00Z"));
    assert_eq!(hour(&[]), at("2026-11-15T03:00:00Z"));
}

#[test]
fn a_time_that_makes_no_sense_is_passed_over() {
    for text in [
        "",
        "0000:00:00 00:00:00",
        "    :  :     :  :  ",
        "2026:13:15 09:30:00",
        "2026:11:15",
        "2026:11:15 09:30",
        "2026:11:15 09:30:00Z",
        "yesterday at noon!!",
        "2026:11:15 09:30:00 and more",
    ] {
        let block = tiff(true, &[], &[(ORIGINAL, Text(text))], &[]);
        assert_eq!(read(&block).taken_at, None, "{text:?}");
    }
}

#[test]
fn a_place_that_makes_no_sense_is_passed_over() {
    let place = |north: &'static str, latitude, longitude| {
        let gps = [
            (LATITUDE_REF, Text(north)),
            (LATITUDE, Rationals(latitude)),
            (LONGITUDE_REF, Text("W")),
            (LONGITUDE, Rationals(longitude)),
        ];
        let exif = read(&tiff(true, &[], &[], &gps));
        assert_eq!(exif.latitude.is_some(), exif.longitude.is_some());
        exif.latitude
    };
    assert!(place("N", NORTH, WEST).is_some_and(|north| north > 0.0));
    assert!(place("S", NORTH, WEST).is_some_and(|south| south < 0.0));
    let nothing = [(0, 0), (0, 0), (0, 0)];
    let zero = [(0, 1), (0, 1), (0, 1)];
    let endless = [(37, 1), (46, 0), (0, 1)];
    let too_far = [(181, 1), (0, 1), (0, 1)];
    let beyond = [(u32::MAX, 1), (u32::MAX, 1), (u32::MAX, 1)];
    assert_eq!(place("N", nothing, WEST), None);
    assert_eq!(place("N", NORTH, nothing), None);
    assert_eq!(place("N", zero, zero), None);
    assert_eq!(place("N", endless, WEST), None);
    assert_eq!(place("N", NORTH, too_far), None);
    assert_eq!(place("N", too_far, WEST), None);
    assert_eq!(place("N", beyond, WEST), None);
    assert_eq!(place("X", NORTH, WEST), None);
    assert_eq!(place("", NORTH, WEST), None);
}

#[test]
fn a_block_that_lies_about_its_parts_is_no_fault() {
    for little in [false, true] {
        let whole = full(little);
        for end in 0..whole.len() {
            read(&whole[..end]);
            orientation(&whole[..end]);
        }
        for place in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[place] = value;
                read(&changed);
                orientation(&changed);
            }
        }
    }
}

#[test]
fn what_is_left_of_a_stripped_block_is_the_orientation() {
    for number in 2..=8 {
        let block = only_orientation(number);
        assert_eq!(orientation(&block), Some(number));
        assert_eq!(read(&block), Exif::default());
    }
    for upright_or_wrong in [0, 1, 9, 0x0106] {
        let block = tiff(true, &[(ORIENTATION, Short(upright_or_wrong))], &[], &[]);
        assert_eq!(orientation(&block), None);
    }
}

/// Each entry of the first directory points to the second, and so on. A reader that follows every
/// pointer would visit a billion entries here.
#[test]
fn directories_that_point_to_each_other_many_times_cost_nothing() {
    let entries = 1_000;
    let length = 2 + 12 * entries as u32 + 4;
    let table = |at: u32, tag: u16| directory(true, at, &vec![(tag, Long(at + length)); entries]);
    let block = [
        b"II\x2a\0\x08\0\0\0".to_vec(),
        table(8, EXIF_DIRECTORY),
        table(8 + length, 0xa005),
        table(8 + 2 * length, ORIGINAL),
    ]
    .concat();
    assert!(block.len() < 65_000, "it fits into one segment");
    let start = Instant::now();
    assert_eq!(read(&block), Exif::default());
    assert_eq!(orientation(&block), None);
    assert!(start.elapsed().as_secs() < 2);
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn any_bytes_are_read_without_panic(
        little: bool,
        first in 0_u32..64,
        rest in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let head = if little { b"II\x2a\0" } else { b"MM\0\x2a" };
        let block = [head.as_slice(), &long(little, first), &rest].concat();
        let exif = read(&block);
        prop_assert_eq!(exif.latitude.is_some(), exif.longitude.is_some());
        prop_assert!(orientation(&block).is_none_or(|n| (2..=8).contains(&n)));
    }
}
