//! A hash that identifies a picture after re-compression or resizing.
//!
//! The picture is averaged down to 16 x 16 shades of grey, then transformed to frequencies (a
//! discrete cosine transform). Each of the 63 lowest frequencies gives one bit: is it stronger than
//! the median? Compression and resizing change high frequencies and hardly touch the low ones.

/// The mean shades of blocks of the picture, row by row. A block is 8 x 8 pixels, or 8 x 8 samples
/// of a JPEG whose brightness has fewer samples than pixels.
pub struct Blocks {
    pub shades: Vec<f32>,
    /// Blocks in a row of `shades`; the last ones may lie outside of the picture.
    pub stride: usize,
    /// How many blocks the picture covers, with the part of the last one that lies inside.
    pub columns: f64,
    pub rows: f64,
}

const SIDE: usize = 16;
const FREQUENCIES: usize = 8;

/// A picture of fewer blocks across or down has too little detail to tell it from others.
const FEWEST_BLOCKS: f64 = 8.0;

/// A picture whose lightest and darkest parts differ by less shows nothing to compare.
const LEAST_CONTRAST: f64 = 4.0;

/// How many of the 64 bits differ. Unrelated photos differ in about 32; a photo that was compressed
/// or resized usually differs in fewer than 6.
pub fn hash_distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

pub fn hash(blocks: &Blocks) -> Option<u64> {
    if blocks.columns.min(blocks.rows) < FEWEST_BLOCKS {
        return None;
    }
    let grid = shrink(blocks);
    let (low, high) = grid
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), shade| {
            (low.min(*shade), high.max(*shade))
        });
    if high - low < LEAST_CONTRAST {
        return None;
    }
    let strengths = transform(&grid);
    // The first is the mean brightness, which says nothing about shapes.
    let mut sorted = strengths[1..].to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let bits = strengths.iter().enumerate().skip(1);
    Some(bits.fold(0, |hash, (i, strength)| {
        hash | (u64::from(*strength > median) << i)
    }))
}

/// The mean shade of each cell of the grid. A block on the border of two cells counts for each by
/// its share, so that the same picture gives the same grid at any size.
fn shrink(blocks: &Blocks) -> [f64; SIDE * SIDE] {
    let across = shares(blocks.columns);
    let down = shares(blocks.rows);
    let mut grid = [0.0; SIDE * SIDE];
    for (cell_row, rows) in down.iter().enumerate() {
        for (cell_column, columns) in across.iter().enumerate() {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (row, part_down) in rows {
                for (column, part_across) in columns {
                    let shade = blocks.shades.get(row * blocks.stride + column);
                    let part = part_down * part_across;
                    sum += f64::from(shade.copied().unwrap_or(0.0)) * part;
                    weight += part;
                }
            }
            grid[cell_row * SIDE + cell_column] = sum / weight;
        }
    }
    grid
}

/// For each cell along one side: the blocks that it touches, and how much of each.
fn shares(length: f64) -> Vec<Vec<(usize, f64)>> {
    let cell = length / SIDE as f64;
    let of_cell = |i: usize| {
        let (from, to) = (i as f64 * cell, (i + 1) as f64 * cell);
        let blocks = from.floor() as usize..(to.ceil() as usize).max(from.floor() as usize + 1);
        let part = |block: usize| (block as f64 + 1.0).min(to) - (block as f64).max(from);
        blocks
            .map(|block| (block, part(block)))
            .filter(|(_, part)| *part > 0.0)
            .collect()
    };
    (0..SIDE).map(of_cell).collect()
}

fn transform(grid: &[f64; SIDE * SIDE]) -> [f64; FREQUENCIES * FREQUENCIES] {
    let waves: [[f64; SIDE]; FREQUENCIES] = std::array::from_fn(|k| {
        let turn = std::f64::consts::PI * k as f64 / (2 * SIDE) as f64;
        std::array::from_fn(|i| (turn * (2 * i + 1) as f64).cos())
    });
    std::array::from_fn(|place| {
        let (down, across) = (&waves[place / FREQUENCIES], &waves[place % FREQUENCIES]);
        let cells = grid.iter().enumerate();
        cells
            .map(|(cell, shade)| shade * down[cell / SIDE] * across[cell % SIDE])
            .sum()
    })
}
