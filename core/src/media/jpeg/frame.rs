//! The frame of a JPEG: size, components, and how they are laid out in blocks of 8 x 8.

use super::super::{Rejection, be16, check_size};

pub struct Frame {
    pub width: u32,
    pub height: u32,
    pub progressive: bool,
    pub components: Vec<Component>,
    /// How many units across and down, when several components are coded together.
    pub units: (usize, usize),
    /// The first component's mean shades, in steps of its quantization; blocks as in `stride`.
    pub shades: Vec<i32>,
    most_across: u32,
    most_down: u32,
}

pub struct Component {
    id: u8,
    pub quantization: usize,
    /// Blocks of this component in a unit.
    pub across: usize,
    pub down: usize,
    /// Blocks that the picture touches.
    pub columns: usize,
    pub rows: usize,
    /// Blocks in a row, with those that fill up the last unit.
    pub stride: usize,
    /// How many low bits of each coefficient are still to come; none if nothing has come yet.
    pub missing: [Option<u8>; 64],
    /// Progressive: which coefficients of each block are not zero. Refining needs to know.
    pub nonzero: Vec<u64>,
}

impl Frame {
    /// From the body of a start of frame. Memory is set aside only for a picture within bounds.
    pub fn read(marker: u8, body: &[u8]) -> Result<Self, Rejection> {
        if !(0xc0..=0xc2).contains(&marker) || body.first() != Some(&8) {
            return Err(Rejection::of(
                "is an arithmetic, lossless or 12-bit JPEG; only baseline and progressive are supported",
            ));
        }
        let height = be16(body, 1).ok_or(Rejection::DAMAGED)?.into();
        let width = be16(body, 3).ok_or(Rejection::DAMAGED)?.into();
        check_size(width, height)?;
        let count = usize::from(*body.get(5).ok_or(Rejection::DAMAGED)?);
        if !matches!(count, 1 | 3 | 4) || body.len() != 6 + 3 * count {
            return Err(Rejection::DAMAGED);
        }
        let mut frame = Self {
            width,
            height,
            progressive: marker == 0xc2,
            components: Vec::new(),
            units: (0, 0),
            shades: Vec::new(),
            most_across: 1,
            most_down: 1,
        };
        for part in body[6..].chunks_exact(3) {
            frame.components.push(Component::read(part)?);
        }
        frame.lay_out()?;
        Ok(frame)
    }

    fn lay_out(&mut self) -> Result<(), Rejection> {
        let most = |of: fn(&Component) -> usize| self.components.iter().map(of).max().unwrap_or(1);
        let (across, down) = (most(|c| c.across), most(|c| c.down));
        (self.most_across, self.most_down) = (across as u32, down as u32);
        let (width, height) = (self.width as usize, self.height as usize);
        self.units = (width.div_ceil(8 * across), height.div_ceil(8 * down));
        for component in &mut self.components {
            component.columns = (width * component.across).div_ceil(across).div_ceil(8);
            component.rows = (height * component.down).div_ceil(down).div_ceil(8);
            component.stride = self.units.0 * component.across;
            if self.progressive {
                let blocks = component.stride * self.units.1 * component.down;
                component.nonzero = vec![0; blocks];
            }
        }
        let first = &self.components[0];
        self.shades = vec![0; first.stride * self.units.1 * first.down];
        Ok(())
    }

    pub fn component(&self, id: u8) -> Option<usize> {
        self.components.iter().position(|c| c.id == id)
    }

    /// How many blocks of the first component the picture covers, in parts of blocks.
    pub fn covered(&self) -> (f64, f64) {
        let first = &self.components[0];
        let part = |pixels: u32, own: usize, most: u32| {
            f64::from(pixels) * own as f64 / f64::from(most) / 8.0
        };
        (
            part(self.width, first.across, self.most_across),
            part(self.height, first.down, self.most_down),
        )
    }
}

impl Component {
    fn read(part: &[u8]) -> Result<Self, Rejection> {
        let &[id, sampling, quantization] = part else {
            return Err(Rejection::DAMAGED);
        };
        let (across, down) = (usize::from(sampling >> 4), usize::from(sampling & 15));
        if !(1..=4).contains(&across) || !(1..=4).contains(&down) || quantization > 3 {
            return Err(Rejection::DAMAGED);
        }
        Ok(Self {
            id,
            quantization: quantization.into(),
            across,
            down,
            columns: 0,
            rows: 0,
            stride: 0,
            missing: [None; 64],
            nonzero: Vec::new(),
        })
    }
}
