//! The file of profiles: servers and keys. Only its owner can read it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::failure::Failed;

const USUAL: &str = "default";

#[derive(Serialize, Deserialize, Clone, Default)]
pub struct Profile {
    pub server: String,
    pub account: String,
    pub test_key: Option<String>,
    pub live_key: Option<String>,
}

#[derive(Serialize, Deserialize, Default)]
pub struct Profiles {
    pub current: Option<String>,
    pub profiles: BTreeMap<String, Profile>,
}

/// Where this user's files are; created when something is written.
pub fn folder() -> Result<PathBuf, Failed> {
    let given = |variable: &str| {
        std::env::var_os(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = given("XDG_CONFIG_HOME").or_else(|| given("HOME").map(|home| home.join(".config")));
    match base {
        Some(base) => Ok(base.join("legwork")),
        None => Err(Failed::usage(
            "HOME is not set, so there is no place for profiles: use --server and --key",
        )),
    }
}

/// Writes a file that only its owner can read, whole or not at all.
pub fn write_private(name: &str, content: &[u8]) -> Result<(), Failed> {
    let folder = folder()?;
    let failed = |error: std::io::Error| Failed::Refused(format!("{}: {error}", folder.display()));
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    made.map_err(failed)?;
    let fresh = folder.join(format!("{name}.{}", std::process::id()));
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(content)?;
        fs::rename(&fresh, folder.join(name))
    };
    write().map_err(failed)
}

impl Profiles {
    const FILE: &str = "profiles.json";

    pub fn read() -> Result<Self, Failed> {
        let path = folder()?.join(Self::FILE);
        let Ok(text) = fs::read(&path) else {
            return Ok(Self::default());
        };
        let others = fs::metadata(&path)?.permissions().mode() & 0o077;
        if others != 0 {
            return Err(Failed::usage(format!(
                "{0} holds keys and others can read it: run `chmod 600 {0}`",
                path.display()
            )));
        }
        serde_json::from_slice(&text).map_err(|error| {
            Failed::usage(format!(
                "{} is damaged ({error}): delete it and log in again",
                path.display()
            ))
        })
    }

    pub fn write(&self) -> Result<(), Failed> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        write_private(Self::FILE, &text)
    }

    /// The profile of this name, or the current one. A name that is wrong is an error; no profile at all is none.
    pub fn chosen(&self, name: Option<&String>) -> Result<Option<Profile>, Failed> {
        match name {
            Some(name) => match self.profiles.get(name) {
                Some(profile) => Ok(Some(profile.clone())),
                None => Err(self.unknown(name)),
            },
            None => Ok(self.profiles.get(self.current_name()).cloned()),
        }
    }

    pub fn current_name(&self) -> &str {
        self.current.as_deref().unwrap_or(USUAL)
    }

    pub fn unknown(&self, name: &str) -> Failed {
        let known: Vec<_> = self.profiles.keys().map(String::as_str).collect();
        match known.is_empty() {
            true => Failed::usage("there is no profile yet: run `legwork login`"),
            false => Failed::usage(format!(
                "there is no profile {name}; there is {}",
                known.join(", ")
            )),
        }
    }
}
