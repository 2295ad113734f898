//! Remembers outside the database where the keyed lines of the audit log begin, and under which key.
//! Whoever can write to the database, but not to the data folder, cannot have the log keyed again
//! after they have written it anew.

use std::io;
use std::path::PathBuf;

use crate::seal::key_file::{io_error, replace_file};
use crate::seal::{KeyError, KeySource};

pub const AUDIT_START_FILE: &str = "audit.start";

impl KeySource {
    /// The file in the data folder. It holds no secret.
    pub fn audit_start_file(&self) -> PathBuf {
        match self {
            Self::Given { data, .. } => data.join(AUDIT_START_FILE),
            Self::File(file) => file.with_file_name(AUDIT_START_FILE),
        }
    }

    /// What was recorded. `None` if nothing was.
    pub fn audit_start(&self) -> Result<Option<String>, KeyError> {
        let file = self.audit_start_file();
        match std::fs::read_to_string(&file) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error(&file, error)),
        }
    }

    pub fn record_audit_start(&self, start: &str) -> Result<(), KeyError> {
        let file = self.audit_start_file();
        replace_file(&file, &format!("{start}\n")).map_err(|error| io_error(&file, error))
    }
}
