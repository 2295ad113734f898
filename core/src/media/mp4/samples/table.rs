//! The numbers of a box, one after the other.

use std::io::{self, Read, Seek, SeekFrom};

use super::super::tree::Node;

/// A table may be as long as the file, so it is read in pieces of so many bytes.
const PIECE: u64 = 16 * 1_024;

/// Ends where the box ends, whatever the box says of its length. A box that is missing has no numbers.
pub struct Table {
    at: u64,
    end: u64,
    piece: Vec<u8>,
    used: usize,
}

impl Table {
    pub fn of(node: Option<&Node>) -> Self {
        Self {
            at: node.map_or(0, |node| node.body),
            end: node.map_or(0, |node| node.end),
            piece: Vec::new(),
            used: 0,
        }
    }

    pub fn u64(&mut self, file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
        Ok(self.raw(file)?.map(u64::from_be_bytes))
    }

    pub fn u32(&mut self, file: &mut (impl Read + Seek)) -> io::Result<Option<u32>> {
        Ok(self.raw(file)?.map(u32::from_be_bytes))
    }

    pub fn u16(&mut self, file: &mut (impl Read + Seek)) -> io::Result<Option<u16>> {
        Ok(self.raw(file)?.map(u16::from_be_bytes))
    }

    pub fn u8(&mut self, file: &mut (impl Read + Seek)) -> io::Result<Option<u8>> {
        Ok(self.raw(file)?.map(u8::from_be_bytes))
    }

    /// How many bytes of the box are not read yet.
    pub fn left(&self) -> u64 {
        self.end - self.at + (self.piece.len() - self.used) as u64
    }

    fn raw<const N: usize>(
        &mut self,
        file: &mut (impl Read + Seek),
    ) -> io::Result<Option<[u8; N]>> {
        if self.piece.len() - self.used < N {
            self.read_on(file)?;
        }
        let raw = self.piece[self.used..].first_chunk::<N>().copied();
        if raw.is_some() {
            self.used += N;
        }
        Ok(raw)
    }

    fn read_on(&mut self, file: &mut (impl Read + Seek)) -> io::Result<()> {
        let more = (self.end - self.at).min(PIECE);
        if more == 0 {
            return Ok(());
        }
        self.piece.drain(..self.used);
        self.used = 0;
        let rest = self.piece.len();
        self.piece.resize(rest + more as usize, 0);
        file.seek(SeekFrom::Start(self.at))?;
        file.read_exact(&mut self.piece[rest..])?;
        self.at += more;
        Ok(())
    }
}
