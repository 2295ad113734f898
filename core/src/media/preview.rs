//! Smaller pictures, for those who only need to see what is on one.

#[cfg(test)]
mod tests;

use std::io::Cursor;

use jpeg_encoder::{ColorType, Encoder};
use tokio::sync::Semaphore;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::png::{DECODER_BYTES, passes};
use super::{JPEG, MAX_SIDE, PNG, exif, jpeg};

/// Enough to read a sign by.
pub const LONGEST_SIDE: u32 = 1_024;
/// Decoding takes up to nine bytes for each: 145 MB.
const MOST_PIXELS: u64 = 16_000_000;
/// A picture that is small in both ways is left as it is.
const SMALL_BYTES: usize = 256 * 1024;
const QUALITY: u8 = 80;

/// Each takes a core and the memory of a whole picture.
static AT_ONCE: Semaphore = Semaphore::const_new(1);

/// A picture that is small enough to look at.
#[derive(Debug)]
pub struct Preview {
    pub content_type: &'static str,
    pub bytes: Vec<u8>,
}

/// None if it is not a picture that can be read, or has too many pixels. It works on a thread of its own.
pub async fn preview(bytes: Vec<u8>) -> Option<Preview> {
    let turn = AT_ONCE.acquire().await.ok()?;
    // The turn ends with the work, also if nobody waits for it any more.
    let work = tokio::task::spawn_blocking(move || {
        let preview = made(bytes);
        drop(turn);
        preview
    });
    work.await.ok().flatten()
}

fn made(bytes: Vec<u8>) -> Option<Preview> {
    let (content_type, shrunk) = if jpeg::is_it(&bytes) {
        (JPEG, of_jpeg(&bytes)?)
    } else if super::png::is_it(&bytes) {
        (PNG, of_png(&bytes)?)
    } else {
        return None;
    };
    match shrunk {
        Some(shrunk) => Some(Preview {
            content_type: JPEG,
            bytes: shrunk.encoded()?,
        }),
        None => Some(Preview {
            content_type,
            bytes,
        }),
    }
}

/// `None` inside: it is small as it is.
fn of_jpeg(bytes: &[u8]) -> Option<Option<Shrunk>> {
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().ok()?;
    let info = decoder.info()?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    if is_small(bytes, width, height) {
        return Some(None);
    }
    let mut shrunk = Shrunk::new(width, height)?;
    shrunk.orientation = decoder.exif().and_then(|block| exif::orientation(block));
    let pixels = decoder.decode().ok()?;
    let rows = pixels.chunks_exact(3 * width as usize);
    for (y, row) in (0..height).zip(rows) {
        for (x, pixel) in (0..width).zip(row.chunks_exact(3)) {
            shrunk.add(x, y, [pixel[0], pixel[1], pixel[2]]);
        }
    }
    Some(Some(shrunk))
}

/// Row by row, so that the whole picture is never in memory.
fn of_png(bytes: &[u8]) -> Option<Option<Shrunk>> {
    let limits = png::Limits {
        bytes: DECODER_BYTES,
    };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().ok()?;
    let info = reader.info();
    let (width, height, interlaced) = (info.width, info.height, info.interlaced);
    if is_small(bytes, width, height) {
        return Some(None);
    }
    let mut shrunk = Shrunk::new(width, height)?;
    let block = info.exif_metadata.as_deref();
    shrunk.orientation = block.and_then(exif::orientation);
    let samples = reader.output_color_type().0.samples();
    for pass in passes(interlaced).iter().filter(|pass| pass.left < width) {
        for y in (pass.top..height).step_by(pass.down) {
            let row = reader.next_row().ok()??;
            let places = (pass.left..width).step_by(pass.across);
            for (x, pixel) in places.zip(row.data().chunks_exact(samples)) {
                shrunk.add(x, y, on_white(pixel));
            }
        }
    }
    Some(Some(shrunk))
}

fn is_small(bytes: &[u8], width: u32, height: u32) -> bool {
    bytes.len() <= SMALL_BYTES && width.max(height) <= LONGEST_SIDE
}

fn on_white(pixel: &[u8]) -> [u8; 3] {
    let (colour, alpha) = match *pixel {
        [shade] => ([shade; 3], 255),
        [shade, alpha] => ([shade; 3], alpha),
        [r, g, b] => ([r, g, b], 255),
        [r, g, b, alpha] => ([r, g, b], alpha),
        _ => ([0; 3], 255),
    };
    let alpha = u32::from(alpha);
    // Both sum to at most 255 * 255.
    colour.map(|part| ((u32::from(part) * alpha + 255 * (255 - alpha)) / 255) as u8)
}

/// Sums of the pixels of each square, which becomes one pixel.
struct Shrunk {
    /// The side of a square.
    side: u32,
    width: u32,
    height: u32,
    /// Of the picture that is shrunk.
    from: (u32, u32),
    sums: Vec<[u32; 3]>,
    orientation: Option<u8>,
}

impl Shrunk {
    fn new(width: u32, height: u32) -> Option<Self> {
        let is_fine = width > 0 && height > 0 && width.max(height) <= MAX_SIDE;
        if !is_fine || u64::from(width) * u64::from(height) > MOST_PIXELS {
            return None;
        }
        let side = width.max(height).div_ceil(LONGEST_SIDE);
        let (small_width, small_height) = (width.div_ceil(side), height.div_ceil(side));
        Some(Self {
            side,
            width: small_width,
            height: small_height,
            from: (width, height),
            sums: vec![[0; 3]; (small_width * small_height) as usize],
            orientation: None,
        })
    }

    fn add(&mut self, x: u32, y: u32, colour: [u8; 3]) {
        let place = (y / self.side) * self.width + x / self.side;
        for (sum, part) in self.sums[place as usize].iter_mut().zip(colour) {
            *sum += u32::from(part);
        }
    }

    fn mean(&self, x: u32, y: u32) -> [u8; 3] {
        let length = |place: u32, whole: u32| (whole - place * self.side).min(self.side);
        let pixels = length(x, self.from.0) * length(y, self.from.1);
        self.sums[(y * self.width + x) as usize].map(|sum| (sum / pixels) as u8)
    }

    /// As a JPEG that stands upright and carries nothing but the picture.
    fn encoded(&self) -> Option<Vec<u8>> {
        let (right, bottom) = (self.width - 1, self.height - 1);
        let is_lying = self.orientation.is_some_and(|orientation| orientation >= 5);
        let (width, height) = match is_lying {
            true => (self.height, self.width),
            false => (self.width, self.height),
        };
        let mut pixels = Vec::with_capacity((width * height * 3) as usize);
        for y in 0..height {
            for x in 0..width {
                let (x, y) = match self.orientation {
                    Some(2) => (right - x, y),
                    Some(3) => (right - x, bottom - y),
                    Some(4) => (x, bottom - y),
                    Some(5) => (y, x),
                    Some(6) => (y, bottom - x),
                    Some(7) => (right - y, bottom - x),
                    Some(8) => (right - y, x),
                    _ => (x, y),
                };
                pixels.extend(self.mean(x, y));
            }
        }
        let (width, height) = (u16::try_from(width).ok()?, u16::try_from(height).ok()?);
        let mut encoded = Vec::new();
        let encoder = Encoder::new(&mut encoded, QUALITY);
        encoder
            .encode(&pixels, width, height, ColorType::Rgb)
            .ok()?;
        Some(encoded)
    }
}
