//! The master keys of a process, and the form in which sealed texts are stored.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::seal::{KeyError, KeySource, MasterKey};

/// What every sealed text begins with: `sealed:v1:<id of the key>:<base64>`. No secret of ours and
/// none of a processor begins like this.
pub const SEALED: &str = "sealed:v1:";

/// Why a text cannot be sealed or opened. Names no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the master key {0} is not here: copy master.key, or set LEGWORK_MASTER_KEY")]
    NoKey(String),
    #[error("the text was sealed for another place, or was altered")]
    Altered,
    #[error("the text is not sealed")]
    Plain,
}

/// Whether a stored text is sealed. An older program wrote texts as they are.
pub fn is_sealed(stored: &str) -> bool {
    stored.starts_with(SEALED)
}

/// The keys that a process holds, and which of them seals.
#[derive(Debug)]
pub struct Keyring {
    source: KeySource,
    held: RwLock<Held>,
}

#[derive(Debug)]
struct Held {
    keys: Vec<MasterKey>,
    /// The id of the key that seals. `None` while an older program, which can only read plain
    /// texts, uses the database too.
    sealing: Option<String>,
}

impl Keyring {
    pub fn new(source: KeySource, keys: Vec<MasterKey>) -> Self {
        let sealing = None;
        Self {
            source,
            held: RwLock::new(Held { keys, sealing }),
        }
    }

    pub fn source(&self) -> &KeySource {
        &self.source
    }

    pub fn keys(&self) -> Vec<MasterKey> {
        self.held().keys.clone()
    }

    pub fn key(&self, id: &str) -> Option<MasterKey> {
        let held = self.held();
        held.keys.iter().find(|key| key.id() == id).cloned()
    }

    /// The id of the key that seals, if texts are sealed already.
    pub fn sealing(&self) -> Option<String> {
        self.held().sealing.clone()
    }

    /// From now on this key seals.
    pub fn seal_under(&self, id: Option<String>) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.sealing = id;
    }

    /// Reads the source again.
    pub fn reload(&self) -> Result<(), KeyError> {
        let keys = self.source.load()?;
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        // A file that is gone for a moment takes no key away from a running server.
        if !keys.is_empty() {
            held.keys = keys;
        }
        Ok(())
    }

    fn held(&self) -> RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text in the form in which it is stored.
    pub fn seal(&self, context: &str, text: &str) -> Result<String, SealError> {
        match self.sealing() {
            Some(id) => self.seal_with(&id, context, text),
            None => Ok(text.to_owned()),
        }
    }

    /// The same under a key of the caller's choice.
    pub fn seal_with(&self, id: &str, context: &str, text: &str) -> Result<String, SealError> {
        let key = self.found(id)?;
        let sealed = key.seal(context, text).map_err(|_| SealError::Altered)?;
        Ok(format!("{SEALED}{id}:{sealed}"))
    }

    /// The text that was stored. Plain texts of an older program are returned as they are.
    pub fn open(&self, context: &str, stored: &str) -> Result<String, SealError> {
        match self.open_sealed(context, stored) {
            Err(SealError::Plain) => Ok(stored.to_owned()),
            opened => opened,
        }
    }

    /// The text that was stored, which must have been sealed.
    pub fn open_sealed(&self, context: &str, stored: &str) -> Result<String, SealError> {
        let sealed = stored.strip_prefix(SEALED).ok_or(SealError::Plain)?;
        let (id, sealed) = sealed.split_once(':').ok_or(SealError::Altered)?;
        let key = self.found(id)?;
        key.open(context, sealed).map_err(|_| SealError::Altered)
    }

    /// Whether the text is sealed under that key.
    pub fn is_under(id: &str, stored: &str) -> bool {
        let rest = stored.strip_prefix(SEALED);
        let rest = rest.and_then(|rest| rest.strip_prefix(id));
        rest.is_some_and(|rest| rest.starts_with(':'))
    }

    /// A key that is not held may have been added to the file by a rotation a moment ago.
    fn found(&self, id: &str) -> Result<MasterKey, SealError> {
        if let Some(key) = self.key(id) {
            return Ok(key);
        }
        let _ = self.reload();
        self.key(id).ok_or_else(|| SealError::NoKey(id.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring(keys: &[u8]) -> Keyring {
        let keys: Vec<_> = keys
            .iter()
            .map(|byte| MasterKey::new([*byte; 32]))
            .collect();
        let source = KeySource::Given {
            keys: keys.clone(),
            data: std::path::PathBuf::new(),
        };
        Keyring::new(source, keys)
    }

    fn id(byte: u8) -> String {
        MasterKey::new([byte; 32]).id()
    }

    #[test]
    fn texts_are_sealed_only_once_a_key_is_named() {
        let keyring = keyring(&[1]);
        assert_eq!(keyring.seal("place", "hush").as_deref(), Ok("hush"));
        keyring.seal_under(Some(id(1)));
        let sealed = keyring.seal("place", "hush").unwrap();
        assert!(is_sealed(&sealed) && !sealed.contains("hush"), "{sealed}");
        assert_ne!(sealed, keyring.seal("place", "hush").unwrap());
        assert_eq!(keyring.open("place", &sealed).as_deref(), Ok("hush"));
        assert_eq!(keyring.open("elsewhere", &sealed), Err(SealError::Altered));
    }

    #[test]
    fn plain_texts_open_unless_they_must_be_sealed() {
        let keyring = keyring(&[1]);
        assert_eq!(keyring.open("place", "hush").as_deref(), Ok("hush"));
        assert_eq!(keyring.open_sealed("place", "hush"), Err(SealError::Plain));
    }

    #[test]
    fn any_key_that_is_held_opens_and_others_are_named() {
        let both = keyring(&[1, 2]);
        let old = both.seal_with(&id(1), "place", "hush").unwrap();
        let new = both.seal_with(&id(2), "place", "hush").unwrap();
        for sealed in [&old, &new] {
            assert_eq!(both.open("place", sealed).as_deref(), Ok("hush"));
        }
        assert!(Keyring::is_under(&id(1), &old) && !Keyring::is_under(&id(1), &new));
        let one = keyring(&[2]);
        assert_eq!(one.open("place", &old), Err(SealError::NoKey(id(1))));
        assert!(!Keyring::is_under(&id(1), "hush"));
    }

    #[test]
    fn what_is_cut_short_or_altered_does_not_open() {
        let keyring = keyring(&[1]);
        let sealed = keyring.seal_with(&id(1), "place", "hush").unwrap();
        for broken in [SEALED, &sealed[..30], &sealed[..sealed.len() - 4]] {
            assert!(keyring.open("place", broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_key_that_is_added_to_the_file_opens_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let source = KeySource::new(None, folder.path());
        let keyring = Keyring::new(source.clone(), source.create().unwrap());
        let new = MasterKey::new([9; 32]);
        let given = KeySource::Given {
            keys: vec![new.clone()],
            data: folder.path().to_owned(),
        };
        let other = Keyring::new(given, vec![new.clone()]);
        let sealed = other.seal_with(&new.id(), "place", "hush").unwrap();
        assert!(keyring.open("place", &sealed).is_err());
        let add = |keys: Vec<MasterKey>| [keys, vec![new.clone()]].concat();
        source.change(add).unwrap();
        assert_eq!(keyring.open("place", &sealed).as_deref(), Ok("hush"));
        std::fs::remove_file(source.name()).unwrap();
        keyring.reload().unwrap();
        assert_eq!(keyring.keys().len(), 2);
    }
}
