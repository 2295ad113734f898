//! PNG: its chunks, its shades, and which chunks are kept.

#[cfg(test)]
mod tests;

use std::io::{Cursor, Write};

use super::perceptual_hash::{self, Blocks};
use super::{
    Exif, InspectError, Inspected, PNG, Rejection, TOLERATED_REST, be32, check_size, exif,
};

pub const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// What the decoder may allocate. It reads row by row and needs a few rows.
pub const DECODER_BYTES: usize = 16 * 1024 * 1024;

/// Needed to decode; nothing else reaches the decoder.
const CRITICAL: [&[u8; 4]; 5] = [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"];

/// These also affect how the picture looks. Those of an animation are not among them: its frames are other
/// pictures than the one that was looked at.
const KEPT: [&[u8; 4]; 9] = [
    b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP", b"mDCV", b"cLLI", b"bKGD",
];

pub fn is_it(start: &[u8]) -> bool {
    start.starts_with(&SIGNATURE)
}

pub fn inspect(bytes: &[u8], want_hash: bool) -> Result<Inspected, Rejection> {
    // As large as it can get: growing would take as much again.
    let mut essence = Vec::with_capacity(bytes.len());
    essence.extend_from_slice(&SIGNATURE);
    let mut size = None;
    let mut exif = Exif::default();
    let mut end = 0;
    for chunk in Chunks::new(bytes) {
        let chunk = chunk?;
        // The header is checked first, so that nothing is read of a picture that is too large.
        if size.is_none() {
            size = Some(size_of(&chunk)?);
        }
        if CRITICAL.contains(&&chunk.kind) {
            essence.extend_from_slice(chunk.whole);
        } else if chunk.kind[0].is_ascii_uppercase() {
            return Err(Rejection::DAMAGED);
        } else if chunk.kind == *b"eXIf" {
            exif = exif::read(chunk.body);
        }
        end = chunk.end;
    }
    let (width, height) = size.ok_or(Rejection::TRUNCATED)?;
    check_rest(&bytes[end..])?;
    let blocks = decode(&essence, width, height)?;
    Ok(Inspected {
        content_type: PNG,
        width: Some(width),
        height: Some(height),
        exif,
        perceptual_hash: perceptual_hash::hash(&blocks).filter(|_| want_hash),
    })
}

/// Zeros are padding. A few bytes of anything else are accepted.
fn check_rest(rest: &[u8]) -> Result<(), Rejection> {
    let data = rest.iter().position(|b| *b != 0).unwrap_or(rest.len());
    if rest.len() - data > TOLERATED_REST {
        return Err(Rejection::APPENDED);
    }
    Ok(())
}

fn size_of(header: &Chunk) -> Result<(u32, u32), Rejection> {
    if header.kind != *b"IHDR" || header.body.len() != 13 {
        return Err(Rejection::DAMAGED);
    }
    let width = be32(header.body, 0).ok_or(Rejection::DAMAGED)?;
    let height = be32(header.body, 4).ok_or(Rejection::DAMAGED)?;
    check_size(width, height)?;
    Ok((width, height))
}

pub fn strip(bytes: &[u8], target: &mut impl Write) -> Result<(), InspectError> {
    let mut orientation = None;
    for chunk in Chunks::new(bytes) {
        let chunk = chunk?;
        if chunk.kind == *b"eXIf" {
            orientation = orientation.or(exif::orientation(chunk.body));
        }
    }
    target.write_all(&SIGNATURE)?;
    for chunk in Chunks::new(bytes) {
        let chunk = chunk?;
        if CRITICAL.contains(&&chunk.kind) || KEPT.contains(&&chunk.kind) {
            target.write_all(chunk.whole)?;
        }
        if chunk.kind == *b"IHDR"
            && let Some(orientation) = orientation.take()
        {
            target.write_all(&write_chunk(*b"eXIf", &exif::only_orientation(orientation)))?;
        }
    }
    Ok(())
}

pub fn write_chunk(kind: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut chunk = (body.len() as u32).to_be_bytes().to_vec();
    chunk.extend_from_slice(&kind);
    chunk.extend_from_slice(body);
    let sum = crc32fast::hash(&chunk[4..]);
    chunk.extend_from_slice(&sum.to_be_bytes());
    chunk
}

struct Chunk<'a> {
    kind: [u8; 4],
    body: &'a [u8],
    /// With length and checksum.
    whole: &'a [u8],
    /// Where it ends in the file.
    end: usize,
}

/// The chunks up to the one that ends the picture, or up to the first error.
struct Chunks<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> Chunks<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: SIGNATURE.len(),
            ended: false,
        }
    }

    fn read(&mut self) -> Result<Chunk<'a>, Rejection> {
        let rest = self.bytes.get(self.at..).ok_or(Rejection::TRUNCATED)?;
        let length = be32(rest, 0).ok_or(Rejection::TRUNCATED)?;
        // If the kind is not four letters, the file is damaged and not merely truncated.
        let kind = rest.get(4..8).ok_or(Rejection::TRUNCATED)?;
        if !kind.iter().all(u8::is_ascii_alphabetic) || length > i32::MAX as u32 {
            return Err(Rejection::DAMAGED);
        }
        let whole = rest
            .get(..length as usize + 12)
            .ok_or(Rejection::TRUNCATED)?;
        let (checked, sum) = whole[4..].split_at(length as usize + 4);
        if be32(sum, 0) != Some(crc32fast::hash(checked)) {
            return Err(Rejection::DAMAGED);
        }
        self.at += whole.len();
        self.ended = kind == b"IEND";
        Ok(Chunk {
            kind: [kind[0], kind[1], kind[2], kind[3]],
            body: &checked[4..],
            whole,
            end: self.at,
        })
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read();
        self.ended |= read.is_err();
        Some(read)
    }
}

/// Inflates the picture row by row. Rows are counted here: what follows the last one is not
/// inflated, so that a bomb behind it does nothing.
fn decode(essence: &[u8], width: u32, height: u32) -> Result<Blocks, Rejection> {
    let limits = png::Limits {
        bytes: DECODER_BYTES,
    };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(essence), limits);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|_| Rejection::DAMAGED)?;
    let samples = reader.output_color_type().0.samples();
    let interlaced = reader.info().interlaced;

    let mut sums = Sums::new(width, height);
    for pass in passes(interlaced) {
        for y in (pass.top..height).step_by(pass.down) {
            if pass.left >= width {
                break;
            }
            let row = reader.next_row().map_err(|_| Rejection::DAMAGED)?;
            let row = row.ok_or(Rejection::TRUNCATED)?;
            let places = (pass.left..width).step_by(pass.across);
            for (x, pixel) in places.zip(row.data().chunks_exact(samples)) {
                sums.add(x, y, grey(pixel));
            }
        }
    }
    Ok(sums.blocks(width, height))
}

/// Which pixels a pass over the picture brings.
pub struct Pass {
    pub left: u32,
    pub top: u32,
    pub across: usize,
    pub down: usize,
}

/// An interlaced picture comes in seven passes, each finer than those before.
pub fn passes(interlaced: bool) -> Vec<Pass> {
    let pass = |&(left, top, across, down): &(u32, u32, usize, usize)| Pass {
        left,
        top,
        across,
        down,
    };
    let seven = [
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ];
    match interlaced {
        true => seven.iter().map(pass).collect(),
        false => vec![pass(&(0, 0, 1, 1))],
    }
}

/// 0 to 255; what is transparent shows a white ground.
fn grey(pixel: &[u8]) -> u32 {
    let light = |r: u8, g: u8, b: u8| {
        (u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114) / 1_000
    };
    let on_white = |shade: u32, alpha: u8| {
        let alpha = u32::from(alpha);
        (shade * alpha + 255 * (255 - alpha)) / 255
    };
    match *pixel {
        [shade] => shade.into(),
        [shade, alpha] => on_white(shade.into(), alpha),
        [r, g, b] => light(r, g, b),
        [r, g, b, alpha] => on_white(light(r, g, b), alpha),
        _ => 0,
    }
}

/// Sums of shades for each block of 8 x 8 pixels.
struct Sums {
    stride: usize,
    sums: Vec<u32>,
}

impl Sums {
    fn new(width: u32, height: u32) -> Self {
        let stride = width.div_ceil(8) as usize;
        Self {
            stride,
            sums: vec![0; stride * height.div_ceil(8) as usize],
        }
    }

    fn add(&mut self, x: u32, y: u32, shade: u32) {
        self.sums[(y / 8) as usize * self.stride + (x / 8) as usize] += shade;
    }

    fn blocks(self, width: u32, height: u32) -> Blocks {
        let side = |length: u32, block: usize| (length - 8 * block as u32).min(8);
        let mean = |(place, sum): (usize, &u32)| {
            let (row, column) = (place / self.stride, place % self.stride);
            *sum as f32 / (side(width, column) * side(height, row)) as f32
        };
        Blocks {
            shades: self.sums.iter().enumerate().map(mean).collect(),
            stride: self.stride,
            columns: f64::from(width) / 8.0,
            rows: f64::from(height) / 8.0,
        }
    }
}
