//! Where a film was made, as phones write it: `+37.7749-122.4194+010/`.

use std::io::{Read, Seek};

use super::super::{InspectError, be32};
use super::tree::{Node, Tree};

/// The name of the place in Apple's list of names.
const APPLE: &[u8] = b"com.apple.quicktime.location.ISO6709";

/// Phones write some hundred bytes of notes.
const MOST: u64 = 16 * 1_024;

pub fn read(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    movie: &Node,
) -> Result<Option<(f64, f64)>, InspectError> {
    for (kind, text) in [
        (*b"udta", text_of_notes as fn(&[u8]) -> Option<&[u8]>),
        (*b"meta", text_of_apple),
    ] {
        if let Some(node) = tree.child(movie, kind) {
            let notes = tree.head(file, node, MOST)?;
            let text = text(&notes).and_then(|text| std::str::from_utf8(text).ok());
            if let Some(place) = text.and_then(coordinates) {
                return Ok(Some(place));
            }
        }
    }
    Ok(None)
}

/// The box `©xyz`, behind a length and a language.
fn text_of_notes(notes: &[u8]) -> Option<&[u8]> {
    find(notes, b"\xa9xyz")?.get(4..)
}

/// iPhones: a list of names, then a list of values, each under the number of its name.
fn text_of_apple(notes: &[u8]) -> Option<&[u8]> {
    // MP4 has four bytes in front of the boxes, QuickTime does not.
    let notes = match notes.get(4..8)? {
        b"hdlr" => notes,
        _ => notes.get(4..)?,
    };
    let names = find(notes, b"keys")?.get(8..)?;
    let number = boxes(names).position(|(_, name)| name == APPLE)? + 1;
    let number = u32::try_from(number).ok()?.to_be_bytes();
    let value = find(find(notes, b"ilst")?, &number)?;
    find(value, b"data")?.get(8..)
}

fn find<'a>(bytes: &'a [u8], kind: &[u8; 4]) -> Option<&'a [u8]> {
    let mut found = boxes(bytes).filter(|(found, _)| *found == kind);
    found.next().map(|(_, body)| body)
}

/// Small boxes, up to the first that does not fit.
fn boxes(mut rest: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let size = usize::try_from(be32(rest, 0)?).ok()?;
        let (kind, body) = (rest.get(4..8)?, rest.get(8..size)?);
        rest = &rest[size..];
        Some((kind, body))
    })
}

/// Two numbers, each with its sign. Whatever follows (height, reference system) is not read.
fn coordinates(text: &str) -> Option<(f64, f64)> {
    let second = text.get(1..)?.find(['+', '-'])? + 1;
    let rest = text.get(second + 1..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let end = end.map_or(text.len(), |end| second + 1 + end);
    let latitude: f64 = text.get(..second)?.parse().ok()?;
    let longitude: f64 = text.get(second..end)?.parse().ok()?;
    let sound = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
    (sound && (latitude != 0.0 || longitude != 0.0)).then_some((latitude, longitude))
}
