//! The samples of a film in fragments. Each fragment (`moof`) has a part for each track (`traf`) with runs of
//! samples (`trun`) that follow each other without a gap.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek};

use super::super::super::{InspectError, Rejection, be32};
use super::super::tree::{Node, Tree};
use super::table::Table;
use super::{Piece, Told, Track};

/// What a part's header has, besides the track.
const BASE: u32 = 0x1;
const DESCRIPTION: u32 = 0x2;
const DURATION: u32 = 0x8;
const SIZE: u32 = 0x10;
const FROM_FRAGMENT: u32 = 0x2_0000;

/// What a run has, besides the number of its samples: once, then for each of them.
const OFFSET: u32 = 0x1;
const FIRST_FLAGS: u32 = 0x4;
const DURATIONS: u32 = 0x100;
const SIZES: u32 = 0x200;
const FLAGS: u32 = 0x400;
const TIMES: u32 = 0x800;

/// What the description of the film says of its tracks, by their numbers.
struct Described {
    kept: BTreeSet<u32>,
    sizes: BTreeMap<u32, u32>,
}

pub fn each(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    tracks: &[Track],
    mut then: impl FnMut(&Piece) -> Result<(), Rejection>,
) -> Result<(), InspectError> {
    let mut fragments = tree.all(*b"moof").peekable();
    if fragments.peek().is_none() {
        return Ok(());
    }
    let described = Described::read(tree, file, tracks)?;
    for fragment in fragments {
        let mut at = fragment.start;
        for part in tree.children_of(fragment, *b"traf") {
            if let Some(header) = Header::read(tree, file, part)? {
                at = match (header.base, header.from_fragment) {
                    (Some(base), _) => base,
                    (None, true) => fragment.start,
                    // Where the part before ended.
                    (None, false) => at,
                };
                at = each_run(tree, file, part, (&header, &described), at, &mut then)?;
            }
        }
    }
    Ok(())
}

/// Returns where the last run ends.
fn each_run(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    part: &Node,
    (header, described): (&Header, &Described),
    base: u64,
    then: &mut impl FnMut(&Piece) -> Result<(), Rejection>,
) -> Result<u64, InspectError> {
    let size = header.size.or(described.sizes.get(&header.track).copied());
    let is_foreign = !described.kept.contains(&header.track);
    let mut at = base;
    for run in tree.children_of(part, *b"trun") {
        let (offset, length, told) = read_run(file, run, size.unwrap_or(0))?;
        if let Some(offset) = offset {
            at = base.saturating_add_signed(offset.into());
        }
        then(&Piece {
            is_foreign,
            start: at,
            length,
            told,
        })?;
        at = at.saturating_add(length);
    }
    Ok(at)
}

/// Where a run begins, if it says so, and how long its samples are together.
fn read_run(
    file: &mut (impl Read + Seek),
    run: &Node,
    size: u32,
) -> io::Result<(Option<i32>, u64, Told)> {
    let mut table = Table::of(Some(run));
    let flags = table.u32(file)?.unwrap_or(0);
    let count = table.u32(file)?.unwrap_or(0);
    let offset = optional(&mut table, file, flags & OFFSET)?;
    let offset = offset.map(u32::cast_signed);
    optional(&mut table, file, flags & FIRST_FLAGS)?;
    // Samples that nobody gives a size could be any number, and take no bytes.
    let have_size = flags & SIZES != 0 || size > 0 || count == 0;
    let fields = (flags & (DURATIONS | SIZES | FLAGS | TIMES)).count_ones();
    let entries = u64::from(count) * u64::from(fields) * 4;
    let told = match have_size && entries <= table.left() {
        true => Told::Exactly,
        false => Told::InPart,
    };
    if flags & SIZES == 0 {
        return Ok((offset, u64::from(count) * u64::from(size), told));
    }
    let mut length = 0;
    for _ in 0..count {
        optional(&mut table, file, flags & DURATIONS)?;
        let Some(size) = table.u32(file)? else {
            break;
        };
        length += u64::from(size);
        optional(&mut table, file, flags & FLAGS)?;
        optional(&mut table, file, flags & TIMES)?;
    }
    Ok((offset, length, told))
}

/// A number that is only there if its flag is set.
fn optional(
    table: &mut Table,
    file: &mut (impl Read + Seek),
    flag: u32,
) -> io::Result<Option<u32>> {
    match flag {
        0 => Ok(None),
        _ => table.u32(file),
    }
}

struct Header {
    track: u32,
    base: Option<u64>,
    from_fragment: bool,
    size: Option<u32>,
}

impl Header {
    fn read(tree: &Tree, file: &mut (impl Read + Seek), part: &Node) -> io::Result<Option<Self>> {
        let mut table = Table::of(tree.child(part, *b"tfhd"));
        let Some((flags, track)) = table.u32(file)?.zip(table.u32(file)?) else {
            return Ok(None);
        };
        let base = match flags & BASE {
            0 => None,
            _ => table.u64(file)?,
        };
        optional(&mut table, file, flags & DESCRIPTION)?;
        optional(&mut table, file, flags & DURATION)?;
        Ok(Some(Self {
            track,
            base,
            from_fragment: flags & FROM_FRAGMENT != 0,
            size: optional(&mut table, file, flags & SIZE)?,
        }))
    }
}

impl Described {
    fn read(tree: &Tree, file: &mut (impl Read + Seek), tracks: &[Track]) -> io::Result<Self> {
        let mut kept = BTreeSet::new();
        for track in tracks.iter().filter(|track| !track.is_foreign()) {
            if let Some(header) = tree.child(track.node, *b"tkhd") {
                let head = tree.head(file, header, 24)?;
                let at = if head.first() == Some(&1) { 20 } else { 12 };
                kept.extend(be32(&head, at));
            }
        }
        let mut sizes = BTreeMap::new();
        for defaults in tree.all(*b"trex") {
            let head = tree.head(file, defaults, 24)?;
            sizes.extend(be32(&head, 4).zip(be32(&head, 16)));
        }
        Ok(Self { kept, sizes })
    }
}
