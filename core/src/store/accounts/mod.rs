//! Accounts.

pub(super) mod api_keys;
pub(super) mod erasure;
pub(super) mod mandates;
pub(super) mod people;
pub(super) mod request_log;

use std::time::Duration;

use crate::domain::accounts::{TestKeysManage, freed_email, unconfirmed_email};
use crate::domain::{
    Account, AccountId, AccountStatus, Environment, Owner, Session, Tier, Timestamp,
};
use crate::store::{FromRow, Lookup, Row, StoreError, Tx, columns};

columns! {
    macro account;
    table accounts;
    fn account_values<'a>(account: &'a Account);
    columns {
        id: account.id,
        email: held_email(account),
        claimed_email: claimed_email(account),
        name: &account.name,
        company: &account.company,
        tier: account.tier,
        status: account.status,
        webhook_url: &account.webhook_url,
        webhook_events: &account.webhook_events,
        created_at: account.created_at,
        updated_at: account.updated_at,
    }
    row Account = Account {
        id,
        email_confirmed: Option::is_none(&claimed_email),
        email: Option::unwrap_or(claimed_email, email),
        name,
        company,
        tier,
        status,
        webhook_url,
        webhook_events,
        created_at,
        updated_at,
    };
}

crate::store::statements! {
    INSERT = concat!(account!(insert), " ON CONFLICT (email) DO NOTHING");
    BY_ID = concat!("SELECT ", account!(columns), " FROM accounts WHERE id = ?1");
    BY_EMAIL = concat!("SELECT ", account!(columns), " FROM accounts WHERE email = ?1");
    BY_CLAIM = concat!("SELECT ", account!(columns), " FROM accounts
        WHERE claimed_email = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
    FIRST_CLAIMS = concat!("SELECT ", account!(columns), " FROM accounts
        WHERE claimed_email = ?1 ORDER BY id LIMIT ?2");
    PAGE = concat!("SELECT ", account!(columns), " FROM accounts WHERE id > ?1 ORDER BY id LIMIT ?2");
    /// Who has opened a page, by one read. The columns of `sessions` have names of their own here.
    WITH_SESSION = concat!("SELECT s.session_id, s.person_kind, s.person_id, s.begun_at, s.signed_in_at,
            s.last_seen_at, s.expires_at, s.ends_at, s.address, s.user_agent, s.second_factor, ",
            account!(columns), ", test_ahead_ms
        FROM accounts JOIN (SELECT id AS session_id, person_kind, person_id, created_at AS begun_at,
                signed_in_at, last_seen_at, expires_at, ends_at, address, user_agent, second_factor
            FROM sessions WHERE token_hash = ?1 AND expires_at > ?2 AND person_kind = 'account') s
        ON s.person_id = accounts.id");
    TEST_CLOCK = "SELECT test_ahead_ms FROM accounts WHERE id = ?1";
    SET_TEST_CLOCK = "UPDATE accounts SET test_ahead_ms = ?2 WHERE id = ?1";
    /// Only in a transaction that has locked the totals: see `hold_totals`.
    SET_STATUS = "UPDATE accounts SET status = ?2, updated_at = ?3 WHERE id = ?1 AND status = ?4";
    DELETE = "UPDATE accounts SET status = 'deleted', email = ?2, claimed_email = NULL,
            password_hash = NULL, deleted_at = ?3, updated_at = ?3
        WHERE id = ?1 AND status = ?4";
    BEFORE = concat!("SELECT ", account!(columns), " FROM accounts
        WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    /// Nothing but the index by status and id has this order: PostgreSQL went through all accounts by id when it
    /// expected the status to be common.
    IN_STATUS_BEFORE = concat!("SELECT ", account!(columns), " FROM accounts
        WHERE status >= ?3 AND (status, id) < (?3, ?1) ORDER BY status DESC, id DESC LIMIT ?2");
    TEST_KEYS_MANAGE = "SELECT test_keys_manage FROM accounts WHERE id = ?1";
    SET_TEST_KEYS_MANAGE = "UPDATE accounts SET test_keys_manage = ?2 WHERE id = ?1";
    SET_TIER = "UPDATE accounts SET tier = ?2, updated_at = ?3 WHERE id = ?1";
}

/// A developer who is signed in on the pages.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub session: Session,
    pub account: Account,
    /// How far the clock of the account's test environment is ahead.
    pub test_ahead: Duration,
}

impl FromRow for Visitor {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            session: row.next()?,
            account: row.next()?,
            test_ahead: ahead(Some(row.next()?)),
        })
    }
}

impl Lookup<Visitor> {
    /// Whose session this is, if it has not ended. Only reads: `use_session` notes the use.
    pub fn visitor(token_hash: String, now: Timestamp) -> Self {
        Self::new(WITH_SESSION, vec![token_hash.into(), now.into()])
    }
}

/// Which accounts to list.
#[derive(Clone, Debug, Default)]
pub struct AccountFilter {
    pub status: Option<AccountStatus>,
    pub email: Option<String>,
}

impl Tx<'_> {
    /// False when the e-mail address is taken.
    pub fn insert_account(&mut self, account: &Account) -> Result<bool, StoreError> {
        if self.execute(INSERT, &account_values(account))? == 0 {
            return Ok(false);
        }
        for environment in Environment::ALL {
            self.open_totals(Owner {
                account: account.id,
                environment: *environment,
            })?;
        }
        Ok(true)
    }

    pub fn account(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.optional(BY_ID, &[id.into()])
    }

    /// The account, locked until this transaction ends.
    pub fn account_to_change(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.optional_locked(BY_ID, &[id.into()])
    }

    pub fn account_is_active(&mut self, id: AccountId) -> Result<bool, StoreError> {
        let account = self.account(id)?;
        Ok(account.is_some_and(|account| account.status == AccountStatus::Active))
    }

    /// Changes the status of an account. This transaction has locked it and its totals.
    pub fn set_account_status(
        &mut self,
        account: &Account,
        status: AccountStatus,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            account.id.into(),
            status.into(),
            now.into(),
            account.status.into(),
        ];
        self.execute_one(SET_STATUS, &values)
    }

    /// Deletes an account and frees its e-mail address. This transaction has locked it and its totals.
    pub fn delete_account(&mut self, account: &Account, now: Timestamp) -> Result<(), StoreError> {
        let values = [
            account.id.into(),
            freed_email(account.id).into(),
            now.into(),
            account.status.into(),
        ];
        self.execute_one(DELETE, &values)
    }

    /// The account that has confirmed this address.
    pub fn account_by_email(&mut self, email: &str) -> Result<Option<Account>, StoreError> {
        self.optional(BY_EMAIL, &[email.into()])
    }

    /// Accounts that name this address and have not confirmed it, newest first, before the given one.
    pub fn claims_of(
        &mut self,
        email: &str,
        before: Option<AccountId>,
        limit: i64,
    ) -> Result<Vec<Account>, StoreError> {
        let before = crate::store::before(before);
        self.all(BY_CLAIM, &[email.into(), before.into(), limit.into()])
    }

    /// The first of them.
    pub fn first_claims_of(&mut self, email: &str, limit: i64) -> Result<Vec<Account>, StoreError> {
        self.all(FIRST_CLAIMS, &[email.into(), limit.into()])
    }

    /// Up to `limit` accounts in the order they were opened, after the given one.
    pub fn accounts_after(
        &mut self,
        after: Option<AccountId>,
        limit: i64,
    ) -> Result<Vec<Account>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(PAGE, &[after.into(), limit.into()])
    }

    /// Up to `limit` accounts, newest first, before the given one.
    pub fn accounts_before(
        &mut self,
        filter: &AccountFilter,
        before: Option<AccountId>,
        limit: i64,
    ) -> Result<Vec<Account>, StoreError> {
        if let Some(email) = &filter.email {
            let claims = self.claims_of(email, before, limit)?;
            let found = self.account_by_email(email)?.into_iter().chain(claims);
            let fits = |account: &Account| {
                filter.status.is_none_or(|status| status == account.status)
                    && before.is_none_or(|before| account.id < before)
            };
            let mut found: Vec<Account> = found.filter(fits).collect();
            found.sort_by_key(|account| std::cmp::Reverse(account.id));
            found.truncate(usize::try_from(limit).unwrap_or_default());
            return Ok(found);
        }
        let before = crate::store::before(before).into();
        match filter.status {
            Some(status) => self.all(IN_STATUS_BEFORE, &[before, limit.into(), status.into()]),
            None => self.all(BEFORE, &[before, limit.into()]),
        }
    }

    /// The time by the clock of an environment.
    pub fn time_of(&mut self, owner: Owner, now: Timestamp) -> Result<Timestamp, StoreError> {
        match owner.environment {
            Environment::Live => Ok(now),
            Environment::Test => Ok(now.plus(self.test_clock(owner.account)?)),
        }
    }

    /// How far the clock of the account's test environment is ahead.
    pub fn test_clock(&mut self, id: AccountId) -> Result<Duration, StoreError> {
        Ok(ahead(self.optional(TEST_CLOCK, &[id.into()])?))
    }

    /// The same, locked until this transaction ends.
    pub fn test_clock_to_change(&mut self, id: AccountId) -> Result<Duration, StoreError> {
        Ok(ahead(self.optional_locked(TEST_CLOCK, &[id.into()])?))
    }

    pub fn set_test_clock(&mut self, id: AccountId, ahead: Duration) -> Result<(), StoreError> {
        let millis = i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX);
        self.defer(SET_TEST_CLOCK, &[id.into(), millis.into()])
    }

    pub fn test_keys_manage(&mut self, id: AccountId) -> Result<TestKeysManage, StoreError> {
        let found = self.optional(TEST_KEYS_MANAGE, &[id.into()])?;
        Ok(found.unwrap_or(TestKeysManage::All))
    }

    pub fn set_test_keys_manage(
        &mut self,
        id: AccountId,
        manage: TestKeysManage,
    ) -> Result<(), StoreError> {
        let values = [id.into(), manage.into()];
        self.execute(SET_TEST_KEYS_MANAGE, &values).map(drop)
    }

    pub fn set_tier(
        &mut self,
        id: AccountId,
        tier: Tier,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [id.into(), tier.into(), now.into()];
        self.execute(SET_TIER, &values).map(drop)
    }
}

fn ahead(millis: Option<i64>) -> Duration {
    Duration::from_millis(millis.unwrap_or(0).unsigned_abs())
}

fn held_email(account: &Account) -> String {
    if account.email_confirmed {
        account.email.clone()
    } else {
        unconfirmed_email(account.id)
    }
}

fn claimed_email(account: &Account) -> Option<String> {
    (!account.email_confirmed).then(|| account.email.clone())
}
