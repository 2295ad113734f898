//! Secrets in the database are sealed under a master key, which is not in it. This file seals and
//! opens them on their way in and out, and finds the ones that are plain or under an old key.

pub(super) mod unlock;

use crate::domain::Timestamp;
use crate::seal::{Keyring, SealError};
use crate::store::{StoreError, Tx, columns};

/// What a sealed text belongs to. A text that is copied to another row does not open there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// Current and old secrets of an endpoint: rotating moves each into the place of the next.
    Webhook,
    Payment,
    SandboxPayment,
    SandboxPayoutAccount,
    Service,
    AcmeAccount,
    AcmeKey,
    AcmeChallenge,
    SecondFactor,
}

impl SecretPlace {
    pub fn context(self, id: impl std::fmt::Display) -> String {
        let place = match self {
            Self::Webhook => "webhook",
            Self::Payment => "payment",
            Self::SandboxPayment => "sandbox_payment",
            Self::SandboxPayoutAccount => "sandbox_payout_account",
            Self::Service => "service",
            Self::AcmeAccount => "acme_account",
            Self::AcmeKey => "acme_key",
            Self::AcmeChallenge => "acme_challenge",
            Self::SecondFactor => "second_factor",
        };
        format!("{place}:{id}")
    }
}

/// A master key that the database knows of.
#[derive(Clone, Debug)]
pub struct MasterKeyRow {
    pub id: String,
    /// A text sealed under the key: whoever opens it has the right one.
    pub check_value: String,
    pub is_current: bool,
    /// Since when texts are sealed. `None` while an older program uses the database too.
    pub seals_since: Option<Timestamp>,
}

columns! {
    macro key;
    table master_keys;
    fn key_values<'a>(key: &'a MasterKeyRow, now: Timestamp);
    columns {
        id: &key.id,
        check_value: &key.check_value,
        is_current: key.is_current,
        seals_since: key.seals_since,
    }
    inserted { created_at: now }
    row MasterKeyRow = MasterKeyRow { id, check_value, is_current, seals_since };
}

/// The statements that find and replace the texts of a column: plain ones, all in the order of
/// their ids, and one that is still as it was read.
macro_rules! plain {
    ($table:literal, $id:literal, $column:literal) => {
        concat!(
            "SELECT ",
            $id,
            ", ",
            $column,
            " FROM ",
            $table,
            " WHERE substr(",
            $column,
            ", 1, 10) <> 'sealed:v1:' ORDER BY ",
            $id,
            " LIMIT ?1"
        )
    };
}

macro_rules! page {
    ($table:literal, $id:literal, $column:literal) => {
        concat!(
            "SELECT ",
            $id,
            ", ",
            $column,
            " FROM ",
            $table,
            " WHERE ",
            $id,
            " > ?1 AND ",
            $column,
            " IS NOT NULL ORDER BY ",
            $id,
            " LIMIT ?2"
        )
    };
}

macro_rules! replace {
    ($table:literal, $id:literal, $column:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET ",
            $column,
            " = ?3 WHERE ",
            $id,
            " = ?1 AND ",
            $column,
            " = ?2"
        )
    };
}

crate::store::statements! {
    KEYS = concat!("SELECT ", key!(columns), " FROM master_keys ORDER BY created_at, id");
    ADD_KEY = concat!(key!(insert), " ON CONFLICT DO NOTHING");
    PUT_KEY = concat!(key!(insert), " ON CONFLICT (id) DO UPDATE SET
        is_current = excluded.is_current, seals_since = excluded.seals_since");
    RETIRE_KEYS = "UPDATE master_keys SET is_current = 0 WHERE is_current = 1";
    SEAL_SINCE = "UPDATE master_keys SET seals_since = ?2
        WHERE id = ?1 AND is_current = 1 AND seals_since IS NULL";
    READS_PLAIN_ONLY = "SELECT id FROM processes WHERE reads_sealed = 0 AND alive_until >= ?1 LIMIT 1";
    SEALS_UNDER_ANOTHER = "SELECT id FROM processes
        WHERE sealing_key <> ?2 AND alive_until >= ?1 LIMIT 1";
    SERVICE_SECRET = "SELECT secret FROM service_secrets WHERE name = ?1";
    ADD_SERVICE_SECRET = "INSERT INTO service_secrets (name, secret) VALUES (?1, ?2)
        ON CONFLICT (name) DO NOTHING";
    DROP_SERVICE_SECRET = "DELETE FROM service_secrets WHERE name = ?1";
    DROP_ACME_ACCOUNT = "DELETE FROM acme_accounts WHERE directory = ?1";
    DROP_ACME_CERTIFICATE = "DELETE FROM acme_certificates WHERE id = ?1";
    DROP_ACME_CHALLENGE = "DELETE FROM acme_challenges WHERE id = ?1";
    PUT_SERVICE_SECRET = "INSERT INTO service_secrets (name, secret) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET secret = excluded.secret";
    WEBHOOK_PLAIN = plain!("webhook_endpoints", "account_id", "secret");
    WEBHOOK_PAGE = page!("webhook_endpoints", "account_id", "secret");
    WEBHOOK_REPLACE = replace!("webhook_endpoints", "account_id", "secret");
    OLD_WEBHOOK_PLAIN = plain!("webhook_endpoints", "account_id", "old_secret");
    OLD_WEBHOOK_PAGE = page!("webhook_endpoints", "account_id", "old_secret");
    OLD_WEBHOOK_REPLACE = replace!("webhook_endpoints", "account_id", "old_secret");
    OLD_2_WEBHOOK_PLAIN = plain!("webhook_endpoints", "account_id", "old_secret_2");
    OLD_2_WEBHOOK_PAGE = page!("webhook_endpoints", "account_id", "old_secret_2");
    OLD_2_WEBHOOK_REPLACE = replace!("webhook_endpoints", "account_id", "old_secret_2");
    OLD_3_WEBHOOK_PLAIN = plain!("webhook_endpoints", "account_id", "old_secret_3");
    OLD_3_WEBHOOK_PAGE = page!("webhook_endpoints", "account_id", "old_secret_3");
    OLD_3_WEBHOOK_REPLACE = replace!("webhook_endpoints", "account_id", "old_secret_3");
    PAYMENT_PLAIN = plain!("payments", "task_id", "client_secret");
    PAYMENT_PAGE = page!("payments", "task_id", "client_secret");
    PAYMENT_REPLACE = replace!("payments", "task_id", "client_secret");
    SANDBOX_PAYMENT_PLAIN = plain!("sandbox_payments", "payment_id", "client_secret");
    SANDBOX_PAYMENT_PAGE = page!("sandbox_payments", "payment_id", "client_secret");
    SANDBOX_PAYMENT_REPLACE = replace!("sandbox_payments", "payment_id", "client_secret");
    SANDBOX_ACCOUNT_PLAIN = plain!("sandbox_payout_accounts", "payout_account_id", "link_secret");
    SANDBOX_ACCOUNT_PAGE = page!("sandbox_payout_accounts", "payout_account_id", "link_secret");
    SANDBOX_ACCOUNT_REPLACE = replace!("sandbox_payout_accounts", "payout_account_id", "link_secret");
    SERVICE_PLAIN = plain!("service_secrets", "name", "secret");
    SERVICE_PAGE = page!("service_secrets", "name", "secret");
    SERVICE_REPLACE = replace!("service_secrets", "name", "secret");
    ACME_ACCOUNT_PLAIN = plain!("acme_accounts", "directory", "credentials");
    ACME_ACCOUNT_PAGE = page!("acme_accounts", "directory", "credentials");
    ACME_ACCOUNT_REPLACE = replace!("acme_accounts", "directory", "credentials");
    ACME_KEY_PLAIN = plain!("acme_certificates", "id", "private_key");
    ACME_KEY_PAGE = page!("acme_certificates", "id", "private_key");
    ACME_KEY_REPLACE = replace!("acme_certificates", "id", "private_key");
    ACME_CHALLENGE_PLAIN = plain!("acme_challenges", "id", "answer");
    ACME_CHALLENGE_PAGE = page!("acme_challenges", "id", "answer");
    ACME_CHALLENGE_REPLACE = replace!("acme_challenges", "id", "answer");
    FACTOR_PLAIN = plain!("second_factors", "holder", "secret");
    FACTOR_PAGE = page!("second_factors", "holder", "secret");
    FACTOR_REPLACE = replace!("second_factors", "holder", "secret");
}

/// A column with sealed texts. A new one needs a line in `SEALED_COLUMNS`: otherwise a rotation
/// leaves it behind.
#[derive(Clone, Copy, Debug)]
pub struct SealedColumn {
    pub place: SecretPlace,
    plain: crate::store::Statement,
    page: crate::store::Statement,
    replace: crate::store::Statement,
}

macro_rules! sealed_columns {
    ($($place:ident: $plain:ident, $page:ident, $replace:ident;)+) => {
        pub const SEALED_COLUMNS: &[SealedColumn] = &[$(SealedColumn {
            place: SecretPlace::$place,
            plain: $plain,
            page: $page,
            replace: $replace,
        }),+];
    };
}

sealed_columns! {
    Webhook: WEBHOOK_PLAIN, WEBHOOK_PAGE, WEBHOOK_REPLACE;
    Webhook: OLD_WEBHOOK_PLAIN, OLD_WEBHOOK_PAGE, OLD_WEBHOOK_REPLACE;
    Webhook: OLD_2_WEBHOOK_PLAIN, OLD_2_WEBHOOK_PAGE, OLD_2_WEBHOOK_REPLACE;
    Webhook: OLD_3_WEBHOOK_PLAIN, OLD_3_WEBHOOK_PAGE, OLD_3_WEBHOOK_REPLACE;
    Payment: PAYMENT_PLAIN, PAYMENT_PAGE, PAYMENT_REPLACE;
    SandboxPayment: SANDBOX_PAYMENT_PLAIN, SANDBOX_PAYMENT_PAGE, SANDBOX_PAYMENT_REPLACE;
    SandboxPayoutAccount: SANDBOX_ACCOUNT_PLAIN, SANDBOX_ACCOUNT_PAGE, SANDBOX_ACCOUNT_REPLACE;
    Service: SERVICE_PLAIN, SERVICE_PAGE, SERVICE_REPLACE;
    AcmeAccount: ACME_ACCOUNT_PLAIN, ACME_ACCOUNT_PAGE, ACME_ACCOUNT_REPLACE;
    AcmeKey: ACME_KEY_PLAIN, ACME_KEY_PAGE, ACME_KEY_REPLACE;
    AcmeChallenge: ACME_CHALLENGE_PLAIN, ACME_CHALLENGE_PAGE, ACME_CHALLENGE_REPLACE;
    SecondFactor: FACTOR_PLAIN, FACTOR_PAGE, FACTOR_REPLACE;
}

impl Tx<'_> {
    /// The text as it is to be stored. `context` names its place.
    pub(in crate::store) fn seal(&self, context: &str, text: &str) -> Result<String, StoreError> {
        match &self.keyring {
            Some(keyring) => keyring.seal(context, text).map_err(|e| failed(context, &e)),
            None => Ok(text.to_owned()),
        }
    }

    /// The text that was stored, sealed or plain.
    pub(in crate::store) fn open(&self, context: &str, stored: &str) -> Result<String, StoreError> {
        match self.open_sealed_text(context, stored) {
            Err(SealError::Plain) => Ok(stored.to_owned()),
            opened => opened.map_err(|e| failed(context, &e)),
        }
    }

    /// The text that was stored, which must be sealed.
    pub(in crate::store) fn open_sealed(
        &self,
        context: &str,
        stored: &str,
    ) -> Result<String, StoreError> {
        let opened = self.open_sealed_text(context, stored);
        opened.map_err(|e| failed(context, &e))
    }

    fn open_sealed_text(&self, context: &str, stored: &str) -> Result<String, SealError> {
        match &self.keyring {
            Some(keyring) => keyring.open_sealed(context, stored),
            None if crate::seal::is_sealed(stored) => {
                Err(SealError::NoKey("of this database".into()))
            }
            None => Err(SealError::Plain),
        }
    }

    pub(in crate::store) fn is_sealing(&self) -> bool {
        let keyring = self.keyring.as_ref();
        keyring.is_some_and(|keyring| keyring.sealing().is_some())
    }

    /// What this process seals under. If it does not hold the current key, that is no key.
    pub(in crate::store) fn sealing_key(&self) -> Option<String> {
        let keyring = self.keyring.as_ref()?;
        let id = keyring.sealing()?;
        match keyring.key(&id) {
            Some(_) => Some(id),
            None => Some(format!("lacks {id}")),
        }
    }

    /// Whether a server is running that does not seal under this key yet.
    pub fn another_key_seals(&mut self, key: &str, now: Timestamp) -> Result<bool, StoreError> {
        let found: Option<String> =
            self.optional(SEALS_UNDER_ANOTHER, &[now.into(), key.into()])?;
        Ok(found.is_some())
    }

    /// The master keys that the database knows of, oldest first. There are few.
    pub fn master_keys(&mut self) -> Result<Vec<MasterKeyRow>, StoreError> {
        self.all(KEYS, &[])
    }

    /// Nothing happens if it is known, or if it is to be current and another one is.
    pub fn add_master_key(&mut self, key: &MasterKeyRow, now: Timestamp) -> Result<(), StoreError> {
        self.defer(ADD_KEY, &key_values(key, now))
    }

    /// Makes this key the current one.
    pub(in crate::store) fn put_current_master_key(
        &mut self,
        key: &MasterKeyRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute(RETIRE_KEYS, &[])?;
        self.defer(PUT_KEY, &key_values(key, now))
    }

    /// From now on texts are sealed. False if they are already.
    pub fn begin_sealing(&mut self, key: &str, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(SEAL_SINCE, &[key.into(), now.into()])? == 1)
    }

    /// Whether a server is running that cannot read sealed texts.
    pub fn older_program_runs(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        let found: Option<String> = self.optional(READS_PLAIN_ONLY, &[now.into()])?;
        Ok(found.is_some())
    }

    /// A secret of the service: the stored one, or else the given one, which is stored.
    pub fn service_secret(&mut self, name: &str, new: &str) -> Result<String, StoreError> {
        let new = self.seal(&SecretPlace::Service.context(name), new)?;
        self.defer(ADD_SERVICE_SECRET, &[name.into(), new.into()])?;
        let stored = self.find_service_secret(name)?;
        stored.ok_or_else(|| StoreError::Failed("the secret was not stored".into()))
    }

    pub fn find_service_secret(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let stored: Option<String> = self.optional(SERVICE_SECRET, &[name.into()])?;
        let context = SecretPlace::Service.context(name);
        stored
            .map(|stored| self.open(&context, &stored))
            .transpose()
    }

    /// Deletes a row that the service makes anew. Rows of other places stay.
    pub fn drop_secret(&mut self, place: SecretPlace, id: &str) -> Result<(), StoreError> {
        let statement = match place {
            SecretPlace::Service => DROP_SERVICE_SECRET,
            SecretPlace::AcmeAccount => DROP_ACME_ACCOUNT,
            SecretPlace::AcmeKey => DROP_ACME_CERTIFICATE,
            SecretPlace::AcmeChallenge => DROP_ACME_CHALLENGE,
            SecretPlace::Webhook
            | SecretPlace::Payment
            | SecretPlace::SandboxPayment
            | SecretPlace::SandboxPayoutAccount
            | SecretPlace::SecondFactor => return Ok(()),
        };
        self.defer(statement, &[id.into()])
    }

    pub fn put_service_secret(&mut self, name: &str, secret: &str) -> Result<(), StoreError> {
        let secret = self.seal(&SecretPlace::Service.context(name), secret)?;
        self.defer(PUT_SERVICE_SECRET, &[name.into(), secret.into()])
    }

    /// Up to `limit` texts of a column that are not sealed, with the ids of their rows.
    pub fn plain_texts(
        &mut self,
        column: SealedColumn,
        limit: i64,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.all(column.plain, &[limit.into()])
    }

    /// Up to `limit` texts of a column as they are stored, after the given row.
    pub fn stored_texts(
        &mut self,
        column: SealedColumn,
        after: &str,
        limit: i64,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.all(column.page, &[after.into(), limit.into()])
    }

    /// Whether a stored text can be opened.
    pub fn opens(&self, column: SealedColumn, id: &str, stored: &str) -> bool {
        self.open(&column.place.context(id), stored).is_ok()
    }

    /// Replaces a stored text by another, which is sealed, unless somebody else has changed it since it
    /// was read.
    pub fn replace_secret(
        &mut self,
        column: SealedColumn,
        id: &str,
        stored: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        let sealed = self.seal(&column.place.context(id), text)?;
        let values = [id.into(), stored.into(), sealed.into()];
        self.execute(column.replace, &values).map(drop)
    }

    /// Seals a text again under the key that seals now. False if it is under that key already.
    pub fn reseal(
        &mut self,
        column: SealedColumn,
        id: &str,
        stored: &str,
    ) -> Result<bool, StoreError> {
        let keyring = self.keyring.clone();
        let sealing = keyring.as_ref().and_then(|keyring| keyring.sealing());
        let Some(sealing) = sealing else {
            return Ok(false);
        };
        if Keyring::is_under(&sealing, stored) {
            return Ok(false);
        }
        let text = self.open(&column.place.context(id), stored)?;
        self.replace_secret(column, id, stored, &text)?;
        Ok(true)
    }
}

fn failed(context: &str, error: &SealError) -> StoreError {
    match error {
        // It may be added while this process runs.
        SealError::NoKey(_) => {
            StoreError::Unavailable(format!("the secret of {context} needs a key: {error}"))
        }
        SealError::Altered | SealError::Plain => {
            StoreError::Failed(format!("the secret of {context} cannot be opened: {error}"))
        }
    }
}
