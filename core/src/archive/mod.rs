//! Writes and reads ZIP files. Nothing is compressed: pictures and videos are already, and the rest is
//! small. Memory does not grow with the files, only with their number.

mod reader;
mod zip;

pub use reader::{ArchiveError, EntryData, read_archive};
pub use zip::{Modified, TooLarge, ZipWriter};
