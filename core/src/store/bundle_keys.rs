//! The keys that sign proof bundles. A private key is a secret of the service.

use crate::domain::Timestamp;
use crate::domain::proofs::bundles::{ALGORITHM, BundleKey};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro key;
    table bundle_keys;
    fn key_values<'a>(key: &'a BundleKey);
    columns {
        id: &key.id,
        public_key: &key.public_key,
        created_at: key.created_at,
        retired_at: key.retired_at,
    }
    inserted { algorithm: ALGORITHM }
    row BundleKey = BundleKey { id, public_key, created_at, retired_at };
}

crate::store::statements! {
    /// Nothing if there is a current one.
    ADD = concat!(key!(insert), " ON CONFLICT DO NOTHING");
    ALL_KEYS = concat!("SELECT ", key!(columns), " FROM bundle_keys ORDER BY created_at DESC, id");
    CURRENT = concat!("SELECT ", key!(columns), " FROM bundle_keys
        WHERE algorithm = ?1 AND retired_at IS NULL");
    RETIRE = "UPDATE bundle_keys SET retired_at = ?2 WHERE id = ?1 AND retired_at IS NULL";
}

/// The name of a private key among the secrets of the service.
fn secret_name(id: &str) -> String {
    format!("bundle_key:{id}")
}

impl Tx<'_> {
    /// Stores a key as the current one with its private part. False when there is a current one.
    pub fn add_bundle_key(&mut self, key: &BundleKey, private: &str) -> Result<bool, StoreError> {
        if self.execute(ADD, &key_values(key))? != 1 {
            return Ok(false);
        }
        self.put_service_secret(&secret_name(&key.id), private)?;
        Ok(true)
    }

    /// All that ever signed, newest first. There are few.
    pub fn bundle_keys(&mut self) -> Result<Vec<BundleKey>, StoreError> {
        self.all(ALL_KEYS, &[])
    }

    /// The current key and its private part, which is missing if the master key was lost.
    pub fn current_bundle_key(
        &mut self,
    ) -> Result<Option<(BundleKey, Option<String>)>, StoreError> {
        let Some(key) = self.optional::<BundleKey>(CURRENT, &[ALGORITHM.into()])? else {
            return Ok(None);
        };
        let private = self.find_service_secret(&secret_name(&key.id))?;
        Ok(Some((key, private)))
    }

    /// The key signs no more. Its private part is deleted.
    pub fn retire_bundle_key(&mut self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        self.execute(RETIRE, &[id.into(), now.into()])?;
        self.drop_secret(crate::store::SecretPlace::Service, &secret_name(id))
    }
}
