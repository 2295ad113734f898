//! Writes a JPEG: baseline, in colour, with the simplest codes that work.

/// The order in which the coefficients of a block are written.
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Codes of 4 bits for the lengths of differences.
pub const DC_SYMBOLS: std::ops::RangeInclusive<u8> = 0..=11;

/// The picture as brightness and two colours, 0 to 255 each. A larger step is a coarser picture.
pub fn encode(width: u16, height: u16, step: u8, pixel: &dyn Fn(u16, u16) -> [f32; 3]) -> Vec<u8> {
    let mut file = vec![0xff, 0xd8];
    segment(
        &mut file,
        0xe0,
        b"JFIF\0\x01\x01\x00\x00\x01\x00\x01\x00\x00",
    );
    tables(&mut file, step);
    segment(
        &mut file,
        0xc0,
        &frame(width, height, &[(1, 0x11), (2, 0x11), (3, 0x11)]),
    );
    segment(&mut file, 0xda, &[3, 1, 0, 2, 0, 3, 0, 0, 63, 0]);
    let mut bits = Bits::default();
    let mut before = [0; 3];
    for y in (0..height).step_by(8) {
        for x in (0..width).step_by(8) {
            let pixels: [[f32; 3]; 64] = std::array::from_fn(|place| {
                let (i, j) = (place as u16 % 8, place as u16 / 8);
                pixel((x + i).min(width - 1), (y + j).min(height - 1))
            });
            for (channel, before) in before.iter_mut().enumerate() {
                let shade = |i: u16, j: u16| pixels[usize::from(8 * j + i)][channel] - 128.0;
                let block = transform(&shade, step.into());
                write_dc(&mut bits, block[0] - *before);
                *before = block[0];
                write_ac(&mut bits, &block[1..]);
            }
        }
    }
    file.extend(bits.finish());
    file.extend([0xff, 0xd9]);
    file
}

pub fn segment(file: &mut Vec<u8>, marker: u8, body: &[u8]) {
    file.extend([0xff, marker]);
    file.extend((body.len() as u16 + 2).to_be_bytes());
    file.extend(body);
}

/// One table of each kind, number 0.
pub fn tables(file: &mut Vec<u8>, step: u8) {
    segment(file, 0xdb, &[[0].as_slice(), &[step; 64]].concat());
    let mut dc = vec![0; 17];
    dc[4] = 12;
    dc.extend(DC_SYMBOLS);
    segment(file, 0xc4, &dc);
    let mut ac = vec![0; 17];
    (ac[0], ac[1], ac[9]) = (0x10, 1, 255);
    ac.extend(0..=255);
    segment(file, 0xc4, &ac);
}

/// Components by number and sampling.
pub fn frame(width: u16, height: u16, components: &[(u8, u8)]) -> Vec<u8> {
    let mut body = vec![8];
    body.extend(height.to_be_bytes());
    body.extend(width.to_be_bytes());
    body.push(components.len() as u8);
    for (number, sampling) in components {
        body.extend([*number, *sampling, 0]);
    }
    body
}

/// The coefficients of a block, in zigzag order: first along the rows, then along the columns.
pub fn transform(shade: &dyn Fn(u16, u16) -> f32, step: f32) -> [i32; 64] {
    let waves = waves();
    let along = |wave: &[f32; 8], values: [f32; 8]| -> f32 {
        wave.iter().zip(values).map(|(w, value)| w * value).sum()
    };
    let numbers: [u16; 8] = std::array::from_fn(|i| i as u16);
    let rows = numbers.map(|j| {
        let row = numbers.map(|i| shade(i, j));
        waves.each_ref().map(|wave| along(wave, row))
    });
    ZIGZAG.map(|place| {
        let (v, u) = (usize::from(place / 8), usize::from(place % 8));
        let sum = along(&waves[v], rows.map(|row| row[u]));
        (sum / 4.0 / step).round() as i32
    })
}

fn waves() -> [[f32; 8]; 8] {
    std::array::from_fn(|k| {
        let scale = if k == 0 { 0.5_f32.sqrt() } else { 1.0 };
        let turn = std::f32::consts::PI * k as f32 / 16.0;
        std::array::from_fn(|i| scale * (turn * (2 * i + 1) as f32).cos())
    })
}

pub fn write_dc(bits: &mut Bits, difference: i32) {
    let length = length(difference);
    bits.put(length, 4);
    bits.put(below_zero(difference, length), length);
}

pub fn write_ac(bits: &mut Bits, coefficients: &[i32]) {
    let mut zeros = 0;
    for coefficient in coefficients {
        if *coefficient == 0 {
            zeros += 1;
            continue;
        }
        while zeros > 15 {
            write_symbol(bits, 0xf0);
            zeros -= 16;
        }
        let length = length(*coefficient);
        write_symbol(bits, (zeros << 4 | length) as u8);
        bits.put(below_zero(*coefficient, length), length);
        zeros = 0;
    }
    if zeros > 0 {
        write_symbol(bits, 0);
    }
}

/// The end of a block has the shortest code, all others have nine bits.
pub fn write_symbol(bits: &mut Bits, symbol: u8) {
    match symbol {
        0 => bits.put(0, 1),
        _ => bits.put(0xff + u32::from(symbol), 9),
    }
}

fn length(number: i32) -> u32 {
    32 - number.unsigned_abs().leading_zeros()
}

/// A negative number is written as that number less one, without its upper bits.
fn below_zero(number: i32, length: u32) -> u32 {
    let number = if number < 0 { number - 1 } else { number };
    number as u32 & ((1 << length) - 1)
}

#[derive(Default)]
pub struct Bits {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    pub fn put(&mut self, value: u32, length: u32) {
        for place in (0..length).rev() {
            self.held = self.held << 1 | (value >> place & 1);
            self.count += 1;
            if self.count == 8 {
                self.bytes.push(self.held as u8);
                if self.held == 0xff {
                    self.bytes.push(0);
                }
                (self.held, self.count) = (0, 0);
            }
        }
    }

    /// Fills up the last byte with ones.
    pub fn finish(mut self) -> Vec<u8> {
        while self.count > 0 {
            self.put(1, 1);
        }
        self.bytes
    }
}
