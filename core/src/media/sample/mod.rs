//! Small valid files for simulated workers, each different by its seed.

pub(super) mod mp4;

use jpeg_encoder::{ColorType, Encoder};

use super::{JPEG, MP4, PNG, png::SIGNATURE, png::write_chunk};
use crate::domain::sha256::Sha256;
use crate::domain::tasks::ProofType;

/// A file that `inspect` accepts as this kind, and its content type. The same seed gives the same
/// file; photos of different seeds do not resemble each other.
pub fn sample(kind: ProofType, seed: &[u8]) -> (Vec<u8>, &'static str) {
    match kind {
        ProofType::Photo => (photo(seed), JPEG),
        ProofType::Video => (mp4::film(WIDTH, HEIGHT, &photo(seed)), MP4),
        ProofType::Signature => (signature(seed), PNG),
    }
}

const WIDTH: u16 = 160;
const HEIGHT: u16 = 120;
const QUALITY: u8 = 80;

/// As many bytes as wanted, all of them from the seed.
fn spread(seed: &[u8], length: usize) -> Vec<u8> {
    let blocks = (0..length.div_ceil(32) as u32)
        .flat_map(|number| Sha256::new().with(seed).with(number.to_be_bytes()).finish());
    blocks.take(length).collect()
}

/// Soft spots of light and dark in one tint.
fn photo(seed: &[u8]) -> Vec<u8> {
    const SPOTS: usize = 8;
    let random = spread(seed, SPOTS * SPOTS + 2);
    let (spots, tint) = random.split_at(SPOTS * SPOTS);
    let shade = |x: u16, y: u16| {
        // Between the four spots around this place, by how near each is.
        let place = |at: u16, length: u16| f32::from(at) * (SPOTS - 1) as f32 / f32::from(length);
        let (across, down) = (place(x, WIDTH), place(y, HEIGHT));
        let (column, row) = (across as usize, down as usize);
        let spot = |row: usize, column: usize| f32::from(spots[row * SPOTS + column]);
        let between = |row: usize| {
            let part = across.fract();
            spot(row, column) * (1.0 - part) + spot(row, column + 1) * part
        };
        let part = down.fract();
        between(row) * (1.0 - part) + between(row + 1) * part
    };
    encode(WIDTH, HEIGHT, QUALITY, &|x, y| {
        [shade(x, y) as u8, tint[0], tint[1]]
    })
}

/// A baseline JPEG from brightness and two colours (YCbCr).
pub(super) fn encode(
    width: u16,
    height: u16,
    quality: u8,
    pixel: &dyn Fn(u16, u16) -> [u8; 3],
) -> Vec<u8> {
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let pixels: Vec<u8> = places.flat_map(|(x, y)| pixel(x, y)).collect();
    let mut file = Vec::new();
    let encoded = Encoder::new(&mut file, quality).encode(&pixels, width, height, ColorType::Ycbcr);
    // Fails only for an empty picture, pixels that do not match its size, or a full disk.
    debug_assert!(encoded.is_ok(), "{encoded:?}");
    file
}

/// A pen stroke in black on white, one bit for each pixel.
fn signature(seed: &[u8]) -> Vec<u8> {
    const WIDTH: usize = 240;
    const HEIGHT: usize = 80;
    let random = spread(seed, 12);
    let stroke = |x: usize| {
        let wave = |i: usize| {
            let swing = f32::from(random[3 * i]) / 255.0 * 10.0;
            let speed = 0.03 + f32::from(random[3 * i + 1]) / 255.0 * 0.3;
            let start = f32::from(random[3 * i + 2]) / 40.0;
            swing * (speed * x as f32 + start).sin()
        };
        (0..4).map(wave).sum::<f32>() as isize + HEIGHT as isize / 2
    };
    let mut rows = vec![0xff; HEIGHT * (1 + WIDTH / 8)];
    for x in 20..WIDTH - 20 {
        for y in stroke(x)..stroke(x) + 3 {
            let row = y.clamp(0, HEIGHT as isize - 1) as usize * (1 + WIDTH / 8);
            rows[row + 1 + x / 8] &= !(0x80 >> (x % 8));
        }
    }
    for row in rows.chunks_exact_mut(1 + WIDTH / 8) {
        row[0] = 0;
    }
    let mut header = (WIDTH as u32).to_be_bytes().to_vec();
    header.extend((HEIGHT as u32).to_be_bytes());
    header.extend([1, 0, 0, 0, 0]);
    [
        SIGNATURE.to_vec(),
        write_chunk(*b"IHDR", &header),
        write_chunk(*b"IDAT", &stored(&rows)),
        write_chunk(*b"IEND", &[]),
    ]
    .concat()
}

/// As zlib, but not compressed. Up to 65,535 bytes.
pub(super) fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u16;
    let mut zlib = vec![0x78, 0x01, 1];
    zlib.extend(length.to_le_bytes());
    zlib.extend((!length).to_le_bytes());
    zlib.extend(bytes);
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    zlib.extend((b << 16 | a).to_be_bytes());
    zlib
}
