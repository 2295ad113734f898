//! The layout of a ZIP file, written front to back. The caller sends each returned piece on, and the data
//! of entries in between.
//!
//! An entry whose data is at hand has its size and checksum in the header before it. An entry that is
//! streamed has them in a descriptor after it.

use crate::domain::Timestamp;

const LOCAL_HEADER: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// What a reader has to support: version 2.0. Made on Unix, so that the mode below counts.
const VERSION: u16 = 20;
const MADE_BY: u16 = 3 << 8 | VERSION;
/// Names are UTF-8.
const UTF_8: u16 = 1 << 11;
/// Size and checksum follow the data.
const STREAMED: u16 = 1 << 3;
/// A plain file that everybody can read.
const MODE: u32 = 0o100_644 << 16;

/// The archive does not fit into the format without its 64-bit extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the archive is too large")]
pub struct TooLarge;

/// When a file was changed last, in the two numbers of the format, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modified {
    date: u16,
    time: u16,
}

impl Modified {
    /// The first moment that the format knows, for archives whose bytes depend on their content alone.
    pub const NONE: Self = Self {
        date: 1 << 5 | 1,
        time: 0,
    };

    pub fn at(moment: Timestamp) -> Self {
        // 2026-11-15T12:00:00.000Z
        let text = moment.to_string();
        let number = |from: usize, to: usize| {
            let digits = text.get(from..to).and_then(|digits| digits.parse().ok());
            digits.unwrap_or(0u16)
        };
        let year = number(0, 4);
        if !(1980..2108).contains(&year) {
            return Self::NONE;
        }
        Self {
            date: (year - 1980) << 9 | number(5, 7) << 5 | number(8, 10),
            time: number(11, 13) << 11 | number(14, 16) << 5 | (number(17, 19) / 2),
        }
    }
}

/// One entry, once its data is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: String,
    pub streamed: bool,
    pub crc: u32,
    pub size: u32,
    pub offset: u32,
}

/// Says what to write before, between and after the data of the entries.
pub struct ZipWriter {
    modified: Modified,
    offset: u64,
    entries: Vec<Entry>,
    open: Option<Open>,
}

/// The entry that is being streamed.
struct Open {
    name: String,
    offset: u64,
    size: u64,
    crc: crc32fast::Hasher,
}

impl ZipWriter {
    pub fn new(modified: Modified) -> Self {
        Self {
            modified,
            offset: 0,
            entries: Vec::new(),
            open: None,
        }
    }

    /// How many bytes were written so far.
    pub fn written(&self) -> u64 {
        self.offset
    }

    /// A whole entry.
    pub fn entry(&mut self, name: &str, data: &[u8]) -> Result<Vec<u8>, TooLarge> {
        let entry = Entry {
            name: name.to_owned(),
            streamed: false,
            crc: crc32fast::hash(data),
            size: small(data.len() as u64)?,
            offset: small(self.offset)?,
        };
        let mut bytes = local_header(&entry, self.modified)?;
        bytes.extend_from_slice(data);
        self.offset += bytes.len() as u64;
        self.entries.push(entry);
        Ok(bytes)
    }

    /// Begins an entry whose data follows in pieces.
    pub fn begin(&mut self, name: &str) -> Result<Vec<u8>, TooLarge> {
        let entry = Entry {
            name: name.to_owned(),
            streamed: true,
            crc: 0,
            size: 0,
            offset: small(self.offset)?,
        };
        let header = local_header(&entry, self.modified)?;
        self.open = Some(Open {
            name: entry.name,
            offset: self.offset,
            size: 0,
            crc: crc32fast::Hasher::new(),
        });
        self.offset += header.len() as u64;
        Ok(header)
    }

    /// Counts a piece of the data, which the caller writes as it is.
    pub fn data(&mut self, piece: &[u8]) {
        if let Some(open) = &mut self.open {
            open.size += piece.len() as u64;
            open.crc.update(piece);
            self.offset += piece.len() as u64;
        }
    }

    /// Ends the entry.
    pub fn end(&mut self) -> Result<Vec<u8>, TooLarge> {
        let Some(open) = self.open.take() else {
            return Ok(Vec::new());
        };
        let entry = Entry {
            name: open.name,
            streamed: true,
            crc: open.crc.finalize(),
            size: small(open.size)?,
            offset: small(open.offset)?,
        };
        let bytes = descriptor(&entry);
        self.offset += bytes.len() as u64;
        self.entries.push(entry);
        Ok(bytes)
    }

    /// The directory at the end.
    pub fn finish(self) -> Result<Vec<u8>, TooLarge> {
        directory(&self.entries, self.offset, self.modified)
    }
}

fn small(number: u64) -> Result<u32, TooLarge> {
    // The largest number means that the real one is elsewhere.
    u32::try_from(number)
        .ok()
        .filter(|number| *number < u32::MAX)
        .ok_or(TooLarge)
}

fn short(number: usize) -> Result<u16, TooLarge> {
    u16::try_from(number)
        .ok()
        .filter(|number| *number < u16::MAX)
        .ok_or(TooLarge)
}

/// Little-endian numbers, one after the other.
struct Fields(Vec<u8>);

impl Fields {
    fn u16(mut self, number: u16) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn u32(mut self, number: u32) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }
}

/// What the header of an entry and its line in the directory have in common.
fn common(
    fields: Fields,
    entry: &Entry,
    modified: Modified,
    after: bool,
) -> Result<Fields, TooLarge> {
    let flags = match entry.streamed {
        true => UTF_8 | STREAMED,
        false => UTF_8,
    };
    let (crc, size) = match after {
        true => (entry.crc, entry.size),
        false => (0, 0),
    };
    let stored = 0;
    let no_extra = 0;
    Ok(fields
        .u16(VERSION)
        .u16(flags)
        .u16(stored)
        .u16(modified.time)
        .u16(modified.date)
        .u32(crc)
        .u32(size)
        .u32(size)
        .u16(short(entry.name.len())?)
        .u16(no_extra))
}

pub(super) fn local_header(entry: &Entry, modified: Modified) -> Result<Vec<u8>, TooLarge> {
    let fields = Fields(Vec::new()).u32(LOCAL_HEADER);
    let fields = common(fields, entry, modified, !entry.streamed)?;
    Ok(fields.text(&entry.name).0)
}

pub(super) fn descriptor(entry: &Entry) -> Vec<u8> {
    let fields = Fields(Vec::new()).u32(DESCRIPTOR).u32(entry.crc);
    fields.u32(entry.size).u32(entry.size).0
}

pub(super) fn directory(
    entries: &[Entry],
    offset: u64,
    modified: Modified,
) -> Result<Vec<u8>, TooLarge> {
    let mut fields = Fields(Vec::new());
    for entry in entries {
        let (no_comment, disk, attributes) = (0, 0, 0);
        fields = fields.u32(CENTRAL_HEADER).u16(MADE_BY);
        fields = common(fields, entry, modified, true)?
            .u16(no_comment)
            .u16(disk)
            .u16(attributes)
            .u32(MODE)
            .u32(entry.offset)
            .text(&entry.name);
    }
    let (count, size) = (short(entries.len())?, small(fields.0.len() as u64)?);
    let (this_disk, first_disk, no_comment) = (0, 0, 0);
    Ok(fields
        .u32(END)
        .u16(this_disk)
        .u16(first_disk)
        .u16(count)
        .u16(count)
        .u32(size)
        .u32(small(offset)?)
        .u16(no_comment)
        .0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_in_the_numbers_of_the_format() {
        // 2026-11-15T12:34:56.789Z
        let modified = Modified::at(Timestamp::from_millis(1_794_746_096_789));
        assert_eq!(modified.date, 46 << 9 | 11 << 5 | 15);
        assert_eq!(modified.time, 12 << 11 | 34 << 5 | 28);
        assert_eq!(Modified::at(Timestamp::from_millis(0)), Modified::NONE);
    }

    #[test]
    fn what_needs_the_extension_is_refused() {
        assert_eq!(small(u64::from(u32::MAX) - 1), Ok(u32::MAX - 1));
        assert_eq!(small(u64::from(u32::MAX)), Err(TooLarge));
        let mut zip = ZipWriter::new(Modified::NONE);
        assert!(zip.entry(&"n".repeat(70_000), b"").is_err());
        zip.offset = 1 << 33;
        assert_eq!(zip.entry("a", b""), Err(TooLarge));
        assert_eq!(zip.begin("a"), Err(TooLarge));
        assert_eq!(zip.finish(), Err(TooLarge));
    }
}
