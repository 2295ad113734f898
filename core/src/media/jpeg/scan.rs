//! Reads the coded picture, scan by scan: every code, but no pixel. This takes a few bytes for each
//! block of 8 x 8 pixels. Decoding to pixels would take hundreds of megabytes.

use super::super::perceptual_hash::Blocks;
use super::super::{Rejection, be16};
use super::frame::Frame;
use super::huffman::{Bits, Table};
use super::segments::Segment;
use super::{DHT, DQT, DRI, SOS, is_frame};

/// A scan of a few bytes can cover the whole picture, so scans are limited. Programs write about ten.
const MAX_SCANS: u32 = 100;

/// The standard's own bound for components that are coded together.
const MAX_BLOCKS_IN_UNIT: usize = 10;

#[derive(Default)]
pub struct Decoder {
    frame: Option<Frame>,
    /// The first step of each quantization table: that of the mean shade.
    steps: [Option<u16>; 4],
    dc: [Option<Table>; 4],
    ac: [Option<Table>; 4],
    restart_every: usize,
    scans: u32,
    /// The step of the first component, as it was when its scan came.
    step: u16,
}

pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub blocks: Blocks,
}

impl Decoder {
    pub fn take(&mut self, segment: &Segment) -> Result<(), Rejection> {
        match segment.marker {
            DHT => self.huffman_tables(segment.body),
            DQT => self.quantization_tables(segment.body),
            DRI => {
                let every = be16(segment.body, 0).ok_or(Rejection::DAMAGED)?;
                self.restart_every = every.into();
                Ok(())
            }
            SOS => self.scan(segment),
            marker if is_frame(marker) && self.frame.is_some() => Err(Rejection::DAMAGED),
            marker if is_frame(marker) => {
                self.frame = Some(Frame::read(segment.marker, segment.body)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Every component must have come.
    pub fn finish(self) -> Result<Picture, Rejection> {
        let frame = self.frame.ok_or(Rejection::DAMAGED)?;
        if frame.components.iter().any(|c| c.missing[0].is_none()) {
            return Err(Rejection::TRUNCATED);
        }
        let (columns, rows) = frame.covered();
        // The mean of 64 pixels is an eighth of the coefficient.
        let shade = f32::from(self.step) / 8.0;
        Ok(Picture {
            width: frame.width,
            height: frame.height,
            blocks: Blocks {
                stride: frame.components[0].stride,
                shades: frame.shades.iter().map(|s| *s as f32 * shade).collect(),
                columns,
                rows,
            },
        })
    }

    fn huffman_tables(&mut self, mut body: &[u8]) -> Result<(), Rejection> {
        while let [head, rest @ ..] = body {
            let (counts, rest) = rest.split_at_checked(16).ok_or(Rejection::DAMAGED)?;
            let length = counts.iter().map(|n| usize::from(*n)).sum();
            let (symbols, rest) = rest.split_at_checked(length).ok_or(Rejection::DAMAGED)?;
            let tables = match head >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err(Rejection::DAMAGED),
            };
            let place = tables.get_mut(usize::from(head & 15));
            *place.ok_or(Rejection::DAMAGED)? = Some(Table::new(counts, symbols)?);
            body = rest;
        }
        Ok(())
    }

    fn quantization_tables(&mut self, mut body: &[u8]) -> Result<(), Rejection> {
        while let [head, rest @ ..] = body {
            let wide = head >> 4 != 0;
            let length = if wide { 128 } else { 64 };
            let (table, rest) = rest.split_at_checked(length).ok_or(Rejection::DAMAGED)?;
            let first = if wide {
                be16(table, 0)
            } else {
                table.first().map(|step| u16::from(*step))
            };
            let place = self.steps.get_mut(usize::from(head & 15));
            *place.ok_or(Rejection::DAMAGED)? = first;
            body = rest;
        }
        Ok(())
    }

    fn scan(&mut self, segment: &Segment) -> Result<(), Rejection> {
        self.scans += 1;
        if self.scans > MAX_SCANS {
            return Err(Rejection::of("has too many scans"));
        }
        let frame = self.frame.as_mut().ok_or(Rejection::DAMAGED)?;
        let head = Head::read(segment.body, frame)?;
        head.note(frame)?;
        for part in &head.parts {
            let component = &frame.components[part.component];
            let step = self.steps[component.quantization].ok_or(Rejection::DAMAGED)?;
            if part.component == 0 {
                self.step = step;
            }
        }
        let mut scan = Scan {
            pass: head.pass,
            bits: Bits::new(segment.data),
            run: 0,
        };
        let mut coders = Vec::new();
        for part in &head.parts {
            coders.push(Coder {
                component: part.component,
                dc: self.dc.get(part.dc).and_then(Option::as_ref),
                ac: self.ac.get(part.ac).and_then(Option::as_ref),
                before: 0,
            });
        }
        for coder in &coders {
            coder.check_tables(head.pass)?;
        }
        // Where the codes are damaged or end too early, the rest of the scan is missing. Browsers
        // show what there is; so the picture is accepted. They also skip bytes after the last code.
        let _ = scan.run_over(frame, &mut coders, self.restart_every);
        Ok(())
    }
}

/// What a scan brings: for sequential pictures everything at once, for progressive ones either the
/// mean shade or a band of coefficients, first roughly and then bit by bit.
#[derive(Clone, Copy)]
enum Pass {
    Sequential,
    DcFirst { low: u32 },
    DcRefine { low: u32 },
    AcFirst { start: u32, end: u32 },
    AcRefine { start: u32, end: u32 },
}

struct Head {
    parts: Vec<Part>,
    pass: Pass,
    start: u8,
    end: u8,
    high: u8,
    low: u8,
}

struct Part {
    component: usize,
    dc: usize,
    ac: usize,
}

impl Head {
    fn read(body: &[u8], frame: &Frame) -> Result<Self, Rejection> {
        let count = usize::from(*body.first().ok_or(Rejection::DAMAGED)?);
        if !(1..=4).contains(&count) || body.len() != 4 + 2 * count {
            return Err(Rejection::DAMAGED);
        }
        let (named, rest) = body[1..].split_at(2 * count);
        let mut parts = Vec::<Part>::new();
        let mut blocks = 0;
        for pair in named.chunks_exact(2) {
            let component = frame.component(pair[0]).ok_or(Rejection::DAMAGED)?;
            if parts.iter().any(|part| part.component == component) {
                return Err(Rejection::DAMAGED);
            }
            blocks += frame.components[component].across * frame.components[component].down;
            parts.push(Part {
                component,
                dc: (pair[1] >> 4).into(),
                ac: (pair[1] & 15).into(),
            });
        }
        if count > 1 && blocks > MAX_BLOCKS_IN_UNIT {
            return Err(Rejection::DAMAGED);
        }
        let &[start, end, approximation] = rest else {
            return Err(Rejection::DAMAGED);
        };
        let (high, low) = (approximation >> 4, approximation & 15);
        if !frame.progressive {
            return Ok(Self::sequential(parts));
        }
        let pass = match (start, high) {
            _ if start > end || end > 63 || low > 13 => return Err(Rejection::DAMAGED),
            (0, _) if end > 0 => return Err(Rejection::DAMAGED),
            (0, 0) => Pass::DcFirst { low: low.into() },
            (0, _) => Pass::DcRefine { low: low.into() },
            _ if count > 1 => return Err(Rejection::DAMAGED),
            (_, 0) => Pass::AcFirst {
                start: start.into(),
                end: end.into(),
            },
            _ => Pass::AcRefine {
                start: start.into(),
                end: end.into(),
            },
        };
        Ok(Self {
            parts,
            pass,
            start,
            end,
            high,
            low,
        })
    }

    /// Such a scan has no bands. Some programs write nonsense in their place.
    fn sequential(parts: Vec<Part>) -> Self {
        Self {
            parts,
            pass: Pass::Sequential,
            start: 0,
            end: 63,
            high: 0,
            low: 0,
        }
    }

    /// Each coefficient comes once, and then each of its bits once. This also bounds the work.
    fn note(&self, frame: &mut Frame) -> Result<(), Rejection> {
        for part in &self.parts {
            let missing = &mut frame.components[part.component].missing;
            for bits in &mut missing[usize::from(self.start)..=usize::from(self.end)] {
                let expected = match self.high {
                    0 => bits.is_none(),
                    high => *bits == Some(high) && self.low + 1 == high,
                };
                if !expected {
                    return Err(Rejection::DAMAGED);
                }
                *bits = Some(self.low);
            }
        }
        Ok(())
    }
}

/// One component in a scan, with its tables and its mean shade of the block before.
struct Coder<'a> {
    component: usize,
    dc: Option<&'a Table>,
    ac: Option<&'a Table>,
    before: i32,
}

impl Coder<'_> {
    /// Without its tables a scan cannot be read at all.
    fn check_tables(&self, pass: Pass) -> Result<(), Rejection> {
        let complete = match pass {
            Pass::Sequential => self.dc.is_some() && self.ac.is_some(),
            Pass::DcFirst { .. } => self.dc.is_some(),
            Pass::DcRefine { .. } => true,
            Pass::AcFirst { .. } | Pass::AcRefine { .. } => self.ac.is_some(),
        };
        complete.then_some(()).ok_or(Rejection::DAMAGED)
    }
}

struct Scan<'a> {
    pass: Pass,
    bits: Bits<'a>,
    /// How many more blocks have nothing new in this band.
    run: u32,
}

impl Scan<'_> {
    fn run_over(
        &mut self,
        frame: &mut Frame,
        coders: &mut [Coder],
        restart_every: usize,
    ) -> Result<(), Rejection> {
        // A component alone comes block by block, without those that only fill up a unit.
        let alone = coders.len() == 1;
        let (across, down) = match coders {
            [one] => {
                let component = &frame.components[one.component];
                (component.columns, component.rows)
            }
            _ => frame.units,
        };
        let mut unit = 0;
        for y in 0..down {
            for x in 0..across {
                if restart_every > 0 && unit > 0 && unit % restart_every == 0 {
                    self.bits.restart((unit / restart_every - 1) as u32)?;
                    self.run = 0;
                    coders.iter_mut().for_each(|coder| coder.before = 0);
                }
                unit += 1;
                for coder in &mut *coders {
                    let component = &frame.components[coder.component];
                    let stride = component.stride;
                    let (wide, high) = match alone {
                        true => (1, 1),
                        false => (component.across, component.down),
                    };
                    for row in y * high..(y + 1) * high {
                        for column in x * wide..(x + 1) * wide {
                            self.block(frame, coder, row * stride + column)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn block(
        &mut self,
        frame: &mut Frame,
        coder: &mut Coder,
        block: usize,
    ) -> Result<(), Rejection> {
        let shade = match coder.component {
            0 => frame.shades.get_mut(block),
            _ => None,
        };
        match self.pass {
            Pass::Sequential => {
                let value = self.dc(coder)?;
                self.sequential_ac(coder.ac.ok_or(Rejection::DAMAGED)?)?;
                shade.into_iter().for_each(|shade| *shade = value);
            }
            Pass::DcFirst { low } => {
                let value = self.dc(coder)?;
                shade.into_iter().for_each(|shade| *shade = value << low);
            }
            Pass::DcRefine { low } => {
                let bit = self.bits.take(1)? as i32;
                shade.into_iter().for_each(|shade| *shade |= bit << low);
            }
            Pass::AcFirst { .. } if self.run > 0 => self.run -= 1,
            Pass::AcFirst { start, end } => {
                let table = coder.ac.ok_or(Rejection::DAMAGED)?;
                let nonzero = frame.components[coder.component].nonzero.get_mut(block);
                *nonzero.ok_or(Rejection::DAMAGED)? |= self.first_ac(table, start, end)?;
            }
            Pass::AcRefine { start, end } => {
                let table = coder.ac.ok_or(Rejection::DAMAGED)?;
                let nonzero = frame.components[coder.component].nonzero.get_mut(block);
                let nonzero = nonzero.ok_or(Rejection::DAMAGED)?;
                self.refine_ac(table, start, end, nonzero)?;
            }
        }
        Ok(())
    }

    /// The mean shade is stored as the difference to the block before.
    fn dc(&mut self, coder: &mut Coder) -> Result<i32, Rejection> {
        let table = coder.dc.ok_or(Rejection::DAMAGED)?;
        let bits = table.read(&mut self.bits)?;
        if bits > 15 {
            return Err(Rejection::DAMAGED);
        }
        let difference = self.bits.difference(bits.into())?;
        coder.before = coder.before.wrapping_add(difference);
        Ok(coder.before)
    }

    fn sequential_ac(&mut self, table: &Table) -> Result<(), Rejection> {
        let mut at = 1;
        while at <= 63 {
            let symbol = table.read(&mut self.bits)?;
            let (zeros, bits) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            match (zeros, bits) {
                (15, 0) => at += 16,
                (_, 0) => break,
                _ => {
                    at += zeros + 1;
                    self.bits.skip(bits)?;
                }
            }
        }
        if at > 64 {
            return Err(Rejection::DAMAGED);
        }
        Ok(())
    }

    /// Returns which coefficients of the band came.
    fn first_ac(&mut self, table: &Table, start: u32, end: u32) -> Result<u64, Rejection> {
        let mut nonzero = 0;
        let mut at = start;
        while at <= end {
            let symbol = table.read(&mut self.bits)?;
            let (zeros, bits) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            match (zeros, bits) {
                (15, 0) => at += 16,
                (_, 0) => {
                    self.run = (1 << zeros) - 1 + self.bits.take(zeros)?;
                    break;
                }
                _ => {
                    at += zeros;
                    if at > end {
                        return Err(Rejection::DAMAGED);
                    }
                    self.bits.skip(bits)?;
                    nonzero |= 1 << at;
                    at += 1;
                }
            }
        }
        Ok(nonzero)
    }

    /// One more bit for each coefficient that came before, and those that come only now.
    fn refine_ac(
        &mut self,
        table: &Table,
        start: u32,
        end: u32,
        nonzero: &mut u64,
    ) -> Result<(), Rejection> {
        let mut at = start;
        while self.run == 0 && at <= end {
            let symbol = table.read(&mut self.bits)?;
            let (mut zeros, bits) = (u32::from(symbol >> 4), symbol & 15);
            match (zeros, bits) {
                (15, 0) => {}
                (_, 0) => {
                    self.run = (1 << zeros) + self.bits.take(zeros)?;
                    break;
                }
                (_, 1) => self.bits.skip(1)?,
                _ => return Err(Rejection::DAMAGED),
            }
            while at <= end {
                if *nonzero >> at & 1 == 1 {
                    self.bits.skip(1)?;
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                at += 1;
            }
            if bits == 1 {
                if at > end {
                    return Err(Rejection::DAMAGED);
                }
                *nonzero |= 1 << at;
            }
            at += 1;
        }
        if self.run > 0 {
            let band = (u64::MAX >> (63 - end)) & u64::MAX.checked_shl(at).unwrap_or(0);
            self.bits.skip((*nonzero & band).count_ones())?;
            self.run -= 1;
        }
        Ok(())
    }
}
