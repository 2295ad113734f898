//! The samples that the description of a film lists: chunks at stated places (`stco`, `co64`), each with some
//! samples (`stsc`), each of a stated size (`stsz`, `stz2`).

use std::io::{self, Read, Seek};

use super::super::super::{InspectError, Rejection};
use super::super::tree::{Node, Tree};
use super::super::{PLAYED_SOUND, codec};
use super::table::Table;
use super::{Piece, Told, Track};

/// Returns whether the tables are as long as they say, and every sample is in a chunk.
pub fn each(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    track: &Track,
    mut then: impl FnMut(&Piece) -> Result<(), Rejection>,
) -> Result<bool, InspectError> {
    let path = [*b"mdia", *b"minf", *b"stbl"];
    let Some(tables) = tree.descendant(track.node, &path) else {
        return Ok(true);
    };
    let mut places = Places::read(tree, file, tables)?;
    let mut counts = Counts::read(tree, file, tables)?;
    let mut sizes = Sizes::read(tree, file, tables)?;
    let told = match sizes.width {
        Width::Same(1) if counts_units(tree, file, track)? => Told::InUnits,
        _ => Told::Exactly,
    };
    while let Some(start) = places.next(file)? {
        let count = counts.next(file)?;
        let length = sizes.next(file, count)?;
        then(&Piece {
            is_foreign: track.is_foreign(),
            start,
            length,
            told,
        })?;
    }
    Ok(places.left == 0 && sizes.left == 0)
}

/// AAC says how long its samples are, whoever wrote it.
fn counts_units(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    track: &Track,
) -> Result<bool, InspectError> {
    let is_sound = track.handler == Some(*b"soun");
    Ok(is_sound && codec(tree, file, track.node)? != Some(*PLAYED_SOUND))
}

/// Where each chunk begins.
struct Places {
    table: Table,
    left: u32,
    is_wide: bool,
}

impl Places {
    fn read(tree: &Tree, file: &mut (impl Read + Seek), tables: &Node) -> io::Result<Self> {
        let narrow = tree.child(tables, *b"stco");
        let mut table = Table::of(narrow.or_else(|| tree.child(tables, *b"co64")));
        let _version = table.u32(file)?;
        Ok(Self {
            left: table.u32(file)?.unwrap_or(0),
            is_wide: narrow.is_none(),
            table,
        })
    }

    fn next(&mut self, file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
        if self.left == 0 {
            return Ok(None);
        }
        let place = match self.is_wide {
            true => self.table.u64(file)?,
            false => self.table.u32(file)?.map(u64::from),
        };
        self.left -= u32::from(place.is_some());
        Ok(place)
    }
}

/// How many samples each chunk has. An entry counts from its chunk on, up to the next entry's.
struct Counts {
    table: Table,
    left: u32,
    chunk: u32,
    count: u32,
    next: Option<(u32, u32)>,
}

impl Counts {
    fn read(tree: &Tree, file: &mut (impl Read + Seek), tables: &Node) -> io::Result<Self> {
        let mut table = Table::of(tree.child(tables, *b"stsc"));
        let _version = table.u32(file)?;
        let mut counts = Self {
            left: table.u32(file)?.unwrap_or(0),
            table,
            chunk: 0,
            // A chunk of which nothing is said has a sample at least.
            count: 1,
            next: None,
        };
        counts.next = counts.entry(file)?;
        Ok(counts)
    }

    fn next(&mut self, file: &mut (impl Read + Seek)) -> io::Result<u32> {
        self.chunk = self.chunk.saturating_add(1);
        while let Some((_, count)) = self.next.filter(|(first, _)| *first <= self.chunk) {
            self.count = count;
            self.next = self.entry(file)?;
        }
        Ok(self.count)
    }

    fn entry(&mut self, file: &mut (impl Read + Seek)) -> io::Result<Option<(u32, u32)>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let entry = self.table.u32(file)?.zip(self.table.u32(file)?);
        let _description = self.table.u32(file)?;
        Ok(entry)
    }
}

/// How long the samples are.
struct Sizes {
    table: Table,
    /// How many samples have no chunk yet.
    left: u32,
    width: Width,
    /// Of two sizes in one byte, the second.
    half: Option<u8>,
}

enum Width {
    /// All samples have this size, and there is no table.
    Same(u32),
    Bits(u32),
}

impl Sizes {
    fn read(tree: &Tree, file: &mut (impl Read + Seek), tables: &Node) -> io::Result<Self> {
        let plain = tree.child(tables, *b"stsz");
        let mut table = Table::of(plain.or_else(|| tree.child(tables, *b"stz2")));
        let _version = table.u32(file)?;
        let width = match (plain, table.u32(file)?.unwrap_or(0)) {
            (Some(_), 0) => Width::Bits(32),
            (Some(_), size) => Width::Same(size),
            (None, bits) => Width::Bits(bits & 0xff),
        };
        Ok(Self {
            left: table.u32(file)?.unwrap_or(0),
            table,
            width,
            half: None,
        })
    }

    /// The next so many, together.
    fn next(&mut self, file: &mut (impl Read + Seek), count: u32) -> io::Result<u64> {
        let count = count.min(self.left);
        if let Width::Same(size) = self.width {
            self.left -= count;
            return Ok(u64::from(count) * u64::from(size));
        }
        let mut sum = 0;
        for _ in 0..count {
            let Some(size) = self.one(file)? else { break };
            self.left -= 1;
            sum += u64::from(size);
        }
        Ok(sum)
    }

    fn one(&mut self, file: &mut (impl Read + Seek)) -> io::Result<Option<u32>> {
        Ok(match self.width {
            Width::Bits(4) => match self.half.take() {
                Some(half) => Some(half.into()),
                None => self.table.u8(file)?.map(|both| {
                    self.half = Some(both & 0xf);
                    u32::from(both >> 4)
                }),
            },
            Width::Bits(8) => self.table.u8(file)?.map(u32::from),
            Width::Bits(16) => self.table.u16(file)?.map(u32::from),
            Width::Bits(32) => self.table.u32(file)?,
            _ => None,
        })
    }
}
