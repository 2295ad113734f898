//! Gives a store its master keys. A server whose keys are not those of the database does not start.

use std::path::PathBuf;
use std::sync::Arc;

use crate::ambient;
use crate::domain::{AuditKeys, Timestamp};
use crate::seal::{KeyError, KeySource, Keyring, MasterKey, SealError};
use crate::store::admin::audit::KEYS_CONTEXT;
use crate::store::{MasterKeyRow, Store, StoreError, Tx};

/// The place and the text of the check value.
const CHECK: (&str, &str) = ("master_key_check", "legwork");

/// Why a store cannot be unlocked, as a message for the operator.
#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the master key: {0}")]
    Key(#[from] KeyError),
    #[error(
        "the secrets in this database are sealed under the master key {id}, which {place} does not \
         contain. Copy master.key from another server or from where you keep it, or give the right key \
         as LEGWORK_MASTER_KEY. If the key is lost for good, see `legwork secrets reset --help`"
    )]
    WrongKey { id: String, place: String },
    #[error(
        "the database has no record that its secrets are sealed, but {file} says that they are: \
         somebody has changed the database. Restore a backup. If this is another database, which has \
         never been sealed, remove {file}",
        file = file.display()
    )]
    Forgotten { file: PathBuf },
}

impl Store {
    /// Gives the store its master keys, and makes a first one if the database knows of none. Refuses
    /// keys that are not those of the database.
    pub async fn unlock(self, source: KeySource, now: Timestamp) -> Result<Self, UnlockError> {
        let known = self.snapshot(|tx| tx.master_keys()).await?;
        let mut keys = source.load()?;
        if keys.is_empty() {
            // A new key would not open anything, and would hide that the right one is missing.
            if let Some(current) = known.into_iter().find(|key| key.is_current) {
                return Err(wrong_key(current.id, &source));
            }
            keys = source.create()?;
        }
        let unlocked = Self {
            keyring: Some(Arc::new(Keyring::new(source, keys))),
            ..self
        };
        unlocked.refresh_keys(now).await?;
        Ok(unlocked)
    }

    /// Learns which key seals. Another process may have rotated it, and texts are sealed only once no
    /// older program runs.
    pub async fn refresh_keys(&self, now: Timestamp) -> Result<(), UnlockError> {
        let Some(keyring) = self.keyring.clone() else {
            return Ok(());
        };
        // Read first: it is written after the commit that it speaks of.
        let recorded = keyring.source().audit_start()?;
        let has_begun = recorded.is_some() || keyring.sealing().is_some();
        let reloaded = keyring.reload();
        let known: Vec<MasterKeyRow> = self.snapshot(|tx| tx.master_keys()).await?;
        let current = known.into_iter().find(|key| key.is_current);
        match current {
            Some(current) if current.seals_since.is_some() => {
                // If the key is not here, nothing can be sealed. The old key may be gone any moment.
                keyring.seal_under(Some(current.id.clone()));
                reloaded?;
                check(&keyring, &current)?;
            }
            _ => {
                reloaded?;
                let adopting = keyring.clone();
                let adopted = self.write(move |tx| adopt(tx, &adopting, has_begun, now));
                keyring.seal_under(adopted.await?);
            }
        }
        if recorded.is_none() && keyring.sealing().is_some() {
            self.record_audit_start(&keyring).await;
        }
        Ok(())
    }

    /// After a reset, keyed lines begin elsewhere.
    async fn record_audit_start_again(&self) {
        if let Some(keyring) = &self.keyring {
            self.record_audit_start(keyring).await;
        }
    }

    /// Remembers where keyed lines begin. A chain without keys is reported elsewhere.
    async fn record_audit_start(&self, keyring: &Keyring) {
        let keys: Result<_, StoreError> = self.snapshot(|tx| tx.audit_head()).await;
        let start = keys.ok().and_then(|(_, keys)| keys.start());
        let Some(start) = start else { return };
        if let Err(error) = keyring.source().record_audit_start(&start) {
            tracing::warn!(%error, "cannot record where the keyed lines of the audit log begin");
        }
    }

    /// The id of the current key, if there is one and the source has it. Changes nothing.
    pub async fn check_keys(&self, source: &KeySource) -> Result<Option<String>, UnlockError> {
        let keyring = Keyring::new(source.clone(), source.load()?);
        let known: Vec<MasterKeyRow> = self.snapshot(|tx| tx.master_keys()).await?;
        let Some(current) = known.into_iter().find(|key| key.is_current) else {
            return Ok(None);
        };
        check(&keyring, &current)?;
        Ok(Some(current.id))
    }

    /// Unlocks a store. If its master key is lost, with another one, which is created if there is none:
    /// then the caller has to replace what this key does not open. `record` writes that down in the same
    /// transaction. Returns whether the key is another.
    pub async fn reset_keys(
        self,
        source: KeySource,
        now: Timestamp,
        mut record: impl FnMut(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(Self, bool), UnlockError> {
        match self.check_keys(&source).await {
            Ok(_) => {
                let store = self.unlock(source, now).await?;
                store.record_audit_start_again().await;
                return Ok((store, false));
            }
            Err(UnlockError::WrongKey { .. }) => {}
            Err(error) => return Err(error),
        }
        let keyring = Arc::new(Keyring::new(source.clone(), source.create()?));
        keyring.seal_under(keyring.keys().first().map(MasterKey::id));
        let store = Self {
            keyring: Some(keyring.clone()),
            ..self
        };
        let change = move |tx: &mut Tx<'_>| {
            replace_lost_key(tx, &keyring, now)?;
            Ok::<_, UnlockError>(record(tx)?)
        };
        store.write(change).await?;
        store.record_audit_start_again().await;
        Ok((store, true))
    }

    /// The master keys of an unlocked store.
    pub fn keyring(&self) -> Option<&Arc<Keyring>> {
        self.keyring.as_ref()
    }
}

/// Returns the id of the key that seals, if one does. `has_begun` if one has sealed already.
fn adopt(
    tx: &mut Tx<'_>,
    keyring: &Keyring,
    has_begun: bool,
    now: Timestamp,
) -> Result<Option<String>, UnlockError> {
    let mut current = current_key(tx)?;
    let seals = |key: &MasterKeyRow| key.seals_since.is_some();
    // Otherwise whoever can write to the database could have the audit log keyed again.
    if has_begun && !current.as_ref().is_some_and(seals) {
        let file = keyring.source().audit_start_file();
        return Err(UnlockError::Forgotten { file });
    }
    if current.is_none()
        && let Some(first) = keyring.keys().first()
    {
        tx.add_master_key(&checked(keyring, first.id(), None)?, now)?;
        current = current_key(tx)?;
    }
    let none = || StoreError::Failed("no master key was stored".into());
    let current = current.ok_or_else(none)?;
    check(keyring, &current)?;
    if current.seals_since.is_some() {
        return Ok(Some(current.id));
    }
    if tx.older_program_runs(now)? {
        return Ok(None);
    }
    if tx.begin_sealing(&current.id, now)? {
        key_audit_chain(tx, keyring, &current.id)?;
    }
    Ok(Some(current.id))
}

fn current_key(tx: &mut Tx<'_>) -> Result<Option<MasterKeyRow>, StoreError> {
    let known = tx.master_keys()?;
    Ok(known.into_iter().find(|key| key.is_current))
}

/// A row for a key of the keyring.
fn checked(
    keyring: &Keyring,
    id: String,
    seals_since: Option<Timestamp>,
) -> Result<MasterKeyRow, UnlockError> {
    let (context, text) = CHECK;
    let sealed = keyring.seal_with(&id, context, text);
    Ok(MasterKeyRow {
        check_value: sealed.map_err(|_| wrong_key(id.clone(), keyring.source()))?,
        id,
        is_current: true,
        seals_since,
    })
}

fn check(keyring: &Keyring, key: &MasterKeyRow) -> Result<(), UnlockError> {
    let (context, text) = CHECK;
    match keyring.open_sealed(context, &key.check_value) {
        Ok(opened) if opened == text => Ok(()),
        _ => Err(wrong_key(key.id.clone(), keyring.source())),
    }
}

fn wrong_key(id: String, source: &KeySource) -> UnlockError {
    let place = source.name();
    UnlockError::WrongKey { id, place }
}

impl Tx<'_> {
    /// Makes another key of the keyring the one that seals. It must be one that never did. The caller
    /// seals everything again.
    pub fn change_master_key(&mut self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        let none = || StoreError::Failed("the store is locked".into());
        let keyring = self.keyring.clone().ok_or_else(none)?;
        if self.master_keys()?.iter().any(|known| known.id == id) {
            let used = format!("the master key {id} was in use already");
            return Err(StoreError::Failed(used));
        }
        let row = checked(&keyring, id.to_owned(), Some(now));
        let row = row.map_err(|error| StoreError::Failed(error.to_string()))?;
        self.put_current_master_key(&row, now)?;
        let (_, stored) = self.stored_audit_keys()?;
        let missing = || StoreError::Failed("the keys of the audit log are missing".into());
        let stored = stored.ok_or_else(missing)?;
        let keys = self.open_sealed(KEYS_CONTEXT, &stored)?;
        let sealed = keyring.seal_with(id, KEYS_CONTEXT, &keys);
        self.set_audit_keys(&sealed.map_err(failed)?)
    }
}

/// Makes the key of the keyring that seals the current one of the database.
fn replace_lost_key(tx: &mut Tx<'_>, keyring: &Keyring, now: Timestamp) -> Result<(), UnlockError> {
    let none = || StoreError::Failed("there is no master key".into());
    let id = keyring.sealing().ok_or_else(none)?;
    tx.put_current_master_key(&checked(keyring, id.clone(), Some(now))?, now)?;
    let (head, _) = tx.stored_audit_keys()?;
    let chain = AuditKeys::lost().from_line(head.number + 1, &ambient::random());
    let sealed = keyring.seal_with(&id, KEYS_CONTEXT, &chain.to_text());
    Ok(tx.set_audit_keys(&sealed.map_err(failed)?)?)
}

/// Lines that are appended from now on have keyed hashes.
fn key_audit_chain(tx: &mut Tx<'_>, keyring: &Keyring, id: &str) -> Result<(), StoreError> {
    let (head, stored) = tx.stored_audit_keys()?;
    if stored.is_some() {
        return Ok(());
    }
    let keys = AuditKeys::default().from_line(head.number + 1, &ambient::random());
    let sealed = keyring.seal_with(id, KEYS_CONTEXT, &keys.to_text());
    tx.set_audit_keys(&sealed.map_err(failed)?)
}

fn failed(error: SealError) -> StoreError {
    StoreError::Failed(error.to_string())
}
