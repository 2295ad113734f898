//! Looks into the files that workers send as proof. A file is hostile until it has been read.
//!
//! What a file is, is decided by its content alone: by its first bytes and then by decoding it.
//! Everything here is bounded by what is on disk, never by what the file claims. Nothing is
//! re-encoded.
//!
//! A picture is judged by its first image. What phones append to one (a brightness map, a short
//! film) is let through when it is whole, and never gets past [`strip`]: only what `strip` wrote is
//! fit to be shown to others.

mod exif;
mod jpeg;
mod likeness;
mod mp4;
mod png;
mod sample;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use crate::domain::tasks::ProofType;

pub use exif::Exif;
pub use likeness::hash_distance;
pub use sample::sample;

/// A larger picture is refused from its header: it is no photo of a phone, and costs too much.
pub const MAX_PIXELS: u64 = 50_000_000;

/// The longest side that a JPEG can state. It bounds the memory of one row.
const MAX_SIDE: u32 = 65_535;

/// Behind the end of a picture, so much of anything is a slip of some program, not a second file.
/// The shortest file that is read from its end, an empty ZIP, has 22 bytes.
const TOLERATED_REST: usize = 16;

pub const JPEG: &str = "image/jpeg";
pub const PNG: &str = "image/png";
pub const MP4: &str = "video/mp4";

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspected {
    /// `image/jpeg`, `image/png` or `video/mp4`.
    pub content_type: &'static str,
    /// As stored: a viewer may turn the picture by its orientation.
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub exif: Exif,
    /// Finds the same photo again after it was compressed or resized anew, by [`hash_distance`].
    /// A photo that shows nothing but one shade, or has a side of less than 64 pixels, has none: it
    /// would resemble all others like it.
    pub perceptual_hash: Option<u64>,
}

/// Why a file is not taken, in words for its sender that follow its name: "is cut off".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rejection(Cow<'static, str>);

impl Rejection {
    const CUT_OFF: Self = Self::of("is cut off");
    const DAMAGED: Self = Self::of("is damaged");
    const APPENDED: Self = Self::of("has other data behind the end of the picture");

    const fn of(sentence: &'static str) -> Self {
        Self(Cow::Borrowed(sentence))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The sender's file.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// Our disk.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// Reads a file that lies on disk and says what it is, or why it is not what is expected.
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
            "has {} bytes, at most {} are taken",
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
        ProofType::Photo if jpeg::is_it(start) => Ok(jpeg::inspect(&all(file, most)?)?),
        ProofType::Photo if png::is_it(start) => Ok(png::inspect(&all(file, most)?, true)?),
        ProofType::Signature if png::is_it(start) => Ok(png::inspect(&all(file, most)?, false)?),
        _ => Err(wrong_kind(start, expected).into()),
    }
}

/// Writes the file without EXIF, XMP, IPTC, comments, thumbnails and whatever is appended to it.
/// The picture itself stays as it is, byte for byte; its orientation stays in an EXIF block that
/// says nothing else. A video keeps its length: what is removed becomes empty space.
///
/// For files that [`inspect`] has let through; others are refused as invalid data, perhaps after a
/// part has been written.
pub fn strip(source: &Path, target: &mut impl Write, content_type: &str) -> io::Result<()> {
    let mut file = File::open(source)?;
    let most = ProofType::Photo.max_bytes();
    let done = match content_type {
        JPEG => jpeg::strip(&all(file, most)?, target),
        PNG => png::strip(&all(file, most)?, target),
        MP4 => {
            let length = file.metadata()?.len();
            mp4::strip(&mut file, length, target)
        }
        _ => Err(Rejection::of("is of a type that is not known").into()),
    };
    done.map_err(|e| match e {
        InspectError::Rejected(why) => io::Error::new(io::ErrorKind::InvalidData, why),
        InspectError::Unreadable(e) => e,
    })
}

/// All bytes, up to the most that are wanted: a file may have grown since its length was read.
fn all(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
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

/// The name of what people send by mistake. It only helps the sender; nothing is decided by it.
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

/// Refuses a picture by what its header claims, before memory is set aside for it.
fn check_size(width: u32, height: u32) -> Result<(), Rejection> {
    if width == 0 || height == 0 {
        return Err(Rejection::DAMAGED);
    }
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS {
        let (pixels, most) = (grouped(pixels), grouped(MAX_PIXELS));
        let sentence = format!("has {pixels} pixels, at most {most} are taken");
        return Err(Rejection(sentence.into()));
    }
    if width.max(height) > MAX_SIDE {
        let most = grouped(MAX_SIDE.into());
        let sentence = format!("is {width} x {height} pixels, a side may have at most {most}");
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

/// Whole numbers at a place in a file that may end before it.
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
