//! What may follow the end of a JPEG. Phones append a second JPEG with the brightness of an HDR
//! photo, a short film, a block of Samsung's own. A photo straight from such a phone must be
//! accepted. Anything else is a second file in disguise.

use std::io::Cursor;

use super::super::{Rejection, TOLERATED_REST, mp4};
use super::segments::Segments;

/// Pictures, films and padding, taken together.
const MAX_PIECES: usize = 16;

pub fn check(mut rest: &[u8]) -> Result<(), Rejection> {
    for _ in 0..MAX_PIECES {
        if rest.len() <= TOLERATED_REST || is_film(rest) || is_samsung_block(rest) {
            return Ok(());
        }
        let padding = rest.iter().take_while(|b| **b == 0).count();
        rest = match padding {
            0 => &rest[picture(rest)?..],
            _ => &rest[padding..],
        };
    }
    Err(Rejection::APPENDED)
}

/// The length of the JPEG that must stand here.
fn picture(rest: &[u8]) -> Result<usize, Rejection> {
    let mut end = 0;
    for segment in Segments::new(rest) {
        match segment {
            // Between segments, another file could hide.
            Ok(segment) if segment.skipped == 0 => end = segment.end,
            _ => return Err(Rejection::APPENDED),
        }
    }
    Ok(end)
}

/// A whole MP4, up to the end of the file.
fn is_film(rest: &[u8]) -> bool {
    mp4::is_it(rest) && mp4::inspect(&mut Cursor::new(rest), rest.len() as u64).is_ok()
}

/// Ends with a directory (`SEFH` ... its length, `SEFT`) of blocks that lie before it. They must
/// reach back to the start of what is appended, so that nothing hides in front of them.
fn is_samsung_block(rest: &[u8]) -> bool {
    reach_of_samsung_directory(rest).is_some_and(|before| before <= TOLERATED_REST)
}

/// How many bytes lie before the first block.
fn reach_of_samsung_directory(rest: &[u8]) -> Option<usize> {
    let (before, length) = rest.strip_suffix(b"SEFT")?.split_last_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let start = before.len().checked_sub(length)?;
    let directory = &before[start..];
    let (head, entries) = directory.split_first_chunk::<12>()?;
    if !head.starts_with(b"SEFH") || entries.len() % 12 != 0 {
        return None;
    }
    let back = |entry: &[u8]| {
        let raw = entry.get(4..8)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(raw)).ok()
    };
    let furthest = entries.chunks_exact(12).filter_map(back).max()?;
    start.checked_sub(furthest)
}
