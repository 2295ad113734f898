//! The samples that a film says it has are in the file.

use super::*;

/// Where chunks are, how many samples they have, and their sizes.
type Tables<'a> = [&'a [u32]; 3];

const MANY: &[u32] = &[1, u32::MAX];
/// All samples are in the first chunk.
const ALL: &[u32] = &[1, 1, u32::MAX, 1];
const ONE_EACH: &[u32] = &[1, 1, 1, 1];

fn of(kind: &[u8; 4], [places, counts, sizes]: Tables) -> Vec<u8> {
    let places = numbers(b"stco", &[&[places.len() as u32], places].concat());
    let tables = [numbers(b"stsc", counts), numbers(b"stsz", sizes)].concat();
    let track = track(kind, 2, &[&places, &tables]);
    film(&[b'v'; 40], &[&picture(&[]), &track])
}

#[test]
fn a_film_has_all_the_samples_that_it_says_it_has() {
    let fine: [(&[u8; 4], Tables); 4] = [
        (b"vide", [&[FILM, FILM + 20], &[1, 1, 2, 1], &[10, 4]]),
        (b"vide", [&[FILM], ALL, &[0, 2, 30, 10]]),
        // A unit of sound may be less than a byte.
        (b"soun", [&[FILM], ALL, MANY]),
        // What goes may say what it likes.
        (b"meta", [&[FILM, 7], ALL, MANY]),
    ];
    for (kind, tables) in fine {
        let looked = look(&of(kind, tables), ProofType::Video);
        assert_eq!(looked.err(), None, "{tables:?}");
    }
    let missing: [(&[u8; 4], Tables); 4] = [
        (b"vide", [&[40], ALL, MANY]),
        (b"vide", [&[FILM], ONE_EACH, &[9_000, 1]]),
        (b"soun", [&[FILM, u32::MAX], ONE_EACH, &[2, 2]]),
        (b"soun", [&[9_000], ALL, MANY]),
    ];
    for (kind, tables) in missing {
        assert_eq!(error(&of(kind, tables)), "is truncated", "{tables:?}");
    }
    let far = numbers(b"co64", &[1, u32::MAX, u32::MAX - 1]);
    let far = picture(&[&far, &numbers(b"stsz", &[3, 1])]);
    assert_eq!(error(&film(b"film", &[&far])), "is truncated");
}

#[test]
fn every_form_of_sizes_is_counted() {
    let wide = |bits: u8, count: u8, sizes: &[u8]| {
        write(b"stz2", &[&[0; 7], &[bits], &[0, 0, 0, count], sizes])
    };
    let same = numbers(b"stsz", MANY);
    let aac = write(b"mp4a", &[&[0; 28]]);
    let aac = write(b"stsd", &[&[0; 4], &[0, 0, 0, 1], &aac]);
    for (kind, sizes, expected) in [
        (b"vide", wide(4, 3, b"\x77\x70"), None),
        (b"vide", wide(8, 2, b"\x14\x14"), None),
        (b"vide", wide(16, 1, b"\x00\x28"), None),
        (b"vide", wide(8, 200, &[255; 200]), Some("is truncated")),
        (b"vide", wide(16, 1, b"\xff\xff"), Some("is truncated")),
        // Fewer than it says, and of a width that there is not.
        (b"vide", wide(4, 200, b"\x11"), Some("is damaged")),
        (b"vide", wide(16, 9, b"\x00\x01"), Some("is damaged")),
        (b"vide", wide(7, 1, b"\x01"), Some("is damaged")),
        (
            b"vide",
            numbers(b"stsz", &[2, u32::MAX]),
            Some("is truncated"),
        ),
        (
            b"soun",
            numbers(b"stsz", &[2, u32::MAX]),
            Some("is truncated"),
        ),
        // Only sound that is not AAC is counted in units.
        (b"soun", same.clone(), None),
        (b"soun", [aac, same].concat(), Some("is truncated")),
    ] {
        let tables = [numbers(b"stco", &[1, FILM]), numbers(b"stsc", ALL)].concat();
        let track = track(kind, 2, &[&tables, &sizes]);
        let bytes = film(&[b'v'; 40], &[&picture(&[]), &track]);
        let is_fine = look(&bytes, ProofType::Video).is_ok();
        let told = (!is_fine).then(|| error(&bytes));
        assert_eq!(told.as_deref(), expected, "{sizes:?}");
    }
}

#[test]
fn tables_of_what_stays_agree_with_each_other() {
    let wrong: [Tables; 3] = [
        // Fewer sizes than samples.
        [&[FILM], ALL, &[0, 3, 1, 1]],
        // Samples in no chunk.
        [&[FILM], &[1, 1, 3, 1], &[2, 5]],
        [&[], ALL, MANY],
    ];
    for tables in wrong {
        assert_eq!(error(&of(b"vide", tables)), "is damaged", "{tables:?}");
    }
    let cut = numbers(b"stco", &[2, FILM]);
    let cut = picture(&[&cut, &numbers(b"stsz", &[1, 1])]);
    assert_eq!(error(&film(b"film", &[&cut])), "is damaged");
}

#[test]
fn a_film_in_fragments_has_all_the_samples_that_it_says_it_has() {
    let with = |run: &[u32]| {
        let moving = fragment(&[(&[0x11, 1, 0, FILM, 1], &[run])]);
        [film(b"film", &[&picture(&[])]), moving].concat()
    };
    assert_eq!(look(&with(&[0, 4]), ProofType::Video).err(), None);
    assert_eq!(error(&with(&[0, u32::MAX])), "is truncated");
    assert_eq!(error(&with(&[0x200, 1, 9_000])), "is truncated");
    // Fewer sizes than samples. Each has a duration, or a time, too, and they are not there.
    for run in [&[0x200, 3, 1][..], &[0x100, 3], &[0xa00, 2, 1, 9, 1]] {
        assert_eq!(error(&with(run)), "is damaged", "{run:?}");
    }
    assert_eq!(look(&with(&[0x100, 1, 9]), ProofType::Video).err(), None);
    // Nobody says how long they are.
    let moving = |count| fragment(&[(&[0x1, 1, 0, FILM], &[&[0, count]])]);
    let with = |count| [film(b"film", &[&picture(&[])]), moving(count)].concat();
    assert_eq!(error(&with(u32::MAX)), "is damaged");
    assert_eq!(look(&with(0), ProofType::Video).err(), None);
}
