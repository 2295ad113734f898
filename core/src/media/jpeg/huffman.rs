//! Codes of different lengths, and the bits they are read from.

use super::super::Rejection;

/// Codes up to this length are looked up at once; longer ones are rare.
const FAST: u32 = 9;

pub struct Table {
    /// By the next nine bits: length of the code and its symbol; length 0 if it is longer.
    fast: [(u8, u8); 1 << FAST],
    /// By length: the first code, the one after the last, and the place of the first's symbol.
    longer: [(u32, u32, usize); 17],
    symbols: Vec<u8>,
}

impl Table {
    /// From how many codes there are of each length, 1 to 16, and their symbols in order.
    pub fn new(counts: &[u8], symbols: &[u8]) -> Result<Self, Rejection> {
        let mut table = Self {
            fast: [(0, 0); 1 << FAST],
            longer: [(0, 0, 0); 17],
            symbols: symbols.to_vec(),
        };
        let (mut code, mut place) = (0_u32, 0);
        for (length, count) in (1_u32..=16).zip(counts) {
            let first = code;
            for symbol in symbols.iter().skip(place).take(usize::from(*count)) {
                if code >= 1 << length {
                    return Err(Rejection::DAMAGED);
                }
                table.put(code, length, *symbol);
                code += 1;
            }
            table.longer[length as usize] = (first, code, place);
            place += usize::from(*count);
            code <<= 1;
        }
        Ok(table)
    }

    fn put(&mut self, code: u32, length: u32, symbol: u8) {
        if length <= FAST {
            let spare = FAST - length;
            let from = (code << spare) as usize;
            self.fast[from..from + (1 << spare)].fill((length as u8, symbol));
        }
    }

    pub fn read(&self, bits: &mut Bits) -> Result<u8, Rejection> {
        let next = bits.peek();
        let (length, symbol) = self.fast[(next >> (16 - FAST)) as usize];
        if length > 0 {
            bits.skip(length.into())?;
            return Ok(symbol);
        }
        for length in FAST + 1..=16 {
            let code = next >> (16 - length);
            let (first, end, place) = self.longer[length as usize];
            if (first..end).contains(&code) {
                bits.skip(length)?;
                let symbol = self.symbols.get(place + (code - first) as usize);
                return symbol.copied().ok_or(Rejection::DAMAGED);
            }
        }
        Err(Rejection::DAMAGED)
    }
}

/// Reads bits of the coded picture and stops before a marker.
pub struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            at: 0,
            held: 0,
            count: 0,
        }
    }

    fn fill(&mut self) {
        while self.count <= 56 {
            let Some(byte) = self.byte() else { return };
            self.held |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    /// A 0xff of the picture is written as 0xff 0x00; any other byte behind it makes a marker.
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at)?;
        if byte != 0xff {
            self.at += 1;
            return Some(byte);
        }
        if self.data.get(self.at + 1) != Some(&0) {
            return None;
        }
        self.at += 2;
        Some(byte)
    }

    /// The next 16 bits; behind the end they are zero, and `skip` fails.
    fn peek(&mut self) -> u32 {
        if self.count < 16 {
            self.fill();
        }
        (self.held >> 48) as u32
    }

    /// At most 63 bits.
    pub fn skip(&mut self, bits: u32) -> Result<(), Rejection> {
        if self.count < bits {
            let short = bits - self.count;
            (self.held, self.count) = (0, 0);
            self.fill();
            if self.count < short {
                return Err(Rejection::DAMAGED);
            }
            return self.skip(short);
        }
        self.held <<= bits;
        self.count -= bits;
        Ok(())
    }

    /// At most 16 bits.
    pub fn take(&mut self, bits: u32) -> Result<u32, Rejection> {
        let next = self.peek();
        self.skip(bits)?;
        Ok(next >> (16 - bits))
    }

    /// A difference of so many bits: its upper half is positive, its lower half negative.
    pub fn difference(&mut self, bits: u32) -> Result<i32, Rejection> {
        if bits == 0 {
            return Ok(0);
        }
        let value = self.take(bits)? as i32;
        let half = 1 << (bits - 1);
        Ok(if value < half {
            value - 2 * half + 1
        } else {
            value
        })
    }

    /// Goes on behind the restart marker that must come here.
    pub fn restart(&mut self, number: u32) -> Result<(), Rejection> {
        (self.held, self.count) = (0, 0);
        let rest = self.data.get(self.at..).unwrap_or_default();
        let fill = rest.iter().take_while(|b| **b == 0xff).count();
        let marker = 0xd0 + (number % 8) as u8;
        if fill == 0 || rest.get(fill) != Some(&marker) {
            return Err(Rejection::DAMAGED);
        }
        self.at += fill + 1;
        Ok(())
    }
}
