//! Second factors and recovery codes.

use crate::domain::second_factor::name_of;
use crate::domain::second_factor::totp::TotpSecret;
use crate::domain::{Person, SecondFactor, Secret, Timestamp, WrongCodes};
use crate::store::{SecretPlace, StoreError, Tx, columns};

/// A row, with the secret as it is stored.
struct StoredFactor {
    secret: String,
    enabled_at: Option<Timestamp>,
    last_step: i64,
    wrong: WrongCodes,
}

columns! {
    macro factor;
    columns { secret, enabled_at, last_step, wrong_codes, wrong_since }
    row StoredFactor = StoredFactor {
        secret,
        enabled_at,
        last_step,
        wrong: WrongCodes { count: wrong_codes, since: wrong_since },
    };
}

crate::store::statements! {
    FACTOR = concat!("SELECT ", factor!(columns), " FROM second_factors WHERE holder = ?1");
    ENABLED = "SELECT enabled_at FROM second_factors WHERE holder = ?1 AND enabled_at IS NOT NULL";
    BEGIN = "INSERT INTO second_factors (holder, secret, created_at) VALUES (?1, ?2, ?3)
        ON CONFLICT (holder) DO UPDATE SET secret = excluded.secret,
            created_at = excluded.created_at, last_step = 0
        WHERE second_factors.enabled_at IS NULL";
    ENABLE = "UPDATE second_factors SET enabled_at = ?2, last_step = ?3
        WHERE holder = ?1 AND enabled_at IS NULL AND last_step < ?3";
    USE_STEP = "UPDATE second_factors SET last_step = ?2, wrong_codes = 0, wrong_since = NULL
        WHERE holder = ?1 AND enabled_at IS NOT NULL AND last_step < ?2";
    COUNT_WRONG = "UPDATE second_factors SET wrong_codes = ?2, wrong_since = ?3 WHERE holder = ?1";
    DROP = "DELETE FROM second_factors WHERE holder = ?1";
    ADD_CODE = "INSERT INTO recovery_codes (holder, code_hash) VALUES (?1, ?2)";
    USE_CODE = "DELETE FROM recovery_codes WHERE holder = ?1 AND code_hash = ?2";
    DROP_CODES = "DELETE FROM recovery_codes WHERE holder = ?1";
    COUNT_CODES = "SELECT COUNT(*) FROM recovery_codes WHERE holder = ?1";
}

impl Tx<'_> {
    pub fn second_factor(&mut self, holder: Person) -> Result<Option<SecondFactor>, StoreError> {
        let stored = self.optional(FACTOR, &[name_of(holder).into()])?;
        stored
            .map(|stored| self.open_factor(holder, stored))
            .transpose()
    }

    /// The factor, locked until this transaction ends.
    pub fn second_factor_to_change(
        &mut self,
        holder: Person,
    ) -> Result<Option<SecondFactor>, StoreError> {
        let stored = self.optional_locked(FACTOR, &[name_of(holder).into()])?;
        stored
            .map(|stored| self.open_factor(holder, stored))
            .transpose()
    }

    fn open_factor(
        &self,
        holder: Person,
        stored: StoredFactor,
    ) -> Result<SecondFactor, StoreError> {
        let context = SecretPlace::SecondFactor.context(name_of(holder));
        let secret = Secret::presented(&self.open(&context, &stored.secret)?);
        let broken = || StoreError::Failed(format!("the secret of {context} is malformed"));
        Ok(SecondFactor {
            secret: TotpSecret::from_base32(secret.expose()).ok_or_else(broken)?,
            enabled_at: stored.enabled_at,
            last_step: stored.last_step,
            wrong: stored.wrong,
        })
    }

    /// Since when a factor is on. Needs no key.
    pub fn second_factor_enabled(
        &mut self,
        holder: Person,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.optional(ENABLED, &[name_of(holder).into()])
    }

    /// Stores the secret of a factor that is not on yet. False if it is on.
    pub fn begin_second_factor(
        &mut self,
        holder: Person,
        secret: &TotpSecret,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let context = SecretPlace::SecondFactor.context(name_of(holder));
        let sealed = self.seal(&context, &secret.to_base32())?;
        let values = [name_of(holder).into(), sealed.into(), now.into()];
        Ok(self.execute(BEGIN, &values)? == 1)
    }

    /// Turns the factor on with the code of a step. False if it is on already.
    pub fn enable_second_factor(
        &mut self,
        holder: Person,
        step: i64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [name_of(holder).into(), now.into(), step.into()];
        Ok(self.execute(ENABLE, &values)? == 1)
    }

    /// Uses up the codes until this step. False if they were used already.
    pub fn use_step(&mut self, holder: Person, step: i64) -> Result<bool, StoreError> {
        let values = [name_of(holder).into(), step.into()];
        Ok(self.execute(USE_STEP, &values)? == 1)
    }

    pub fn count_wrong_code(
        &mut self,
        holder: Person,
        wrong: WrongCodes,
    ) -> Result<(), StoreError> {
        let values = [
            name_of(holder).into(),
            wrong.count.into(),
            wrong.since.into(),
        ];
        self.execute_one(COUNT_WRONG, &values)
    }

    /// Deletes the app's secret. False if there was none.
    pub fn drop_app(&mut self, holder: Person) -> Result<bool, StoreError> {
        Ok(self.execute(DROP, &[name_of(holder).into()])? == 1)
    }

    /// The same with the recovery codes.
    pub fn drop_second_factor(&mut self, holder: Person) -> Result<bool, StoreError> {
        self.defer(DROP_CODES, &[name_of(holder).into()])?;
        self.drop_app(holder)
    }

    /// Deletes all that somebody proves with who they are, but the password. False if there was nothing.
    pub fn drop_factors(&mut self, holder: Person) -> Result<bool, StoreError> {
        let passkeys = self.drop_passkeys(holder)?;
        Ok(self.drop_second_factor(holder)? || passkeys > 0)
    }

    /// Replaces all recovery codes.
    pub fn put_recovery_codes(
        &mut self,
        holder: Person,
        hashes: &[String],
    ) -> Result<(), StoreError> {
        self.execute(DROP_CODES, &[name_of(holder).into()])?;
        for hash in hashes {
            self.defer(ADD_CODE, &[name_of(holder).into(), hash.into()])?;
        }
        Ok(())
    }

    /// Uses up a recovery code. False if there is none like this.
    pub fn use_recovery_code(&mut self, holder: Person, hash: &str) -> Result<bool, StoreError> {
        Ok(self.execute(USE_CODE, &[name_of(holder).into(), hash.into()])? == 1)
    }

    pub fn count_recovery_codes(&mut self, holder: Person) -> Result<i64, StoreError> {
        let count = self.optional(COUNT_CODES, &[name_of(holder).into()])?;
        Ok(count.unwrap_or(0))
    }
}
