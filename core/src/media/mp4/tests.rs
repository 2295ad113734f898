use std::io::{self, Cursor, SeekFrom, Write};

use proptest::prelude::*;

use super::super::sample::mp4::write;
use super::super::tests::{cases, contains, look, stripped, why};
use super::super::{MP4, sample};
use super::*;
use crate::domain::tasks::ProofType;

pub fn error(bytes: &[u8]) -> String {
    why(bytes, ProofType::Video)
}

pub fn file_type(brands: &[u8]) -> Vec<u8> {
    write(b"ftyp", &[&brands[..4], &[0; 4], &brands[4..]])
}

/// Version 0 with this time, or version 1 with a time that needs more bits.
fn movie_header(seconds: u64) -> Vec<u8> {
    match u32::try_from(seconds) {
        Ok(seconds) => write(b"mvhd", &[&[0; 4], &seconds.to_be_bytes(), &[0; 92]]),
        Err(_) => write(b"mvhd", &[&[1, 0, 0, 0], &seconds.to_be_bytes(), &[0; 100]]),
    }
}

fn track(handler: &[u8; 4]) -> Vec<u8> {
    coded_track(handler, None)
}

fn coded_track(handler: &[u8; 4], codec: Option<&[u8; 4]>) -> Vec<u8> {
    let size = [0, 100, 0, 0, 0, 80, 0, 0];
    let header = write(b"tkhd", &[&[0; 4], &[9; 8], &[0; 64], &size]);
    let named = write(b"hdlr", &[&[0; 8], handler, &[0; 12], b"Secret Handler\0"]);
    let samples = codec.map(|codec| {
        let description = write(codec, &[&[0; 78]]);
        let descriptions = write(b"stsd", &[&[0; 4], &[0, 0, 0, 1], &description]);
        write(b"minf", &[&write(b"stbl", &[&descriptions])])
    });
    let samples = samples.unwrap_or_default();
    let dates = write(b"mdhd", &[&[0; 4], &[9; 8], &[0; 12]]);
    let media = write(b"mdia", &[&dates, &named, &samples]);
    write(b"trak", &[&header, &media])
}

pub fn movie(parts: &[&[u8]]) -> Vec<u8> {
    write(b"moov", &[&movie_header(0), &parts.concat()])
}

fn plain() -> [Vec<u8>; 3] {
    [
        file_type(b"isommp42"),
        movie(&[&track(b"vide")]),
        write(b"mdat", &[b"the film"]),
    ]
}

#[test]
fn the_order_of_description_and_film_does_not_matter() {
    let [kind, movie, film] = plain();
    for order in [[&kind, &movie, &film], [&kind, &film, &movie]] {
        let bytes = order.map(Vec::as_slice).concat();
        let inspected = look(&bytes, ProofType::Video).unwrap();
        assert_eq!(inspected.content_type, MP4);
        assert_eq!((inspected.width, inspected.height), (Some(100), Some(80)));
        assert_eq!(inspected.perceptual_hash, None);
    }
    assert!(error(&[movie, film, kind].concat()).starts_with("must be an MP4 video"));
}

#[test]
fn brands_decide_what_is_mp4() {
    let [_, movie, film] = plain();
    let with = |brands: &[u8]| [file_type(brands), movie.clone(), film.clone()].concat();
    for brands in [
        b"isom".as_slice(),
        b"mp42",
        b"avc1",
        b"M4V ",
        b"XXXXisom",
        b"3gp4XXXXmp41",
        b"qt  mp42",
        b"qt  qt  mp41",
    ] {
        assert!(look(&with(brands), ProofType::Video).is_ok(), "{brands:?}");
    }
    let sentence = "must be an MP4 video, or QuickTime with H.264 or HEVC and AAC";
    for brands in [b"qt  ".as_slice(), b"qt  qt  isom"] {
        assert_eq!(
            error(&with(brands)),
            sentence,
            "nothing says how it is coded"
        );
    }
    for brands in [b"heicmif1".as_slice(), b"XXXX", b"XXXXYYYYqt  "] {
        assert_eq!(error(&with(brands)), "must be an MP4 video");
    }
    let no_brand = [write(b"ftyp", &[b"is"]), movie.clone(), film.clone()].concat();
    assert_eq!(error(&no_brand), "is damaged");
}

#[test]
fn quicktime_is_taken_if_browsers_play_its_tracks() {
    let with = |tracks: &[(&[u8; 4], &[u8; 4])]| {
        let coded = |(handler, codec): &(&[u8; 4], &[u8; 4])| coded_track(handler, Some(codec));
        let tracks: Vec<_> = tracks.iter().flat_map(coded).collect();
        let film = write(b"mdat", &[b"the film"]);
        // As iPhones write it: an empty box before the film, and the description at the end.
        let empty = write(b"wide", &[]);
        [file_type(b"qt  qt  "), empty, film, movie(&[&tracks])].concat()
    };
    for tracks in [
        [(b"vide", b"avc1"), (b"soun", b"mp4a")].as_slice(),
        &[(b"vide", b"hvc1"), (b"soun", b"mp4a"), (b"meta", b"mebx")],
        // Spatial sound stands beside AAC.
        &[(b"vide", b"hvc1"), (b"soun", b"mp4a"), (b"soun", b"apac")],
        &[(b"vide", b"hev1")],
    ] {
        let inspected = look(&with(tracks), ProofType::Video).unwrap();
        assert_eq!(inspected.content_type, MP4, "served as MP4");
        assert_eq!((inspected.width, inspected.height), (Some(100), Some(80)));
    }
    for tracks in [
        [(b"vide", b"apch"), (b"soun", b"mp4a")].as_slice(),
        &[(b"vide", b"avc1"), (b"soun", b"sowt")],
        &[(b"vide", b"avc1"), (b"vide", b"jpeg"), (b"soun", b"mp4a")],
    ] {
        let sentence = "must be an MP4 video, or QuickTime with H.264 or HEVC and AAC";
        assert_eq!(error(&with(tracks)), sentence);
    }
}

#[test]
fn every_part_must_be_there() {
    let [kind, description, film] = plain();
    let no_header = write(b"moov", &[&track(b"vide")]);
    let sound = movie(&[&track(b"soun"), &track(b"meta")]);
    let headless = movie(&[&write(b"trak", &[&write(b"mdia", &[])])]);
    for (parts, sentence) in [
        (
            [&kind, &film, &film],
            "is truncated or has no description (moov)",
        ),
        (
            [&kind, &description, &kind],
            "is truncated or has no content (mdat)",
        ),
        ([&kind, &no_header, &film], "is damaged"),
        ([&kind, &sound, &film], "has no video track"),
        ([&kind, &headless, &film], "has no video track"),
    ] {
        let bytes = parts.map(Vec::as_slice).concat();
        assert_eq!(error(&bytes), sentence);
    }
    let twice = [kind, description.clone(), description, film].concat();
    assert_eq!(error(&twice), "is damaged");
}

#[test]
fn boxes_must_fit_into_each_other_and_into_the_file() {
    let [kind, movie, film] = plain();
    let with_last = |last: &[u8]| [&kind, &movie, &film, last].concat();
    let long = |size: u64| [b"\0\0\0\x01mdat".as_slice(), &size.to_be_bytes(), b"1234"].concat();

    for fine in [
        b"\0\0\0\0mdat and so on".to_vec(),
        long(20),
        b"\0\0\0\x08free".to_vec(),
    ] {
        assert!(
            look(&with_last(&fine), ProofType::Video).is_ok(),
            "{fine:?}"
        );
    }
    for (last, sentence) in [
        (b"\0\0\0\x40mdat".to_vec(), "is truncated"),
        (b"\xff\xff\xff\xffmdat".to_vec(), "is truncated"),
        (b"\0\0\0\x01mdat\0\0".to_vec(), "is truncated"),
        (b"PK\x03\x04 and the rest of a ZIP".to_vec(), "is truncated"),
        (b"tail".to_vec(), "is truncated"),
        (b"\0\0\0\0free and so on".to_vec(), "is damaged"),
        (b"\0\0\0\x07mdat".to_vec(), "is damaged"),
        (long(21), "is truncated"),
        (long(u64::MAX), "is truncated"),
        (long(15), "is damaged"),
    ] {
        assert_eq!(error(&with_last(&last)), sentence, "{last:?}");
    }
    for inner in [
        b"\0\0\0\x20trak".as_slice(),
        b"\0\0\0\0trak",
        b"\0\0\0\x04trak",
        b"odd",
    ] {
        let movie = super::tests::movie(&[&track(b"vide"), inner]);
        let bytes = [&kind, &movie, &film].map(Vec::as_slice).concat();
        assert_eq!(error(&bytes), "is damaged", "{inner:?}");
    }
    // A film that claims to reach up to the end swallows what follows.
    let swallowed = [&kind, b"\0\0\0\0mdat".as_slice(), &movie].concat();
    assert!(error(&swallowed).contains("moov"));
}

#[test]
fn boxes_are_counted() {
    let [kind, movie, film] = plain();
    let many = b"\0\0\0\x08free".repeat(50_000);
    let bytes = [kind, movie, film, many].concat();
    assert_eq!(error(&bytes), "has too many boxes");
}

#[test]
fn boxes_in_boxes_without_end_are_not_followed() {
    let [kind, _, film] = plain();
    let mut deep = Vec::new();
    for _ in 0..5_000 {
        deep = write(b"trak", &[&deep]);
    }
    let bytes = [kind, movie(&[&track(b"vide"), &deep]), film].concat();
    assert!(look(&bytes, ProofType::Video).is_ok());
}

#[test]
fn the_time_of_the_movie_counts_as_taken_at() {
    let [kind, _, film] = plain();
    let of = |seconds: u64| {
        let movie = write(b"moov", &[&movie_header(seconds), &track(b"vide")]);
        let bytes = [kind.as_slice(), &movie, &film].concat();
        look(&bytes, ProofType::Video).unwrap().exif
    };
    let november = Timestamp::RULE.check("2026-11-15T09:30:00Z").unwrap();
    let exif = of(FROM_1904 + november.as_millis() as u64 / 1_000);
    assert_eq!((exif.taken_at, exif.has_offset), (Some(november), true));
    let far = of(FROM_1904 + LAST_SECOND).taken_at.unwrap();
    assert_eq!(far.to_string(), "9998-12-31T23:59:59.000Z");
    for unknown in [0, 1, FROM_1904, FROM_1904 + LAST_SECOND + 1, u64::MAX] {
        assert_eq!(of(unknown), Exif::default(), "{unknown}");
    }
}

#[test]
fn the_place_of_the_movie_is_read() {
    let [kind, _, film] = plain();
    let of = |text: &[u8]| {
        let note = write(b"\xa9xyz", &[&[0, text.len() as u8, 0x15, 0xc7], text]);
        let other = write(b"\xa9too", &[b"\0\x04\0\0some"]);
        let notes = write(b"udta", &[&other, &note, &[0; 4]]);
        let bytes = [kind.as_slice(), &movie(&[&track(b"vide"), &notes]), &film].concat();
        let exif = look(&bytes, ProofType::Video).unwrap().exif;
        exif.latitude.zip(exif.longitude)
    };
    let here = Some((37.7749, -122.4194));
    assert_eq!(of(b"+37.7749-122.4194/"), here);
    assert_eq!(of(b"+37.7749-122.4194+010.5CRSWGS_84/"), here);
    assert_eq!(of(b"+37.7749-122.4194"), here);
    assert_eq!(of(b"-33.9+018.4/"), Some((-33.9, 18.4)));
    for nonsense in [
        b"".as_slice(),
        b"+",
        b"here",
        b"+37.7749",
        b"+91.0+000.0/",
        b"+00.0-181.0/",
        b"+0.0+0.0/",
        b"+NaN+inf/",
        b"+1.2.3+4/",
        b"\xff\xfe\xfd\xfc",
        "+é+é".as_bytes(),
    ] {
        assert_eq!(of(nonsense), None, "{nonsense:?}");
    }
}

/// As iPhones write it, with names and values in lists of their own.
#[test]
fn the_place_in_a_list_of_names_is_read() {
    let value = |number: u32, text: &[u8]| {
        let data = write(b"data", &[&[0, 0, 0, 1, 0, 0, 0, 0], text]);
        write(&number.to_be_bytes(), &[&data])
    };
    let names = [
        write(b"mdta", &[b"com.apple.quicktime.make"]),
        write(b"mdta", &[b"com.apple.quicktime.location.ISO6709"]),
    ];
    let names = write(b"keys", &[&[0; 4], &[0, 0, 0, 2], &names.concat()]);
    let values = |number| {
        let values = [
            value(1, b"+1.0+1.0/"),
            value(number, b"+48.8584+002.2945+035.0/"),
        ];
        write(b"ilst", &[&values.concat()])
    };
    let kind = write(b"hdlr", &[&[0; 8], b"mdta", &[0; 13]]);
    let of = |parts: &[&[u8]]| {
        let [brands, _, film] = plain();
        let description = movie(&[&track(b"vide"), &write(b"meta", parts)]);
        let exif = look(&[brands, description, film].concat(), ProofType::Video);
        let exif = exif.unwrap().exif;
        exif.latitude.zip(exif.longitude)
    };
    let paris = Some((48.8584, 2.2945));
    assert_eq!(of(&[&kind, &names, &values(2)]), paris, "QuickTime");
    assert_eq!(of(&[&[0; 4], &kind, &names, &values(2)]), paris, "MP4");
    for parts in [
        [kind.as_slice(), &names, &values(3)].as_slice(),
        &[&kind, &names],
        &[&kind, &values(2)],
        &[&names, &values(2)],
        &[&kind, &names[..30], &values(2)],
        &[b"odd"],
        &[],
    ] {
        assert_eq!(of(parts), None, "{parts:?}");
    }
}

#[test]
fn strip_empties_what_players_do_not_need_and_moves_nothing() {
    let [kind, _, film] = plain();
    let notes = write(b"udta", &[&write(b"\xa9xyz", &[b"\0\x06\0\0Secret"])]);
    let extended = b"\0\0\0\x01uuid\0\0\0\0\0\0\0\x20Secret XMP 12345".as_slice();
    let description = write(
        b"moov",
        &[
            &movie_header(FROM_1904 + 99),
            &track(b"vide"),
            &track(b"meta"),
            &track(b"soun"),
            &notes,
            &write(b"meta", &[b"Secret"]),
        ],
    );
    let parts = [
        kind.as_slice(),
        &write(b"free", &[b"Secret"]),
        &description,
        extended,
        &film,
    ];
    let bytes = parts.concat();
    let clean = stripped(&bytes, MP4).unwrap();
    assert_eq!(clean.len(), bytes.len());
    let place = bytes.windows(8).position(|w| w == b"the film");
    assert_eq!(clean.windows(8).position(|w| w == b"the film"), place);
    assert!(!contains(&clean, b"Secret"));
    assert!(!contains(&clean, &[9; 8]), "times of tracks");
    for gone in [b"udta".as_slice(), b"meta", b"uuid", b"\xa9xyz"] {
        assert!(!contains(&clean, gone), "{gone:?}");
    }
    let kept = |kind: &[u8]| clean.windows(4).filter(|w| *w == kind).count();
    assert_eq!((kept(b"trak"), kept(b"vide"), kept(b"soun")), (2, 1, 1));
    let after = look(&clean, ProofType::Video).unwrap();
    assert_eq!(after.exif, Exif::default());
    assert_eq!(after.width, Some(100));
    assert_eq!(stripped(&clean, MP4).unwrap(), clean);
}

/// A file of any length, most of which is a hole that nobody may look into.
struct Hole {
    start: Vec<u8>,
    length: u64,
    at: u64,
    read: u64,
}

impl Read for Hole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(self.at).min(buffer.len() as u64) as usize;
        for (byte, place) in buffer[..left].iter_mut().zip(self.at..) {
            *byte = self.start.get(place as usize).copied().unwrap_or(0);
        }
        self.at += left as u64;
        self.read += left as u64;
        Ok(left)
    }
}

impl Seek for Hole {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else {
            panic!("only from the start")
        };
        self.at = at;
        Ok(at)
    }
}

#[test]
fn the_film_itself_is_not_read() {
    let [kind, movie, _] = plain();
    let start = [&kind, &movie, b"\x05\xf0\0\0mdat".as_slice()].concat();
    let length = (kind.len() + movie.len()) as u64 + 0x05f0_0000;
    let mut hole = Hole {
        start,
        length,
        at: 0,
        read: 0,
    };
    assert!(length > 99_000_000);
    assert!(inspect(&mut hole, length).is_ok());
    assert!(hole.read < 2_000, "{} bytes were read", hole.read);
}

#[test]
fn strip_copies_piece_by_piece() {
    struct Largest(usize);
    impl Write for Largest {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.max(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let [kind, movie, _] = plain();
    let film = write(b"mdat", &[&vec![1; 3_000_000]]);
    let notes = write(b"free", &[&vec![1; 3_000_000]]);
    let bytes = [kind, movie, film, notes].concat();
    let mut largest = Largest(0);
    strip(&mut Cursor::new(&bytes), bytes.len() as u64, &mut largest).unwrap();
    assert!(largest.0 <= 256 * 1024, "{}", largest.0);
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_no_panic() {
    let (bytes, _) = sample(ProofType::Video, b"x");
    for end in 0..bytes.len() {
        let claimed = bytes.len() as u64;
        let read = inspect(&mut Cursor::new(&bytes[..end]), claimed);
        assert!(read.is_ok() || !matches!(read, Err(InspectError::Rejected(_))));
        let done = strip(&mut Cursor::new(&bytes[..end]), claimed, &mut Vec::new());
        assert!(done.is_err());
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// Lengths and names of boxes above all: they say where everything else is.
    #[test]
    fn damaged_films_are_no_panic_and_what_passes_can_be_stripped(
        film_first: bool,
        changes in proptest::collection::vec((any::<u16>(), 0_usize..8), 1..6),
    ) {
        let [kind, movie, film] = plain();
        let order = if film_first { [&kind, &film, &movie] } else { [&kind, &movie, &film] };
        let mut bytes = order.map(Vec::as_slice).concat();
        let long = |number: u32| number.to_be_bytes();
        for (place, value) in changes {
            let place = usize::from(place) % (bytes.len() - 4);
            let value = [
                long(0), long(1), long(7), long(8), long(u32::MAX), *b"moov", *b"free", *b"trak",
            ][value];
            bytes[place..place + 4].copy_from_slice(&value);
        }
        if look(&bytes, ProofType::Video).is_ok() {
            let clean = stripped(&bytes, MP4).unwrap();
            prop_assert!(look(&clean, ProofType::Video).is_ok());
        }
    }
}
