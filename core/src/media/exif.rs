//! What a camera wrote into a picture: when and where it was taken, and its orientation.
//!
//! The block is a small TIFF file. Invalid values in it are ignored: a photo is not refused because
//! of its metadata. Each pointer is followed once, so that a block costs no more than its length
//! (ADR 17).

#[cfg(test)]
pub mod tests;

use crate::domain::Timestamp;

/// What the file itself says. Anyone can write anything here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exif {
    /// When it was taken. Cameras write the time on their clock; if the file does not say how far
    /// that is from UTC, it is read as UTC and `has_offset` is false: the true moment then lies up
    /// to 14 hours before or 12 hours after it.
    pub taken_at: Option<Timestamp>,
    pub has_offset: bool,
    /// Degrees; both or neither.
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
}

const ORIENTATION: u16 = 0x0112;
const DATE_TIME: u16 = 0x0132;
const EXIF_DIRECTORY: u16 = 0x8769;
const GPS_DIRECTORY: u16 = 0x8825;
const ORIGINAL: u16 = 0x9003;
const DIGITIZED: u16 = 0x9004;
const OFFSET: u16 = 0x9010;
const OFFSET_ORIGINAL: u16 = 0x9011;
const OFFSET_DIGITIZED: u16 = 0x9012;
const LATITUDE_REF: u16 = 1;
const LATITUDE: u16 = 2;
const LONGITUDE_REF: u16 = 3;
const LONGITUDE: u16 = 4;

const ASCII: u16 = 2;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;

/// Reads a TIFF block: the body of the EXIF segment or chunk.
pub fn read(block: &[u8]) -> Exif {
    let Some(tiff) = Tiff::open(block) else {
        return Exif::default();
    };
    let main = tiff.main();
    let camera = main.directory(EXIF_DIRECTORY);
    let gps = main.directory(GPS_DIRECTORY);

    let moment = |time: Option<&str>, offset: u16| {
        let zone = camera.as_ref().and_then(|d| d.text(offset));
        taken_at(time?, zone)
    };
    let camera_text = |tag| camera.as_ref().and_then(|d| d.text(tag));
    let taken = moment(camera_text(ORIGINAL), OFFSET_ORIGINAL)
        .or_else(|| moment(camera_text(DIGITIZED), OFFSET_DIGITIZED))
        .or_else(|| moment(main.text(DATE_TIME), OFFSET));
    let place = gps.and_then(|gps| {
        let latitude = gps.degrees(LATITUDE, LATITUDE_REF, *b"NS", 90.0)?;
        let longitude = gps.degrees(LONGITUDE, LONGITUDE_REF, *b"EW", 180.0)?;
        // Phones that do not know where they are write zeros. Nobody works at that place.
        (latitude != 0.0 || longitude != 0.0).then_some((latitude, longitude))
    });
    Exif {
        taken_at: taken.map(|(at, _)| at),
        has_offset: taken.is_some_and(|(_, has_offset)| has_offset),
        latitude: place.map(|(latitude, _)| latitude),
        longitude: place.map(|(_, longitude)| longitude),
    }
}

/// How to rotate or mirror the picture, 2 to 8; none if it is upright or the block does not say.
pub fn orientation(block: &[u8]) -> Option<u8> {
    let number = Tiff::open(block)?.main().short(ORIENTATION)?;
    u8::try_from(number).ok().filter(|n| (2..=8).contains(n))
}

/// A block that contains the orientation and nothing else.
pub fn only_orientation(orientation: u8) -> [u8; 26] {
    let mut block = *b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    block[19] = orientation;
    block
}

/// `2026:11:15 09:30:00` and perhaps `+01:00`.
fn taken_at(time: &str, zone: Option<&str>) -> Option<(Timestamp, bool)> {
    let (date, clock) = time.trim().split_once(' ')?;
    let local = format!("{}T{}", date.replace(':', "-"), clock.trim());
    // The length excludes other forms that the rule for datetimes would accept.
    if local.len() != "2026-11-15T09:30:00".len() {
        return None;
    }
    let zoned = zone.map(str::trim).filter(|zone| is_offset(zone));
    if let Some(zone) = zoned
        && let Ok(at) = Timestamp::RULE.check(&format!("{local}{zone}"))
    {
        return Some((at, true));
    }
    Some((Timestamp::RULE.check(&local).ok()?, false))
}

fn is_offset(zone: &str) -> bool {
    zone == "Z" || (zone.len() == 6 && zone.starts_with(['+', '-']))
}

struct Tiff<'a> {
    bytes: &'a [u8],
    little: bool,
    main: usize,
}

struct Directory<'a> {
    tiff: &'a Tiff<'a>,
    at: usize,
}

impl<'a> Tiff<'a> {
    fn open(bytes: &'a [u8]) -> Option<Self> {
        let little = match bytes.get(..4)? {
            b"II\x2a\0" => true,
            b"MM\0\x2a" => false,
            _ => return None,
        };
        let mut tiff = Self {
            bytes,
            little,
            main: 0,
        };
        tiff.main = tiff.long(4)?;
        Some(tiff)
    }

    fn main(&self) -> Directory<'_> {
        Directory {
            tiff: self,
            at: self.main,
        }
    }

    fn slice(&self, at: usize, length: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(length)?)
    }

    fn short(&self, at: usize) -> Option<u16> {
        let raw = self.slice(at, 2)?.try_into().ok()?;
        let read = if self.little {
            u16::from_le_bytes
        } else {
            u16::from_be_bytes
        };
        Some(read(raw))
    }

    fn long(&self, at: usize) -> Option<usize> {
        let raw = self.slice(at, 4)?.try_into().ok()?;
        let read = if self.little {
            u32::from_le_bytes
        } else {
            u32::from_be_bytes
        };
        usize::try_from(read(raw)).ok()
    }

    /// Numerator by denominator; none if that is not a number.
    fn rational(&self, at: usize) -> Option<f64> {
        let (top, bottom) = (self.long(at)?, self.long(at.checked_add(4)?)?);
        (bottom != 0).then(|| top as f64 / bottom as f64)
    }
}

impl<'a> Directory<'a> {
    /// Where the values of a tag lie, if it has this type and so many of them or more.
    fn values(&self, tag: u16, kind: u16, least: usize) -> Option<(usize, usize)> {
        let entries = usize::from(self.tiff.short(self.at)?);
        let entry = (0..entries)
            .map(|i| self.at + 2 + 12 * i)
            .take_while(|entry| *entry < self.tiff.bytes.len())
            .find(|entry| self.tiff.short(*entry) == Some(tag))?;
        let count = self.tiff.long(entry + 4)?;
        if self.tiff.short(entry + 2)? != kind || count < least {
            return None;
        }
        let size = match kind {
            ASCII => 1,
            SHORT => 2,
            LONG => 4,
            _ => 8,
        };
        let fits = count.checked_mul(size)? <= 4;
        let at = if fits {
            entry + 8
        } else {
            self.tiff.long(entry + 8)?
        };
        Some((at, count))
    }

    /// The directory that a tag points to. Its own pointers are not followed, so there are no circles.
    fn directory(&self, tag: u16) -> Option<Directory<'a>> {
        let (at, _) = self.values(tag, LONG, 1)?;
        Some(Directory {
            tiff: self.tiff,
            at: self.tiff.long(at)?,
        })
    }

    fn short(&self, tag: u16) -> Option<u16> {
        let (at, _) = self.values(tag, SHORT, 1)?;
        self.tiff.short(at)
    }

    fn text(&self, tag: u16) -> Option<&'a str> {
        let (at, count) = self.values(tag, ASCII, 1)?;
        let raw = self.tiff.slice(at, count)?;
        let end = raw.iter().position(|b| *b == 0).unwrap_or(raw.len());
        std::str::from_utf8(&raw[..end]).ok()
    }

    /// Degrees, minutes and seconds on the side that the reference names.
    fn degrees(&self, tag: u16, side: u16, sides: [u8; 2], most: f64) -> Option<f64> {
        let (at, _) = self.values(tag, RATIONAL, 3)?;
        let part = |i: usize| self.tiff.rational(at.checked_add(8 * i)?);
        let degrees = part(0)? + part(1)? / 60.0 + part(2)? / 3600.0;
        let side = self.text(side)?.bytes().next()?.to_ascii_uppercase();
        let sign = match sides.iter().position(|s| *s == side)? {
            0 => 1.0,
            _ => -1.0,
        };
        (degrees <= most).then_some(sign * degrees)
    }
}
