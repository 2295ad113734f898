//! The name of a kept file.

use std::fmt;

use crate::domain::Timestamp;

/// What kind of file it is: the first part of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shelf {
    Proofs,
}

impl Shelf {
    const ALL: [Self; 1] = [Self::Proofs];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proofs => "proofs",
        }
    }
}

/// `proofs/<32 hex digits>`. Made from an id of ours and from nothing else, so no key can name
/// anything outside the place where files are kept.
///
/// The id must be made when the file arrives: its time is the age of the file, and keys sort by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    shelf: Shelf,
    id: u128,
}

impl FileKey {
    /// From the `as_u128` of an id.
    pub const fn new(shelf: Shelf, id: u128) -> Self {
        Self { shelf, id }
    }

    /// The first key that a file of this moment could have.
    pub fn first_of(shelf: Shelf, moment: Timestamp) -> Self {
        let millis = u128::try_from(moment.as_millis()).unwrap_or(0);
        Self::new(shelf, millis << 80)
    }

    /// Reads exactly the form that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (shelf, name) = text.split_once('/')?;
        let shelf = Shelf::ALL.into_iter().find(|s| s.as_str() == shelf)?;
        Self::named(shelf, name)
    }

    pub fn shelf(self) -> Shelf {
        self.shelf
    }

    /// The last part of the key.
    pub(super) fn name(self) -> String {
        format!("{:032x}", self.id)
    }

    pub(super) fn named(shelf: Shelf, name: &str) -> Option<Self> {
        let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let canonical = name.len() == 32 && name.bytes().all(digit);
        let id = canonical.then(|| u128::from_str_radix(name, 16).ok())??;
        Some(Self::new(shelf, id))
    }
}

impl fmt::Display for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:032x}", self.shelf.as_str(), self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskId;

    #[test]
    fn a_key_reads_back_and_sorts_by_the_moment_of_its_id() {
        let at = Timestamp::from_millis(1_763_200_000_000);
        let id = TaskId::new(at, &[7; 10]);
        let key = FileKey::new(Shelf::Proofs, id.as_u128());
        assert_eq!(key.to_string(), format!("proofs/{id}"));
        assert_eq!(FileKey::parse(&key.to_string()), Some(key));

        let next = Timestamp::from_millis(at.as_millis() + 1);
        assert!(FileKey::first_of(Shelf::Proofs, at) <= key);
        assert!(key < FileKey::first_of(Shelf::Proofs, next));
    }

    #[test]
    fn anything_else_is_no_key() {
        let id = "019a0b1c2d3e7f5061728394a5b6c7d8";
        assert!(FileKey::parse(&format!("proofs/{id}")).is_some());
        for text in [
            String::new(),
            "/".to_owned(),
            id.to_owned(),
            format!("/proofs/{id}"),
            format!("proofs/{id}/"),
            format!("proofs//{id}"),
            format!("proofs/../{id}"),
            format!("../proofs/{id}"),
            format!("other/{id}"),
            format!("Proofs/{id}"),
            format!("proofs/{}", id.to_uppercase()),
            format!("proofs/{id}\0"),
            format!("proofs/{id}\n"),
            format!("proofs/+{}", &id[1..]),
            format!("proofs/{}", &id[1..]),
            format!("proofs/{}%2f", &id[3..]),
            format!("proofs/{}..", &id[2..]),
            format!("proofs\\{id}"),
            "proofs/..".to_owned(),
            "proofs/../../../../etc/passwd".to_owned(),
        ] {
            assert_eq!(FileKey::parse(&text), None, "{text:?}");
        }
    }
}
