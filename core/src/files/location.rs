//! Where files are stored, as configured by the operator.

use std::fmt;
use std::io::{self, ErrorKind::NotADirectory, ErrorKind::NotFound};
use std::path::{Path, PathBuf};

/// A file in a folder whose files were moved elsewhere. It says where.
const MOVED: &str = "MOVED";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesLocation {
    Folder(PathBuf),
    /// The prefix has no slash at either end and may be empty.
    S3 {
        bucket: String,
        prefix: String,
    },
}

impl FilesLocation {
    /// Reads `file:` (a folder in the data folder) or `s3://bucket/prefix`.
    pub fn rule(text: &str, data: &Path) -> Result<Self, String> {
        if text == "file:" {
            return Ok(Self::Folder(data.join("files")));
        }
        text.strip_prefix("s3://").and_then(s3).ok_or_else(|| {
            "must be file: (a folder in the data folder) or s3://bucket/prefix".to_owned()
        })
    }
}

impl FilesLocation {
    /// Where the files of this folder were moved, and the file that says so.
    pub fn moved_to(&self) -> io::Result<Option<(String, PathBuf)>> {
        let Self::Folder(root) = self else {
            return Ok(None);
        };
        let mark = root.join(MOVED);
        match std::fs::read_to_string(&mark) {
            Ok(text) => Ok(Some((text.trim().to_owned(), mark))),
            // A folder that cannot be made is named when it is opened.
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// From now on no server uses this folder.
    pub fn mark_moved(&self, to: &Self) -> io::Result<()> {
        match self {
            Self::Folder(root) => {
                // Should the files come back one day, it would be an old one.
                forget_owner(root)?;
                std::fs::write(root.join(MOVED), format!("{to}\n"))
            }
            Self::S3 { .. } => Ok(()),
        }
    }

    /// Lets servers use this folder again. Returns whether its files had been moved.
    pub fn forget_move(&self) -> io::Result<bool> {
        match self.moved_to()? {
            Some((_, mark)) => {
                if let Self::Folder(root) = self {
                    forget_owner(root)?;
                }
                std::fs::remove_file(mark).map(|()| true)
            }
            None => Ok(false),
        }
    }
}

fn forget_owner(root: &Path) -> io::Result<()> {
    match std::fs::remove_file(root.join(super::OWNER)) {
        Err(error) if error.kind() != NotFound => Err(error),
        _ => Ok(()),
    }
}

impl fmt::Display for FilesLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

fn s3(text: &str) -> Option<FilesLocation> {
    let text = text.trim_end_matches('/');
    let (bucket, prefix) = text.split_once('/').unwrap_or((text, ""));
    let well_formed = (3..=63).contains(&bucket.len()) && text.split('/').all(is_plain);
    well_formed.then(|| FilesLocation::S3 {
        bucket: bucket.to_owned(),
        prefix: prefix.to_owned(),
    })
}

/// Needs no escaping in a URL, and has no dots that lead elsewhere.
fn is_plain(part: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    part.bytes().all(plain) && part.bytes().any(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FilesLocation, String> {
        FilesLocation::rule(text, Path::new("/data"))
    }

    #[test]
    fn a_folder_or_a_bucket() {
        let folder = FilesLocation::Folder("/data/files".into());
        assert_eq!(read("file:"), Ok(folder));
        for (text, bucket, prefix) in [
            ("s3://bucket", "bucket", ""),
            ("s3://bucket/", "bucket", ""),
            ("s3://my.bucket-1/a", "my.bucket-1", "a"),
            ("s3://bucket/a/b_c/", "bucket", "a/b_c"),
        ] {
            let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
            assert_eq!(read(text), Ok(FilesLocation::S3 { bucket, prefix }));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "file",
            "file:///etc",
            "s3:",
            "s3://",
            "s3:///prefix",
            "s3://ab",
            "s3://bucket//prefix",
            "s3://bucket/../other",
            "s3://bucket/a b",
            "s3://bucket?region=x",
            "s3://key:secret@bucket",
            "https://bucket.example",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
