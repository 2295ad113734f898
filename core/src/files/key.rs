//! The key of a stored file.

use std::fmt;

use crate::domain::Timestamp;

/// The kind of a file, which is the first part of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prefix {
    /// Proofs, and the documents of workers.
    Proofs,
    Exports,
    /// Parts of uploads that are not complete, or not used yet.
    Uploads,
}

impl Prefix {
    pub const ALL: [Self; 3] = [Self::Proofs, Self::Exports, Self::Uploads];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proofs => "proofs",
            Self::Exports => "exports",
            Self::Uploads => "uploads",
        }
    }
}

/// `proofs/<32 hex digits>`, or the same below `exports` or `uploads`. It is built from an id only, so a key can never name anything outside
/// the storage location.
///
/// Create the id when the file arrives: its timestamp is the age of the file, and keys sort by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    prefix: Prefix,
    id: u128,
}

impl FileKey {
    /// Takes the `as_u128` of an id.
    pub const fn new(prefix: Prefix, id: u128) -> Self {
        Self { prefix, id }
    }

    /// The first key that a file of this moment could have.
    pub fn first_of(prefix: Prefix, moment: Timestamp) -> Self {
        let millis = u128::try_from(moment.as_millis()).unwrap_or(0);
        Self::new(prefix, millis << 80)
    }

    /// Reads exactly the form that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (prefix, name) = text.split_once('/')?;
        let prefix = Prefix::ALL.into_iter().find(|s| s.as_str() == prefix)?;
        Self::named(prefix, name)
    }

    pub fn prefix(self) -> Prefix {
        self.prefix
    }

    /// The last part of the key.
    pub(super) fn name(self) -> String {
        format!("{:032x}", self.id)
    }

    pub(super) fn named(prefix: Prefix, name: &str) -> Option<Self> {
        let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let canonical = name.len() == 32 && name.bytes().all(digit);
        let id = canonical.then(|| u128::from_str_radix(name, 16).ok())??;
        Some(Self::new(prefix, id))
    }
}

impl fmt::Display for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:032x}", self.prefix.as_str(), self.id)
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
        let key = FileKey::new(Prefix::Proofs, id.as_u128());
        assert_eq!(key.to_string(), format!("proofs/{id}"));
        assert_eq!(FileKey::parse(&key.to_string()), Some(key));

        let next = Timestamp::from_millis(at.as_millis() + 1);
        assert!(FileKey::first_of(Prefix::Proofs, at) <= key);
        assert!(key < FileKey::first_of(Prefix::Proofs, next));
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
