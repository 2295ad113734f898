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
use super::is_foreign;
use super::tree::{Node, Tree};

/// Chunks and runs of all tracks, those that touch counted as one. A film of 100 MB that has more has less
/// than 400 bytes in each.
const MAX_PIECES: usize = 250_000;

struct Track<'a> {
    node: &'a Node,
    is_foreign: bool,
}

/// Parts of the file that belong to tracks.
#[derive(Default)]
struct Pieces {
    foreign: Vec<Range<u64>>,
    kept: Vec<Range<u64>>,
}

impl Pieces {
    fn add(&mut self, is_foreign: bool, start: u64, length: u64) -> Result<(), Rejection> {
        let end = start.saturating_add(length);
        let pieces = match is_foreign {
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
    let mut tracks = Vec::new();
    for node in tree.all(*b"trak") {
        let is_foreign = is_foreign(tree, file, node)?;
        tracks.push(Track { node, is_foreign });
    }
    let mut pieces = Pieces::default();
    fragments::add(tree, file, &tracks, &mut pieces)?;
    if !pieces.foreign.is_empty() || tracks.iter().any(|track| track.is_foreign) {
        for track in &tracks {
            chunks::add(tree, file, track, &mut pieces)?;
        }
    }
    pieces.kept.extend(outside_of_the_film(tree));
    Ok(without(merged(pieces.foreign), &merged(pieces.kept)))
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
