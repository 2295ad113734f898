//! The segments of a JPEG from start to end, one after the other, each within the file.

use super::super::{Rejection, be16};
use super::{EOI, SOI, SOS};

pub struct Segment<'a> {
    pub marker: u8,
    /// Without marker and length.
    pub body: &'a [u8],
    /// The coded picture that follows a start of scan; empty for all others.
    pub data: &'a [u8],
    /// Where the segment ends in the file.
    pub end: usize,
}

/// Ends with the end of the image, or with the first fault.
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
        let marker = self.marker()?;
        if marker == EOI {
            self.ended = true;
            return Ok(self.segment(marker, &[], &[]));
        }
        // Markers below are reserved or stand alone; none belongs between segments.
        if marker < 0xc0 || (0xd0..=SOI).contains(&marker) {
            return Err(Rejection::DAMAGED);
        }
        let length = be16(self.bytes, self.at).ok_or(Rejection::CUT_OFF)?;
        let length = usize::from(length);
        if length < 2 {
            return Err(Rejection::DAMAGED);
        }
        let whole = self.bytes.get(self.at..self.at + length);
        let body = &whole.ok_or(Rejection::CUT_OFF)?[2..];
        self.at += length;
        let data = if marker == SOS { self.data()? } else { &[] };
        Ok(self.segment(marker, body, data))
    }

    fn segment(&self, marker: u8, body: &'a [u8], data: &'a [u8]) -> Segment<'a> {
        Segment {
            marker,
            body,
            data,
            end: self.at,
        }
    }

    /// A marker may be preceded by any number of fill bytes.
    fn marker(&mut self) -> Result<u8, Rejection> {
        if *self.bytes.get(self.at).ok_or(Rejection::CUT_OFF)? != 0xff {
            return Err(Rejection::DAMAGED);
        }
        let rest = &self.bytes[self.at..];
        let fill = rest.iter().position(|b| *b != 0xff);
        let fill = fill.ok_or(Rejection::CUT_OFF)?;
        self.at += fill + 1;
        Ok(rest[fill])
    }

    /// Up to the next marker that is not a restart, which belongs to the coded picture.
    fn data(&mut self) -> Result<&'a [u8], Rejection> {
        let start = self.at;
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).ok_or(Rejection::CUT_OFF)?;
            let found = rest.iter().position(|b| *b == 0xff);
            at += found.ok_or(Rejection::CUT_OFF)?;
            match self.bytes.get(at + 1) {
                None => return Err(Rejection::CUT_OFF),
                Some(0 | 0xd0..=0xd7) => at += 2,
                Some(0xff) => at += 1,
                Some(_) => break,
            }
        }
        self.at = at;
        Ok(&self.bytes[start..at])
    }
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
