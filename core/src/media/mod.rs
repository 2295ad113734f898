//! Inspects the files that workers send as proof. A file is hostile until it has been read.
//!
//! Only the content decides what a file is: its first bytes, then decoding it. A picture that a
//! browser shows is accepted, whatever is wrong with its metadata. Memory and time are bounded.
//! Nothing is re-encoded but previews.
//!
//! Only the first image of a file counts. Phones append other things to it (a brightness map, a
//! short film). They are accepted when they are complete, and [`strip`] removes them: only what
//! `strip` wrote may be shown to others.

mod exif;
mod jpeg;
mod mp4;
mod perceptual_hash;
mod png;
mod preview;
mod sample;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use crate::domain::tasks::ProofType;

pub use exif::Exif;
pub use perceptual_hash::hash_distance;
pub use preview::{Preview, preview};
pub use sample::sample;

/// A larger picture is refused by its header: no phone takes such photos, and decoding costs too much.
pub const MAX_PIXELS: u64 = 50_000_000;

/// The longest side that a JPEG can state. It bounds the memory of one row.
const MAX_SIDE: u32 = 65_535;

/// So many bytes after the end of a picture are a program's mistake, not a second file. The
/// shortest file that is read from its end, an empty ZIP, has 22 bytes.
const TOLERATED_REST: usize = 16;

pub const JPEG: &str = "image/jpeg";
pub const PNG: &str = "image/png";
pub const MP4: &str = "video/mp4";

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspected {
    /// `image/jpeg`, `image/png` or `video/mp4`.
    pub content_type: &'static str,
    /// As stored: a viewer may rotate the picture by its orientation.
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub exif: Exif,
    /// Identifies the photo after re-compression or resizing, by [`hash_distance`]. None for a photo
    /// of a single shade or with a side of less than 64 pixels: it would resemble all others like it.
    pub perceptual_hash: Option<u64>,
}

/// Why a file is refused, for its sender. The text follows the name of a field: "is truncated".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rejection(Cow<'static, str>);

impl Rejection {
    const TRUNCATED: Self = Self::of("is truncated");
    const DAMAGED: Self = Self::of("is damaged");
    const APPENDED: Self = Self::of("has other data after the end of the image");

    const fn of(sentence: &'static str) -> Self {
        Self(Cow::Borrowed(sentence))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The sender's file is wrong.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// Our disk failed.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// Reads a file from disk and says what it is, or why it is not what is expected.
pub fn inspect(path: &Path, expected: ProofType) -> Result<Inspected, InspectError> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    inspect_from(file, length, expected)
}

fn inspect_from(
    mut file: impl Read + Seek,
    length: u64,
    expected: ProofType,
) -> Result<Inspected, InspectError> {
    let most = expected.max_bytes();
    if length > most {
        let sentence = format!(
            "has {} bytes; the limit is {}",
            grouped(length),
            grouped(most)
        );
        return Err(Rejection(sentence.into()).into());
    }
    let start = &all(&mut file, 16)?[..];
    if start.is_empty() {
        return Err(Rejection::of("is empty").into());
    }
    file.rewind()?;
    match expected {
        ProofType::Video if mp4::is_it(start) => mp4::inspect(&mut file, length),
        ProofType::Photo if jpeg::is_it(start) => Ok(jpeg::inspect(&all(file, length)?)?),
        ProofType::Photo if png::is_it(start) => Ok(png::inspect(&all(file, length)?, true)?),
        ProofType::Signature if png::is_it(start) => Ok(png::inspect(&all(file, length)?, false)?),
        _ => Err(wrong_kind(start, expected).into()),
    }
}

/// Writes the file without EXIF, XMP, IPTC, comments, thumbnails and appended data. The picture
/// stays as it is, byte for byte; its orientation stays in an EXIF block that contains nothing else.
/// A video keeps its length: what is removed becomes empty space.
///
/// For files that [`inspect`] accepted. Others fail as invalid data, perhaps after a part has been
/// written.
pub fn strip(source: &Path, target: &mut impl Write, content_type: &str) -> io::Result<()> {
    let mut file = File::open(source)?;
    let length = file.metadata()?.len();
    let most = length.min(ProofType::Photo.max_bytes());
    let done = match content_type {
        JPEG => jpeg::strip(&all(file, most)?, target),
        PNG => png::strip(&all(file, most)?, target),
        MP4 => mp4::strip(&mut file, length, target),
        _ => Err(Rejection::of("has an unknown type").into()),
    };
    done.map_err(|e| match e {
        InspectError::Rejected(why) => io::Error::new(io::ErrorKind::InvalidData, why),
        InspectError::Unreadable(e) => e,
    })
}

/// All bytes up to a limit, by which memory is taken: a file may have grown since its length was read.
fn all(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(most).unwrap_or(0));
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn wrong_kind(start: &[u8], expected: ProofType) -> Rejection {
    let wanted = match expected {
        ProofType::Photo => "must be a JPEG or PNG image",
        ProofType::Video => "must be an MP4 video",
        ProofType::Signature => "must be a PNG image",
    };
    match familiar(start) {
        Some(name) => Rejection(format!("{wanted}, not {name}").into()),
        None => Rejection::of(wanted),
    }
}

/// The name of a format that people send by mistake. It only helps the sender; nothing depends on it.
fn familiar(start: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| {
        let tail = start.get(offset..);
        tail.is_some_and(|tail| tail.starts_with(magic))
    };
    let names: [(usize, &[u8], &str); 13] = [
        (0, b"\xff\xd8\xff", "JPEG"),
        (0, &png::SIGNATURE, "PNG"),
        (0, b"GIF8", "GIF"),
        (8, b"WEBP", "WebP"),
        (8, b"AVI ", "AVI"),
        (4, b"ftyphei", "HEIC"),
        (4, b"ftypmif1", "HEIC"),
        (4, b"ftypavif", "AVIF"),
        (4, b"ftypqt  ", "QuickTime"),
        (4, b"ftyp", "a video"),
        (0, b"\x1a\x45\xdf\xa3", "WebM or Matroska"),
        (0, b"%PDF", "PDF"),
        (0, b"PK\x03\x04", "ZIP"),
    ];
    let found = names.iter().find(|(offset, magic, _)| at(*offset, magic));
    found.map(|(_, _, name)| *name)
}

/// Refuses a picture by its header, before memory is allocated for it.
fn check_size(width: u32, height: u32) -> Result<(), Rejection> {
    if width == 0 || height == 0 {
        return Err(Rejection::DAMAGED);
    }
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS {
        let (pixels, most) = (grouped(pixels), grouped(MAX_PIXELS));
        let sentence = format!("has {pixels} pixels; the limit is {most}");
        return Err(Rejection(sentence.into()));
    }
    if width.max(height) > MAX_SIDE {
        let most = grouped(MAX_SIDE.into());
        let sentence = format!("is {width} x {height} pixels; the limit for a side is {most}");
        return Err(Rejection(sentence.into()));
    }
    Ok(())
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Integers at an offset; none if the file ends before it.
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let raw = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(raw.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let raw = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(raw.try_into().ok()?))
}

fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    let raw = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_be_bytes(raw.try_into().ok()?))
}
