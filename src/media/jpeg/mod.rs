//! JPEG: its segments, and what of them is kept.

mod appended;
mod frame;
mod huffman;
mod scan;
mod segments;
#[cfg(test)]
mod tests;

use std::io::Write;

use super::{Exif, InspectError, Inspected, JPEG, Rejection, exif, likeness};
use crate::media::jpeg::scan::Decoder;
use crate::media::jpeg::segments::Segments;

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const DQT: u8 = 0xdb;
const DHT: u8 = 0xc4;
const DRI: u8 = 0xdd;
const DNL: u8 = 0xdc;
const APP0: u8 = 0xe0;
const APP1: u8 = 0xe1;
const APP2: u8 = 0xe2;
const APP14: u8 = 0xee;

const EXIF: &[u8] = b"Exif\0\0";

pub fn is_it(start: &[u8]) -> bool {
    start.starts_with(&[0xff, SOI, 0xff])
}

/// Decodes the whole picture as far as its shades: all of its codes are read, no pixel is computed.
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
        perceptual_hash: likeness::hash(&picture.blocks),
    })
}

/// Keeps what is needed to decode and to show the right colours and the right way up.
pub fn strip(bytes: &[u8], target: &mut impl Write) -> Result<(), InspectError> {
    target.write_all(&[0xff, SOI])?;
    // JFIF must come first, if it is there.
    let first = Segments::new(bytes).next().transpose()?;
    if let Some(jfif) = first.and_then(|s| (s.marker == APP0).then(|| plain_jfif(s.body))?) {
        write_segment(target, APP0, &jfif)?;
    }
    if let Some(orientation) = orientation(bytes)? {
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

fn orientation(bytes: &[u8]) -> Result<Option<u8>, Rejection> {
    for segment in Segments::new(bytes) {
        let segment = segment?;
        if segment.marker == APP1
            && let Some(block) = segment.body.strip_prefix(EXIF)
            && let Some(orientation) = exif::orientation(block)
        {
            return Ok(Some(orientation));
        }
    }
    Ok(None)
}

/// What stays of a segment. Of the APPn segments only the colour profile and the kind of colours;
/// comments, and markers that no decoder needs, go.
fn kept(marker: u8, body: &[u8]) -> Option<&[u8]> {
    match marker {
        APP2 => body.starts_with(b"ICC_PROFILE\0").then_some(body),
        APP14 => body.get(..12).filter(|body| body.starts_with(b"Adobe")),
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
