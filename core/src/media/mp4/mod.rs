//! MP4: a tree of boxes. Only their headers and a few small boxes are read, never the film itself,
//! so memory does not grow with the file.

mod place;
mod samples;
mod strip;
#[cfg(test)]
mod tests;
mod tree;

use std::io::{Read, Seek};

use super::{Exif, InspectError, Inspected, MP4, Rejection, be32, be64};
use crate::domain::Timestamp;
use crate::media::mp4::tree::{Kind, Node, Tree};

pub use strip::strip;

/// Brands that say: this is an MP4. QuickTime (`qt  `) is a close relative, which iPhones write. Browsers
/// play it as MP4 if its tracks are what MP4 has; a file that claims both is taken as it is.
const BRANDS: [&[u8; 4]; 18] = [
    b"isom", b"iso2", b"iso3", b"iso4", b"iso5", b"iso6", b"iso7", b"iso8", b"iso9", b"mp41",
    b"mp42", b"mp71", b"avc1", b"M4V ", b"M4VH", b"M4VP", b"MSNV", b"dash",
];

/// H.264 and HEVC, as the descriptions of tracks name them, and AAC.
const PLAYED_PICTURES: [&[u8; 4]; 4] = [b"avc1", b"avc3", b"hvc1", b"hev1"];
const PLAYED_SOUND: &[u8; 4] = b"mp4a";

const NOT_PLAYED: Rejection =
    Rejection::of("must be an MP4 video, or QuickTime with H.264 or HEVC and AAC");

/// Seconds from 1904, where MP4 starts to count, to 1970.
const FROM_1904: u64 = 2_082_844_800;

/// The end of the year 9998, in seconds since 1970: the calendar does not reach much further.
const LAST_SECOND: u64 = 253_370_764_799;

pub fn is_it(start: &[u8]) -> bool {
    start.get(4..8) == Some(b"ftyp".as_slice())
}

pub fn inspect(file: &mut (impl Read + Seek), length: u64) -> Result<Inspected, InspectError> {
    let tree = Tree::read(file, length)?;
    let family = family(&tree.head(file, &tree.nodes[0], 1_024)?)?;
    let movie = the_movie(&tree)?;
    let header = tree.child(movie, *b"mvhd").ok_or(Rejection::DAMAGED)?;
    let header = tree.head(file, header, 32)?;

    let mut picture = None;
    for track in tree.children(movie).filter(|node| node.kind == *b"trak") {
        if picture.is_none() && handler(&tree, file, track)? == Some(*b"vide") {
            picture = Some(size(&tree, file, track)?);
        }
    }
    let picture = picture.ok_or(Rejection::of("has no video track"))?;
    if family == Family::QuickTime {
        check_codecs(&tree, file, movie)?;
    }
    let mut exif = taken_at(&header);
    if let Some((latitude, longitude)) = place::read(&tree, file, movie)? {
        exif.latitude = Some(latitude);
        exif.longitude = Some(longitude);
    }
    samples::check(&tree, file)?;
    // What is accepted can be stripped: it is refused here what `strip` would refuse.
    strip::edits(&tree, file)?;
    Ok(Inspected {
        content_type: MP4,
        width: picture.map(|(width, _)| width),
        height: picture.map(|(_, height)| height),
        exif,
        perceptual_hash: None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Mp4,
    QuickTime,
}

fn family(file_type: &[u8]) -> Result<Family, Rejection> {
    let major = file_type.get(..4).ok_or(Rejection::DAMAGED)?;
    let compatible = file_type.get(8..).unwrap_or_default();
    let says = |accepted: &dyn Fn(&[u8]) -> bool| compatible.chunks_exact(4).any(accepted);
    let known = |brand: &[u8]| BRANDS.iter().any(|known| *known == brand);
    match major {
        b"qt  " if says(&|brand| brand == b"mp41" || brand == b"mp42") => Ok(Family::Mp4),
        b"qt  " => Ok(Family::QuickTime),
        _ if known(major) || says(&known) => Ok(Family::Mp4),
        _ => Err(Rejection::of("must be an MP4 video")),
    }
}

/// Every picture must be one that browsers play. Of several sounds one is enough: phones add others, which
/// players pass over.
fn check_codecs(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    movie: &Node,
) -> Result<(), InspectError> {
    let (mut sounds, mut played) = (0, 0);
    for track in tree.children(movie).filter(|node| node.kind == *b"trak") {
        let codec = codec(tree, file, track)?;
        match handler(tree, file, track)?.as_ref() {
            Some(b"vide") if !PLAYED_PICTURES.iter().any(|known| codec == Some(**known)) => {
                return Err(NOT_PLAYED.into());
            }
            Some(b"soun") => {
                sounds += 1;
                played += usize::from(codec == Some(*PLAYED_SOUND));
            }
            _ => {}
        }
    }
    match sounds > 0 && played == 0 {
        true => Err(NOT_PLAYED.into()),
        false => Ok(()),
    }
}

/// How a track is coded: the name of its first description.
fn codec(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    track: &Node,
) -> Result<Option<[u8; 4]>, InspectError> {
    let path = [*b"mdia", *b"minf", *b"stbl", *b"stsd"];
    let Some(descriptions) = tree.descendant(track, &path) else {
        return Ok(None);
    };
    let head = tree.head(file, descriptions, 16)?;
    Ok(head.get(12..16).and_then(|name| name.try_into().ok()))
}

/// There is one description of the film, and a film.
fn the_movie(tree: &Tree) -> Result<&Node, Rejection> {
    let mut movies = tree.top().filter(|node| node.kind == *b"moov");
    let movie = movies
        .next()
        .ok_or(Rejection::of("is truncated or has no description (moov)"))?;
    if movies.next().is_some() {
        return Err(Rejection::DAMAGED);
    }
    if !tree.top().any(|node| node.kind == *b"mdat") {
        return Err(Rejection::of("is truncated or has no content (mdat)"));
    }
    Ok(movie)
}

/// What a track holds: `vide`, `soun` or something else.
fn handler(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    track: &Node,
) -> Result<Option<[u8; 4]>, InspectError> {
    let media = tree.child(track, *b"mdia");
    let Some(handler) = media.and_then(|media| tree.child(media, *b"hdlr")) else {
        return Ok(None);
    };
    let head = tree.head(file, handler, 12)?;
    Ok(head.get(8..12).and_then(|kind| kind.try_into().ok()))
}

/// Tracks that are neither picture nor sound hold text, or where the camera was at each moment.
fn is_foreign(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    track: &Node,
) -> Result<bool, InspectError> {
    Ok(is_other(handler(tree, file, track)?))
}

fn is_other(handler: Option<Kind>) -> bool {
    handler != Some(*b"vide") && handler != Some(*b"soun")
}

/// Whole pixels of the track header, which counts in parts of 65,536.
fn size(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    track: &Node,
) -> Result<Option<(u32, u32)>, InspectError> {
    let Some(header) = tree.child(track, *b"tkhd") else {
        return Ok(None);
    };
    let head = tree.head(file, header, 96)?;
    let at = match head.first() {
        Some(1) => 88,
        _ => 76,
    };
    let size = be32(&head, at).zip(be32(&head, at + 4));
    let whole = size.map(|(width, height)| (width >> 16, height >> 16));
    Ok(whole.filter(|(width, height)| *width > 0 && *height > 0))
}

/// When the film was made, in UTC. Zero means that nobody knows, and so does a time before 1970.
fn taken_at(header: &[u8]) -> Exif {
    let seconds = match header.first() {
        Some(0) => be32(header, 4).map(u64::from),
        Some(1) => be64(header, 4),
        _ => None,
    };
    let since_1970 = seconds.and_then(|s| s.checked_sub(FROM_1904));
    let known = since_1970.filter(|s| (1..=LAST_SECOND).contains(s));
    Exif {
        taken_at: known.map(|s| Timestamp::from_millis(s as i64 * 1_000)),
        has_offset: known.is_some(),
        ..Exif::default()
    }
}
