//! Where samples lie. The boxes of a track only say where; the bytes themselves stand in `mdat`, between
//! those of other tracks. So it is not enough to remove the boxes of a track.

mod chunks;
mod fragments;
mod table;
#[cfg(test)]
mod tests;

use std::io::{Read, Seek};
use std::ops::Range;

use super::super::{InspectError, Rejection};
use super::handler;
use super::tree::{Kind, Node, Tree};

/// Chunks and runs of all tracks, those that touch counted as one. A film of 100 MB that has more has less
/// than 400 bytes in each.
const MAX_PIECES: usize = 250_000;

struct Track<'a> {
    node: &'a Node,
    handler: Option<Kind>,
}

impl Track<'_> {
    fn is_foreign(&self) -> bool {
        super::is_other(self.handler)
    }
}

fn tracks<'a>(
    tree: &'a Tree,
    file: &mut (impl Read + Seek),
) -> Result<Vec<Track<'a>>, InspectError> {
    let mut tracks = Vec::new();
    for node in tree.all(*b"trak") {
        let handler = handler(tree, file, node)?;
        tracks.push(Track { node, handler });
    }
    Ok(tracks)
}

/// A chunk or a run, as the tables tell it.
struct Piece {
    is_foreign: bool,
    start: u64,
    length: u64,
    told: Told,
}

/// What the tables tell of the length of a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Exactly,
    /// QuickTime counts sound that is not AAC in units, each of which it calls a byte.
    InUnits,
    /// There are fewer sizes than samples, or what else a table says of each.
    InPart,
}

/// Parts of the file that belong to tracks.
#[derive(Default)]
struct Pieces {
    foreign: Vec<Range<u64>>,
    kept: Vec<Range<u64>>,
}

impl Pieces {
    fn add(&mut self, piece: &Piece) -> Result<(), Rejection> {
        let (start, end) = (piece.start, piece.start.saturating_add(piece.length));
        let pieces = match piece.is_foreign {
            true => &mut self.foreign,
            false => &mut self.kept,
        };
        match pieces.last_mut() {
            _ if start == end => {}
            Some(last) if last.end == start => last.end = end,
            _ => pieces.push(start..end),
        }
        match self.foreign.len() + self.kept.len() > MAX_PIECES {
            true => Err(Rejection::of("has too many pieces")),
            false => Ok(()),
        }
    }
}

/// The samples of all tracks that are neither picture nor sound, in the order of the file, none across
/// another. All lie in the film, and none touches a sample of a track that stays, whatever the tables say.
pub fn foreign(
    tree: &Tree,
    file: &mut (impl Read + Seek),
) -> Result<Vec<Range<u64>>, InspectError> {
    let tracks = tracks(tree, file)?;
    let mut pieces = Pieces::default();
    fragments::each(tree, file, &tracks, |piece| pieces.add(piece))?;
    if !pieces.foreign.is_empty() || tracks.iter().any(Track::is_foreign) {
        for track in &tracks {
            chunks::each(tree, file, track, |piece| pieces.add(piece))?;
        }
    }
    pieces.kept.extend(outside_of_the_film(tree));
    Ok(without(merged(pieces.foreign), &merged(pieces.kept)))
}

/// The file has every sample that pictures and sound say they have. How many there are said to be is believed only as
/// far as the tables reach, so the work is in proportion to the file.
pub fn check(tree: &Tree, file: &mut (impl Read + Seek)) -> Result<(), InspectError> {
    let tracks = tracks(tree, file)?;
    fragments::each(tree, file, &tracks, |piece| has(tree, piece))?;
    for track in tracks.iter().filter(|track| !track.is_foreign()) {
        let is_complete = chunks::each(tree, file, track, |piece| has(tree, piece))?;
        if !is_complete {
            return Err(Rejection::DAMAGED.into());
        }
    }
    Ok(())
}

fn has(tree: &Tree, piece: &Piece) -> Result<(), Rejection> {
    let length = match piece.told {
        _ if piece.is_foreign => return Ok(()),
        Told::InPart => return Err(Rejection::DAMAGED),
        _ if piece.length == 0 => return Ok(()),
        Told::Exactly => piece.length,
        Told::InUnits => 1,
    };
    match piece.start.checked_add(length) {
        Some(end) if end <= tree.length => Ok(()),
        _ => Err(Rejection::TRUNCATED),
    }
}

fn outside_of_the_film(tree: &Tree) -> Vec<Range<u64>> {
    let mut outside = Vec::new();
    let mut at = 0;
    for film in tree.all(*b"mdat") {
        outside.push(at..film.body);
        at = film.end;
    }
    outside.push(at..u64::MAX);
    outside
}

fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    ranges
}

/// Both are in order, and each range stands alone.
fn without(ranges: Vec<Range<u64>>, cuts: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    for Range { mut start, end } in ranges {
        let first = cuts.partition_point(|cut| cut.end <= start);
        for cut in cuts[first..].iter().take_while(|cut| cut.start < end) {
            left.push(start..cut.start);
            start = cut.end;
        }
        left.push(start..end);
    }
    // Where a cut begins before a range or ends behind it, nothing is left on that side.
    left.retain(|range| range.start < range.end);
    left
}
