//! Reads CBOR (RFC 8949), as much of it as authenticators write: definite lengths, no tags, little depth.

/// As deep as authenticators may nest (CTAP 2).
const MAX_DEPTH: usize = 4;

/// A value, or the beginning of one that holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Integer(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    /// So many values follow.
    Array(usize),
    /// So many pairs follow.
    Map(usize),
    /// True, null or a float: nothing here needs one.
    Other,
}

/// Goes through bytes. It copies nothing, and takes no more steps than there are bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next value. None if it is malformed or of a kind that no authenticator writes.
    pub fn item(&mut self) -> Option<Item<'a>> {
        let [first] = *self.take(1)? else { return None };
        let (major, info) = (first >> 5, first & 0x1f);
        let argument = self.argument(info)?;
        let length = || usize::try_from(argument).ok();
        Some(match major {
            0 => Item::Integer(i64::try_from(argument).ok()?),
            1 => Item::Integer(-1 - i64::try_from(argument).ok()?),
            2 => Item::Bytes(self.take(length()?)?),
            3 => Item::Text(std::str::from_utf8(self.take(length()?)?).ok()?),
            4 => Item::Array(self.count(length()?)?),
            5 => Item::Map(self.count(length()?)?),
            7 => Item::Other,
            _ => return None,
        })
    }

    /// The number of pairs of a map that must come next.
    pub fn map(&mut self) -> Option<usize> {
        match self.item()? {
            Item::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        match self.item()? {
            Item::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub fn integer(&mut self) -> Option<i64> {
        match self.item()? {
            Item::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Passes a value with all that it holds.
    pub fn skip(&mut self) -> Option<()> {
        self.skip_within(MAX_DEPTH)
    }

    fn skip_within(&mut self, depth: usize) -> Option<()> {
        let held = match self.item()? {
            Item::Array(values) => values,
            Item::Map(pairs) => pairs.checked_mul(2)?,
            _ => return Some(()),
        };
        let depth = depth.checked_sub(1)?;
        (0..held).try_for_each(|_| self.skip_within(depth))
    }

    /// The number in the head of a value, or that follows it.
    fn argument(&mut self, info: u8) -> Option<u64> {
        let bytes = match info {
            0..=23 => return Some(info.into()),
            24..=27 => self.take(1 << (info - 24))?,
            // 31 would be a length that is not known yet.
            _ => return None,
        };
        let number = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(bytes.iter().fold(0, number))
    }

    /// Each value takes at least a byte.
    fn count(&self, values: usize) -> Option<usize> {
        (values <= self.rest.len()).then_some(values)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}
