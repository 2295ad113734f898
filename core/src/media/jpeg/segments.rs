//! The segments of a JPEG from start to end, each within the file.
//!
//! Reads what browsers read: bytes that belong to no segment are skipped.

use super::super::{Rejection, be16};
use super::{EOI, SOI, SOS};

pub struct Segment<'a> {
    pub marker: u8,
    /// Without marker and length.
    pub body: &'a [u8],
    /// The coded picture that follows a start of scan; empty for all other segments.
    pub data: &'a [u8],
    /// Where the segment ends in the file.
    pub end: usize,
    /// How many bytes that belong to no segment came before it.
    pub skipped: usize,
}

/// Ends with the end of the image, or with the first error.
pub struct Segments<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> Segments<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            ended: false,
        }
    }

    fn read(&mut self) -> Result<Segment<'a>, Rejection> {
        if self.at == 0 {
            match self.bytes {
                [0xff, SOI, ..] => self.at = 2,
                _ => return Err(Rejection::DAMAGED),
            }
        }
        let (marker, skipped) = self.marker()?;
        let mut segment = Segment {
            marker,
            body: &[],
            data: &[],
            end: self.at,
            skipped,
        };
        match marker {
            EOI => self.ended = true,
            SOI => return Err(Rejection::DAMAGED),
            _ => {
                segment.body = self.body()?;
                if marker == SOS {
                    segment.data = self.data()?;
                }
                segment.end = self.at;
            }
        }
        Ok(segment)
    }

    fn body(&mut self) -> Result<&'a [u8], Rejection> {
        let length = be16(self.bytes, self.at).ok_or(Rejection::TRUNCATED)?;
        if length < 2 {
            return Err(Rejection::DAMAGED);
        }
        let start = self.at;
        self.at += usize::from(length);
        let body = self.bytes.get(start + 2..self.at);
        body.ok_or(Rejection::TRUNCATED)
    }

    /// The next marker that starts a segment or ends the image, and how many bytes before it are
    /// neither a segment nor padding. Any number of 0xff may precede a marker.
    fn marker(&mut self) -> Result<(u8, usize), Rejection> {
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..).ok_or(Rejection::TRUNCATED)?;
            let fill = rest.iter().position(|b| *b == 0xff);
            let fill = fill.ok_or(Rejection::TRUNCATED)?;
            let code = rest[fill..].iter().position(|b| *b != 0xff);
            let code = code.ok_or(Rejection::TRUNCATED)?;
            let skipped = self.at + fill - start;
            self.at += fill + code + 1;
            let marker = rest[fill + code];
            if starts_segment(marker) {
                return Ok((marker, skipped));
            }
        }
    }

    /// Up to the next segment. Restart markers belong to the coded picture; so do codes that mean
    /// nothing, which decoders skip.
    fn data(&mut self) -> Result<&'a [u8], Rejection> {
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..).ok_or(Rejection::TRUNCATED)?;
            let found = rest.iter().position(|b| *b == 0xff);
            self.at += found.ok_or(Rejection::TRUNCATED)?;
            match self.bytes.get(self.at + 1) {
                None => return Err(Rejection::TRUNCATED),
                Some(0xff) => self.at += 1,
                Some(code) if starts_segment(*code) => return Ok(&self.bytes[start..self.at]),
                Some(_) => self.at += 2,
            }
        }
    }
}

/// All others are reserved or stand alone.
fn starts_segment(marker: u8) -> bool {
    marker >= 0xc0 && marker != 0xff && !(0xd0..=0xd7).contains(&marker)
}

impl<'a> Iterator for Segments<'a> {
    type Item = Result<Segment<'a>, Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read();
        self.ended |= read.is_err();
        Some(read)
    }
}
