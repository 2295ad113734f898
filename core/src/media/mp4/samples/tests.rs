mod whole;

use std::io::{self, Cursor, SeekFrom};

use proptest::prelude::*;

use super::super::super::MP4;
use super::super::super::sample::mp4::write;
use super::super::super::tests::{cases, contains, look, stripped};
use super::super::tests::{error, file_type, movie};
use super::super::{inspect, strip};
use super::*;
use crate::domain::tasks::ProofType;

/// Samples of tracks that go are written as `G`, those of tracks that stay in other letters.
const GONE: u8 = b'G';

fn numbers(kind: &[u8; 4], numbers: &[u32]) -> Vec<u8> {
    let raw: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
    write(kind, &[&[0; 4], &raw])
}

fn track(handler: &[u8; 4], id: u32, tables: &[&[u8]]) -> Vec<u8> {
    let header = write(b"tkhd", &[&[0; 12], &id.to_be_bytes(), &[0; 68]]);
    let named = write(b"hdlr", &[&[0; 8], handler, &[0; 13]]);
    let tables = write(b"minf", &[&write(b"stbl", tables)]);
    write(b"trak", &[&header, &write(b"mdia", &[&named, &tables])])
}

/// The film stands before its description, so its place is known.
const FILM: u32 = 20 + 8;

fn film(samples: &[u8], tracks: &[&[u8]]) -> Vec<u8> {
    let kind = file_type(b"isommp42");
    assert_eq!(kind.len() as u32 + 8, FILM);
    [kind, write(b"mdat", &[samples]), movie(tracks)].concat()
}

fn picture(tables: &[&[u8]]) -> Vec<u8> {
    track(b"vide", 1, tables)
}

/// All of the samples that go are zeros, and every other byte of the film is what it was.
fn check(bytes: &[u8], why: &str) {
    assert_eq!(look(bytes, ProofType::Video).err(), None, "{why}");
    let clean = stripped(bytes, MP4).unwrap();
    assert_eq!(clean.len(), bytes.len(), "{why}");
    assert!(contains(bytes, &[GONE]));
    let mut at = 0;
    while at < bytes.len() {
        let size = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let body = at + 8..at + size;
        if &bytes[at + 4..at + 8] == b"mdat" {
            let kept = |b: &u8| if *b == GONE { 0 } else { *b };
            let expected: Vec<u8> = bytes[body.clone()].iter().map(kept).collect();
            let shown = String::from_utf8_lossy(&clean[body.clone()]);
            assert!(clean[body.clone()] == expected, "{why}: {shown:.200}");
        }
        at += size;
    }
    assert!(look(&clean, ProofType::Video).is_ok(), "{why}");
    assert_eq!(stripped(&clean, MP4).unwrap(), clean, "{why}");
}

#[test]
fn samples_go_with_their_track_in_every_form_of_its_tables() {
    let places = numbers(b"stco", &[3, FILM + 3, FILM + 9, FILM + 15]);
    let wide = numbers(b"co64", &[3, 0, FILM + 3, 0, FILM + 9, 0, FILM + 15]);
    // Three chunks of two, two and one.
    let counts = numbers(b"stsc", &[2, 1, 2, 1, 3, 1, 1]);
    let sizes = numbers(b"stsz", &[0, 5, 1, 3, 2, 2, 1]);
    let halves = write(b"stz2", &[&[0; 7], &[4], &[0, 0, 0, 5], b"\x13\x22\x10"]);
    let bytes = write(
        b"stz2",
        &[&[0; 7], &[8], &[0, 0, 0, 5], b"\x01\x03\x02\x02\x01"],
    );
    let words = [0, 1, 0, 3, 0, 2, 0, 2, 0, 1];
    let words = write(b"stz2", &[&[0; 7], &[16], &[0, 0, 0, 5], &words]);
    let samples = b"vvvGGGGaaGGGGvvGa";
    for tables in [
        [&places, &counts, &sizes],
        [&wide, &counts, &sizes],
        [&sizes, &counts, &places],
        [&places, &counts, &halves],
        [&places, &counts, &bytes],
        [&places, &counts, &words],
    ] {
        let tables = tables.map(Vec::as_slice);
        let bytes = film(samples, &[&picture(&[]), &track(b"meta", 2, &tables)]);
        check(&bytes, &format!("{tables:?}"));
    }
    let same = numbers(b"stsz", &[2, 5]);
    let foreign = track(b"meta", 2, &[&places, &counts, &same]);
    check(
        &film(b"vvvGGGGaaGGGGvvGG", &[&picture(&[]), &foreign]),
        "one size",
    );
    let foreign = track(b"meta", 2, &[&places, &same]);
    check(
        &film(b"vvvGGvvaaGGaavvGG", &[&picture(&[]), &foreign]),
        "one in each",
    );
}

#[test]
fn all_tracks_but_picture_and_sound_lose_their_samples() {
    let tables = |place: u32| {
        let place = numbers(b"stco", &[1, FILM + place]);
        [place, numbers(b"stsz", &[4, 1])].concat()
    };
    for kind in [b"meta", b"text", b"tmcd", b"sbtl", b"hint", b"\0\0\0\0"] {
        let tracks = [
            track(kind, 3, &[&tables(8)]),
            picture(&[&tables(0)]),
            track(b"soun", 2, &[&tables(4)]),
            track(kind, 4, &[&tables(12)]),
        ];
        let bytes = film(b"vvvvaaaaGGGGGGGGrest", &[&tracks.concat()]);
        check(&bytes, &format!("{kind:?}"));
    }
    let unnamed = write(b"stbl", &[&tables(2)]);
    let unnamed = write(b"mdia", &[&write(b"minf", &[&unnamed])]);
    let unnamed = write(b"trak", &[&unnamed]);
    check(&film(b"vvGGGGv", &[&picture(&[]), &unnamed]), "no handler");
}

#[test]
fn samples_of_tracks_that_stay_are_never_touched() {
    let sizes = |size: u32, places: &[u32]| numbers(b"stsz", &[size, places.len() as u32]);
    let of = |kept: &[u32], foreign: &[u32], letters: &[u8]| {
        let places = |places: &[u32]| {
            let absolute = places.iter().map(|place| FILM + place);
            let entries: Vec<u32> = [places.len() as u32].into_iter().chain(absolute).collect();
            numbers(b"stco", &entries)
        };
        let kept = picture(&[&places(kept), &sizes(3, kept)]);
        let foreign = track(b"meta", 2, &[&places(foreign), &sizes(6, foreign)]);
        check(&film(letters, &[&kept, &foreign]), &format!("{kept:?}"));
    };
    of(&[4], &[2], b"..GGvvvG..");
    of(&[0], &[2], b"vvvGGGGG..");
    of(&[6], &[2], b"..GGGGvvv.");
    of(&[0, 3], &[0, 4], b"vvvvvvGGGG..");
    of(&[5, 0, 4], &[2, 2, 2], b"vvvGvvvv..");
    of(&[8], &[2, 5, 0], b"GGGGGGGGvvv");
}

#[test]
fn tables_that_lie_touch_nothing_but_the_film() {
    let kept = [numbers(b"stco", &[1, FILM + 3]), numbers(b"stsz", &[3, 1])].concat();
    let kept = picture(&[&kept]);
    for (letters, chunks) in [
        (b".GGvvvG", vec![[0, FILM], [FILM + 6, u32::MAX]]),
        (b".GGvvvG", vec![[FILM + 6, 1], [FILM + 7, 500]]),
        (b".GGvvv.", vec![[u32::MAX, u32::MAX], [FILM, 0]]),
        (b"GGGvvvG", vec![[0, u32::MAX]]),
    ] {
        let chunks = [vec![[FILM + 1, 2]], chunks].concat();
        let count = chunks.len() as u32;
        let places: Vec<u32> = chunks.iter().map(|[place, _]| *place).collect();
        let sizes: Vec<u32> = chunks.iter().map(|[_, size]| *size).collect();
        let places = numbers(b"stco", &[&[count], &places[..]].concat());
        let sizes = numbers(b"stsz", &[&[0, count], &sizes[..]].concat());
        let bytes = film(letters, &[&kept, &track(b"meta", 2, &[&places, &sizes])]);
        check(&bytes, &format!("{chunks:?}"));
        let clean = stripped(&bytes, MP4).unwrap();
        assert_eq!(clean[..FILM as usize], bytes[..FILM as usize]);
        assert!(contains(&clean, &kept), "{chunks:?}");
    }
}

#[test]
fn places_near_the_end_of_numbers_are_no_overflow() {
    let far = [0xffff_ffff, 0xffff_fff0, 0x8000_0000, 0];
    let places = [&[3, 0, FILM], far.as_slice()].concat();
    let tables = [
        numbers(b"co64", &places),
        numbers(b"stsc", &[1, 1, u32::MAX, 1]),
        numbers(b"stsz", &[u32::MAX, u32::MAX]),
    ];
    let foreign = track(b"meta", 2, &[&tables.concat()]);
    let kept = [
        numbers(b"co64", &[1, 0, FILM + 1]),
        numbers(b"stsz", &[3, 1]),
    ];
    check(
        &film(b"GvvvG", &[&picture(&[&kept.concat()]), &foreign]),
        "far",
    );
}

#[test]
fn tables_that_promise_more_than_they_have_end_where_their_box_ends() {
    let place = numbers(b"stco", &[u32::MAX, FILM + 1]);
    for (counts, sizes) in [
        (vec![u32::MAX, 1, u32::MAX, 1], vec![0, u32::MAX, 2, 1]),
        (vec![u32::MAX, 0, 1, 1, 0, 2, 1], vec![0, 2, 2, 1]),
        (vec![3, 7, 1, 1, 1, 2, 1, 1, 3, 1], vec![3, u32::MAX]),
        // Said in the wrong order: the first that is due counts, then the next.
        (vec![2, 1, 9, 1, 0, 3, 1], vec![1, 3]),
    ] {
        let tables = [numbers(b"stsc", &counts), numbers(b"stsz", &sizes)].concat();
        let foreign = track(b"meta", 2, &[&place, &tables]);
        check(
            &film(b".GGGv", &[&picture(&[]), &foreign]),
            &format!("{counts:?}"),
        );
    }
}

#[test]
fn pieces_are_counted() {
    let with = |count: u32, apart: u32| {
        let places = (0..count).map(|n| FILM + n * apart);
        let places: Vec<u32> = [count].into_iter().chain(places).collect();
        let tables = [numbers(b"stco", &places), numbers(b"stsz", &[1, count])].concat();
        let foreign = track(b"meta", 2, &[&tables]);
        let letters: Vec<u8> = (0..count * apart)
            .map(|n| if n % apart == 0 { GONE } else { b'.' })
            .collect();
        film(&letters, &[&picture(&[]), &foreign])
    };
    check(&with(250_000, 2), "as many as can be");
    check(&with(300_000, 1), "those that touch are one");
    let many = with(250_001, 2);
    assert_eq!(error(&many), "has too many pieces");
    assert!(stripped(&many, MP4).is_err());
}

/// A file that counts what is read of it, and how much at once.
struct Watched {
    file: Cursor<Vec<u8>>,
    largest: usize,
    all: usize,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.largest = self.largest.max(buffer.len());
        self.all += buffer.len();
        self.file.read(buffer)
    }
}

impl Seek for Watched {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn long_tables_are_read_once_and_piece_by_piece() {
    let sizes: Vec<u32> = [0, 500_000]
        .into_iter()
        .chain((0..500_000).map(|_| 0))
        .collect();
    let tables = [
        numbers(b"stco", &[2, FILM, FILM + 1]),
        numbers(b"stsc", &[1, 1, 400_000, 1]),
        numbers(b"stsz", &sizes),
    ];
    let tables = tables.concat();
    let bytes = film(b"film", &[&picture(&[]), &track(b"meta", 2, &[&tables])]);
    let length = bytes.len();
    let mut file = Watched {
        file: Cursor::new(bytes),
        largest: 0,
        all: 0,
    };
    inspect(&mut file, length as u64).unwrap();
    assert!(file.largest <= 16 * 1_024, "{}", file.largest);
    let expected = tables.len()..tables.len() + 40_000;
    assert!(expected.contains(&file.all), "{} bytes were read", file.all);
    strip(&mut file, length as u64, &mut io::sink()).unwrap();
}

/// What a part of a fragment says: flags and numbers of its header, and the same of its runs.
type Part<'a> = (&'a [u32], &'a [&'a [u32]]);

fn fragment(parts: &[Part]) -> Vec<u8> {
    let flagged = |kind: &[u8; 4], numbers: &[u32]| {
        let raw: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        write(kind, &[&raw])
    };
    let parts: Vec<u8> = parts
        .iter()
        .flat_map(|(header, runs)| {
            let runs: Vec<u8> = runs.iter().flat_map(|run| flagged(b"trun", run)).collect();
            write(b"traf", &[&flagged(b"tfhd", header), &runs])
        })
        .collect();
    write(b"moof", &[&write(b"mfhd", &[&[0; 8]]), &parts])
}

#[test]
fn samples_in_fragments_go_with_their_track() {
    let defaults = |id: u32, size: u32| numbers(b"trex", &[id, 1, 0, size, 0]);
    let extended = write(b"mvex", &[&defaults(1, 2), &defaults(2, 3)]);
    let tracks = [picture(&[]), track(b"meta", 2, &[]), extended].concat();
    let start = [file_type(b"isomiso5"), movie(&[&tracks])].concat();
    let before = start.len() as u32;
    let of = |why: &str, samples: &[u8], parts: &dyn Fn(u32) -> Vec<u8>| {
        let length = parts(0).len() as u32;
        let fragment = parts(length + 8);
        let film = write(b"mdat", &[samples]);
        check(&[start.clone(), fragment, film].concat(), why);
    };
    // The first number of a header or a run are its flags; `at` is where the film begins in the fragment.
    of("from the fragment", b"vvvvGGGGG", &|at| {
        let foreign: Part = (&[0x2_0000, 2], &[&[0x201, 2, at + 4, 1, 4]]);
        fragment(&[(&[0x2_0000, 1], &[&[0x1, 2, at]]), foreign])
    });
    of("from a stated place", b"vvvvGGGGG", &|at| {
        let place = before + at;
        fragment(&[(&[0x1, 2, 0, place], &[&[0x201, 2, 4, 2, 3]])])
    });
    of("behind the part before", b"vvvvGGGvv", &|at| {
        let kept: Part = (&[0, 1], &[&[0x1, 2, at]]);
        fragment(&[kept, (&[0, 2], &[&[0, 1]]), (&[0, 1], &[&[0, 1]])])
    });
    of("runs that follow each other", b"GGGGGGvGGGG", &|at| {
        let runs: [&[u32]; 3] = [
            &[0x1, 1, at],
            &[0, 1],
            &[0xf05, 2, at + 7, 9, 8, 1, 9, 9, 8, 3, 9, 9],
        ];
        fragment(&[(&[0x2_0000, 2], &runs)])
    });
    of("a size of its own", b"vGGGGGGGGGG", &|at| {
        fragment(&[(&[0x2_001a, 2, 1, 9, 5], &[&[0x1, 2, at + 1]])])
    });
    of("a track that is nowhere", b"vvGGGGvv", &|at| {
        fragment(&[(&[0x2_0010, 77, 2], &[&[0x1, 2, at + 2]])])
    });
    of("across a sample that stays", b"GGvvvvGGG", &|at| {
        let foreign: Part = (&[0x2_0000, 2], &[&[0x1, 3, at]]);
        fragment(&[foreign, (&[0x2_0000, 1], &[&[0x1, 2, at + 2]])])
    });
    of("numbers that lie", b"GGGGGG", &|at| {
        let runs: [&[u32]; 4] = [
            &[0x201, u32::MAX, at, 6],
            &[0x1, u32::MAX, i32::MIN as u32],
            &[0x1, u32::MAX, i32::MAX as u32],
            &[0x1],
        ];
        let far: Part = (
            &[0x1, 2, u32::MAX, u32::MAX],
            &[&[0, u32::MAX], &[0x1, 1, 5]],
        );
        fragment(&[(&[0x2_0000, 2], &runs), far, (&[0x2_0000], &[])])
    });
}

#[test]
fn ranges_are_cut() {
    let ranges = |pairs: &[(u64, u64)]| -> Vec<Range<u64>> {
        pairs.iter().map(|(start, end)| *start..*end).collect()
    };
    for (all, cuts, left) in [
        ([(0, 10)].as_slice(), [].as_slice(), [(0, 10)].as_slice()),
        (&[(5, 8), (0, 5), (2, 3)], &[], &[(0, 8)]),
        (&[(0, 10)], &[(2, 4), (3, 5), (9, 20)], &[(0, 2), (5, 9)]),
        (&[(0, 4), (6, 10)], &[(3, 7)], &[(0, 3), (7, 10)]),
        (&[(3, 5)], &[(0, u64::MAX)], &[]),
        (&[(3, 5), (7, 9)], &[(5, 7)], &[(3, 5), (7, 9)]),
    ] {
        let done = without(merged(ranges(all)), &merged(ranges(cuts)));
        assert_eq!(done, ranges(left));
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Chunks of three tracks in any order, each with its samples.
    #[test]
    fn whatever_the_layout_exactly_the_samples_that_go_are_zeros(
        chunks in proptest::collection::vec(
            (0_usize..3, proptest::collection::vec(0_u32..6, 1..5), 0_usize..3), 1..30),
    ) {
        let mut samples = vec![GONE];
        // The first is there in any case, so that something goes.
        let mut tables = [(); 3].map(|()| (vec![], vec![], vec![]));
        tables[2] = (vec![FILM], vec![1], vec![1]);
        for (track, sizes, space) in &chunks {
            let (places, counts, all) = &mut tables[*track];
            places.push(FILM + samples.len() as u32);
            counts.push(sizes.len() as u32);
            all.extend(sizes);
            let length: u32 = sizes.iter().sum();
            samples.extend(vec![[b'v', b'a', GONE][*track]; length as usize]);
            samples.extend(vec![b'.'; *space]);
        }
        let tables = tables.map(|(places, counts, sizes)| {
            let entries = counts.iter().zip(1..);
            let entries: Vec<u32> = entries.flat_map(|(count, chunk)| [chunk, *count, 1]).collect();
            [
                numbers(b"stco", &[&[places.len() as u32], &places[..]].concat()),
                numbers(b"stsc", &[&[counts.len() as u32], &entries[..]].concat()),
                numbers(b"stsz", &[&[0, sizes.len() as u32], &sizes[..]].concat()),
            ]
            .concat()
        });
        let [first, second, third] = &tables;
        let foreign = track(b"meta", 3, &[third]);
        let sound = track(b"soun", 2, &[second]);
        check(&film(&samples, &[&foreign, &picture(&[first]), &sound]), "a layout");
    }

    /// Numbers anywhere in the tables and fragments.
    #[test]
    fn damaged_tables_are_no_panic_and_what_stays_is_untouched(
        changes in proptest::collection::vec((any::<u16>(), any::<u32>(), 0_usize..4), 1..8),
    ) {
        let kept = [numbers(b"stco", &[1, FILM]), numbers(b"stsz", &[4, 1])].concat();
        let tables = [
            numbers(b"stco", &[2, FILM + 4, FILM + 9]),
            numbers(b"stsc", &[1, 1, 2, 1]),
            numbers(b"stsz", &[0, 4, 1, 2, 3, 1]),
        ];
        let mut foreign = track(b"meta", 2, &[&tables.concat()]);
        let mut moving = fragment(&[(&[0x10, 2, 5], &[&[0x201, 2, 9, 1, 4]]), (&[0, 2], &[&[0, 9]])]);
        for (place, number, value) in changes {
            let target = if place % 2 == 0 { &mut foreign } else { &mut moving };
            let tail = target.len().min(90);
            let start = target.len() - tail;
            let place = start + usize::from(place) % (tail - 4);
            let value = [number, 0, u32::MAX, number % 64][value];
            target[place..place + 4].copy_from_slice(&value.to_be_bytes());
        }
        let bytes = [film(b"vvvvGGG..GGGGrest", &[&picture(&[&kept]), &foreign]), moving].concat();
        if look(&bytes, ProofType::Video).is_ok() {
            let clean = stripped(&bytes, MP4).unwrap();
            prop_assert_eq!(clean.len(), bytes.len());
            prop_assert_eq!(&clean[..FILM as usize + 4], &bytes[..FILM as usize + 4]);
            prop_assert!(look(&clean, ProofType::Video).is_ok());
        }
    }
}
