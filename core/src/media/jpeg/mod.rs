//! JPEG: which segments it has, and which are kept.

mod appended;
mod frame;
mod huffman;
mod scan;
mod segments;
#[cfg(test)]
mod tests;

use std::io::Write;

use self::scan::Decoder;
use self::segments::{Segment, Segments};
use super::{Exif, InspectError, Inspected, JPEG, Rejection, exif, perceptual_hash};

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const DQT: u8 = 0xdb;
const DHT: u8 = 0xc4;
const DRI: u8 = 0xdd;
const APP0: u8 = 0xe0;
const APP1: u8 = 0xe1;
const APP2: u8 = 0xe2;
const APP14: u8 = 0xee;

const EXIF: &[u8] = b"Exif\0\0";

pub fn is_it(start: &[u8]) -> bool {
    start.starts_with(&[0xff, SOI, 0xff])
}

/// Reads all codes of the picture, but computes no pixel. Damaged metadata never refuses a photo.
pub fn inspect(bytes: &[u8]) -> Result<Inspected, Rejection> {
    let mut decoder = Decoder::default();
    let mut exif = Exif::default();
    let mut end = 0;
    for segment in Segments::new(bytes) {
        let segment = segment?;
        if segment.marker == APP1
            && let Some(block) = segment.body.strip_prefix(EXIF)
            && exif == Exif::default()
        {
            exif = exif::read(block);
        }
        decoder.take(&segment)?;
        end = segment.end;
    }
    let picture = decoder.finish()?;
    appended::check(&bytes[end..])?;
    Ok(Inspected {
        content_type: JPEG,
        width: Some(picture.width),
        height: Some(picture.height),
        exif,
        perceptual_hash: perceptual_hash::hash(&picture.blocks),
    })
}

/// Keeps what is needed to decode the picture and to show it in the right colours, the right way up.
pub fn strip(bytes: &[u8], target: &mut impl Write) -> Result<(), InspectError> {
    target.write_all(&[0xff, SOI])?;
    // JFIF must come first. Decoders take it from anywhere and read the colours by it.
    if let Some(jfif) = first(bytes, |s| (s.marker == APP0).then(|| plain_jfif(s.body))?)? {
        write_segment(target, APP0, &jfif)?;
    }
    let orientation = |s: &Segment| match s.marker {
        APP1 => exif::orientation(s.body.strip_prefix(EXIF)?),
        _ => None,
    };
    if let Some(orientation) = first(bytes, orientation)? {
        let block = exif::only_orientation(orientation);
        write_segment(target, APP1, &[EXIF, &block].concat())?;
    }
    for segment in Segments::new(bytes) {
        let segment = segment?;
        if segment.marker == EOI {
            target.write_all(&[0xff, EOI])?;
        } else if let Some(body) = kept(segment.marker, segment.body) {
            write_segment(target, segment.marker, body)?;
            target.write_all(segment.data)?;
        }
    }
    Ok(())
}

/// The first thing that is found in a segment before the picture itself.
fn first<T>(bytes: &[u8], find: impl Fn(&Segment) -> Option<T>) -> Result<Option<T>, Rejection> {
    for segment in Segments::new(bytes) {
        let segment = segment?;
        if segment.marker == SOS {
            break;
        }
        if let Some(found) = find(&segment) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A start of frame. Three codes of that range are something else.
fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, DHT | 0xc8 | 0xcc)
}

/// What is kept of a segment. Of the APPn segments only the colour profile and the colour space;
/// comments, and segments that no decoder needs, are dropped.
fn kept(marker: u8, body: &[u8]) -> Option<&[u8]> {
    match marker {
        APP2 => body.starts_with(b"ICC_PROFILE\0").then_some(body),
        // Decoders ignore one that is too short, and one of a colour space that does not exist.
        APP14 => body
            .get(..12)
            .filter(|body| body.starts_with(b"Adobe") && body[11] <= 2),
        0xc0..=0xcf | SOS | DQT | DRI => Some(body),
        _ => None,
    }
}

/// Density and units, without the thumbnail that may follow them.
fn plain_jfif(body: &[u8]) -> Option<[u8; 14]> {
    let mut jfif: [u8; 14] = body.get(..14)?.try_into().ok()?;
    if !jfif.starts_with(b"JFIF\0") {
        return None;
    }
    jfif[12..].fill(0);
    Some(jfif)
}

fn write_segment(target: &mut impl Write, marker: u8, body: &[u8]) -> Result<(), InspectError> {
    let length = u16::try_from(body.len() + 2).map_err(|_| Rejection::DAMAGED)?;
    target.write_all(&[0xff, marker])?;
    target.write_all(&length.to_be_bytes())?;
    target.write_all(body)?;
    Ok(())
}
