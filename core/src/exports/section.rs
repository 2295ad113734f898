//! How far an export has come, and what is written at once.

use serde_json::Value;

use super::csv::CsvRow;
use crate::records::pretty;

/// A section of the archive, and the last unit that was written of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub section: usize,
    /// Empty at the beginning of a section.
    pub after: String,
}

impl Place {
    /// Reads what `Display` writes. Anything else is the beginning.
    pub fn parse(text: &str) -> Self {
        let read = || {
            let (section, after) = text.split_once('/')?;
            Some(Self {
                section: section.parse().ok()?,
                after: after.to_owned(),
            })
        };
        read().unwrap_or_default()
    }

    pub fn next_section(&self) -> Self {
        Self {
            section: self.section + 1,
            after: String::new(),
        }
    }

    pub fn after(&self, unit: &str) -> Self {
        Self {
            section: self.section,
            after: unit.to_owned(),
        }
    }

    /// The number of the last unit.
    pub fn number(&self) -> i64 {
        self.after.parse().unwrap_or(0)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.section, self.after)
    }
}

/// What is written to one part, as a whole.
#[derive(Debug, Default)]
pub struct Unit {
    /// The place after it.
    pub after: String,
    pub entries: Vec<(String, Vec<u8>)>,
    pub files: Vec<FileEntry>,
    pub rows: Vec<CsvRow>,
    /// About how large it is, with its files.
    pub bytes: u64,
}

/// A stored file that is copied into the archive.
#[derive(Debug)]
pub struct FileEntry {
    pub name: String,
    pub key: String,
    pub bytes: u64,
}

impl Unit {
    pub fn new(after: impl ToString) -> Self {
        Self {
            after: after.to_string(),
            ..Self::default()
        }
    }

    pub fn document(mut self, name: impl Into<String>, document: &Value) -> Self {
        let text = pretty(document);
        self.bytes += text.len() as u64;
        self.entries.push((name.into(), text));
        self
    }

    pub fn file(mut self, file: FileEntry) -> Self {
        self.bytes += file.bytes;
        self.files.push(file);
        self
    }

    pub fn rows(mut self, rows: impl IntoIterator<Item = CsvRow>) -> Self {
        self.rows.extend(rows);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let place = Place::default().next_section().after("12");
        assert_eq!(place.to_string(), "1/12");
        assert_eq!(Place::parse("1/12"), place);
        assert_eq!(place.number(), 12);
        assert_eq!(Place::parse(""), Place::default());
        let id = Place::parse("4/17/019a8574c1f07c2e9d1b3a5f60718293");
        assert_eq!(id.after, "17/019a8574c1f07c2e9d1b3a5f60718293");
    }
}
