//! Reads archives as `ZipWriter` writes them, byte for byte. Whatever differs is refused, also bytes that
//! other programs ignore.

use std::io::{Read, Seek, SeekFrom};

use super::zip::{Entry, Modified, descriptor, directory, local_header};

const END_BYTES: u64 = 22;
const CENTRAL_BYTES: usize = 46;
/// More than any archive has that is read here.
const MAX_ENTRIES: usize = 10_000;
const MAX_DIRECTORY_BYTES: u64 = 4 << 20;
const CHUNK_BYTES: usize = 64 << 10;

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("it is not complete, or not laid out as Legwork lays out archives: {0}")]
    Layout(String),
    #[error("{name}: the bytes differ from their checksum, or from the layout")]
    Changed { name: String },
    #[error("{name}: {reason}")]
    Refused { name: String, reason: String },
}

/// Takes the data of the entries, in their order.
pub trait EntryData {
    fn begin(&mut self, name: &str, size: u64) -> Result<(), String>;
    fn piece(&mut self, piece: &[u8]);
    fn end(&mut self) -> Result<(), String>;
}

/// Reads all entries of an archive and compares every other byte with what it must be. `streamed` tells
/// which entries have their size after the data.
pub fn read_archive(
    file: &mut (impl Read + Seek),
    streamed: impl Fn(&str) -> bool,
    into: &mut impl EntryData,
) -> Result<(), ArchiveError> {
    let (entries, tail, begins) = read_directory(file, streamed)?;
    file.seek(SeekFrom::Start(0))?;
    let mut offset = 0;
    for entry in &entries {
        offset += read_entry(file, entry, offset, into)?;
    }
    let expected = directory(&entries, offset, Modified::NONE);
    if begins != offset || expected.ok() != Some(tail) {
        return Err(layout("the directory at its end was changed"));
    }
    Ok(())
}

fn layout(reason: &str) -> ArchiveError {
    ArchiveError::Layout(reason.to_owned())
}

/// The entries, the bytes of the directory with the end record, and where they begin.
fn read_directory(
    file: &mut (impl Read + Seek),
    streamed: impl Fn(&str) -> bool,
) -> Result<(Vec<Entry>, Vec<u8>, u64), ArchiveError> {
    let length = file.seek(SeekFrom::End(0))?;
    let end_at = length
        .checked_sub(END_BYTES)
        .ok_or_else(|| layout("it is too short"))?;
    file.seek(SeekFrom::Start(end_at))?;
    let mut end = [0; END_BYTES as usize];
    file.read_exact(&mut end)?;
    let begins = u64::from(u32_at(&end, 16));
    let size = end_at.checked_sub(begins);
    let size = size.filter(|size| *size == u64::from(u32_at(&end, 12)));
    let size = size.filter(|size| *size <= MAX_DIRECTORY_BYTES);
    let size = size.ok_or_else(|| layout("its end was cut off or changed"))?;
    file.seek(SeekFrom::Start(begins))?;
    let mut tail = vec![0; (size + END_BYTES) as usize];
    file.read_exact(&mut tail)?;
    let entries = entries(&tail[..size as usize], streamed)?;
    Ok((entries, tail, begins))
}

fn entries(mut lines: &[u8], streamed: impl Fn(&str) -> bool) -> Result<Vec<Entry>, ArchiveError> {
    let mut entries = Vec::new();
    while !lines.is_empty() {
        let changed = || layout("the directory at its end was changed");
        let (line, rest) = lines.split_at_checked(CENTRAL_BYTES).ok_or_else(changed)?;
        let length = usize::from(u16::from_le_bytes([line[28], line[29]]));
        let (name, rest) = rest.split_at_checked(length).ok_or_else(changed)?;
        let name = std::str::from_utf8(name).map_err(|_| changed())?;
        entries.push(Entry {
            name: name.to_owned(),
            streamed: streamed(name),
            crc: u32_at(line, 16),
            size: u32_at(line, 20),
            offset: u32_at(line, 42),
        });
        if entries.len() > MAX_ENTRIES {
            return Err(layout("it has too many entries"));
        }
        lines = rest;
    }
    Ok(entries)
}

/// Returns how long the entry is, with its header.
fn read_entry(
    file: &mut impl Read,
    entry: &Entry,
    offset: u64,
    into: &mut impl EntryData,
) -> Result<u64, ArchiveError> {
    let name = || entry.name.clone();
    let changed = || ArchiveError::Changed { name: name() };
    let refused = |reason| ArchiveError::Refused {
        name: name(),
        reason,
    };
    if u64::from(entry.offset) != offset {
        return Err(changed());
    }
    let header = local_header(entry, Modified::NONE).map_err(|_| changed())?;
    expect(file, &header).map_err(|_| changed())?;
    into.begin(&entry.name, u64::from(entry.size))
        .map_err(refused)?;
    let mut crc = crc32fast::Hasher::new();
    let mut left = entry.size as usize;
    let mut buffer = vec![0; CHUNK_BYTES.min(left)];
    while left > 0 {
        let piece = &mut buffer[..CHUNK_BYTES.min(left)];
        file.read_exact(piece).map_err(|_| changed())?;
        crc.update(piece);
        into.piece(piece);
        left -= piece.len();
    }
    // Says more about the entry than its checksum does.
    into.end().map_err(refused)?;
    if crc.finalize() != entry.crc {
        return Err(changed());
    }
    let after = match entry.streamed {
        true => descriptor(entry),
        false => Vec::new(),
    };
    expect(file, &after).map_err(|_| changed())?;
    Ok((header.len() + after.len()) as u64 + u64::from(entry.size))
}

fn expect(file: &mut impl Read, expected: &[u8]) -> Result<(), ()> {
    let mut bytes = vec![0; expected.len()];
    file.read_exact(&mut bytes).map_err(drop)?;
    if bytes == expected { Ok(()) } else { Err(()) }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::ZipWriter;
    use std::io::Cursor;

    #[derive(Default)]
    struct Collected(Vec<(String, Vec<u8>)>);

    impl EntryData for Collected {
        fn begin(&mut self, name: &str, _: u64) -> Result<(), String> {
            self.0.push((name.to_owned(), Vec::new()));
            Ok(())
        }

        fn piece(&mut self, piece: &[u8]) {
            self.0.last_mut().unwrap().1.extend_from_slice(piece);
        }

        fn end(&mut self) -> Result<(), String> {
            Ok(())
        }
    }

    fn archive() -> Vec<u8> {
        let mut zip = ZipWriter::new(Modified::NONE);
        let mut bytes = zip.entry("README.txt", b"Read me.").unwrap();
        bytes.extend(zip.begin("files/a").unwrap());
        for piece in [b"one ", b"two "] {
            zip.data(piece);
            bytes.extend_from_slice(piece);
        }
        bytes.extend(zip.end().unwrap());
        bytes.extend(zip.entry("empty", b"").unwrap());
        assert_eq!(zip.written(), bytes.len() as u64);
        bytes.extend(zip.finish().unwrap());
        bytes
    }

    fn read(bytes: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>, ArchiveError> {
        let mut into = Collected::default();
        let streamed = |name: &str| name.starts_with("files/");
        read_archive(&mut Cursor::new(bytes), streamed, &mut into)?;
        Ok(into.0)
    }

    #[test]
    fn it_is_read_as_it_is_written() {
        let expected = [
            ("README.txt", "Read me."),
            ("files/a", "one two "),
            ("empty", ""),
        ];
        let expected = expected.map(|(name, data)| (name.to_owned(), data.as_bytes().to_vec()));
        assert_eq!(read(archive()).unwrap(), expected);
    }

    #[test]
    fn any_changed_missing_or_further_byte_is_noticed() {
        let whole = archive();
        for at in 0..whole.len() {
            for bit in [1, 0x80] {
                let mut changed = whole.clone();
                changed[at] ^= bit;
                assert!(read(changed).is_err(), "byte {at}");
            }
            let mut shorter = whole.clone();
            shorter.remove(at);
            assert!(read(shorter).is_err(), "without byte {at}");
            let mut longer = whole.clone();
            longer.insert(at, 0);
            assert!(read(longer).is_err(), "with another byte at {at}");
        }
        let mut longer = whole;
        longer.push(0);
        assert!(read(longer).is_err());
    }
}
