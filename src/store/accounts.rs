//! Accounts, and the totals that are opened with them.

use serde_json::Value as Json;

use super::{Row, StoreError, Tx};
use crate::domain::{Account, AccountId, AccountStatus, Environment, EventType, Tier, Timestamp};

/// The columns of a whole row, in the order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, email, name, company, tier, status, webhook_url, webhook_events, created_at, updated_at"
    };
}

super::statements! {
    INSERT = "INSERT INTO accounts (id, email, name, company, tier, status, webhook_url,
            webhook_events, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT (email) DO NOTHING";
    OPEN_TOTALS = "INSERT INTO task_totals (account_id, environment, last_number, month,
            month_tasks, pending, funded, posted, assigned, in_progress, proof_submitted,
            proof_rejected, completed, cancelled, expired, disputed, refunded)
        VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)";
    BY_ID = concat!("SELECT ", columns!(), " FROM accounts WHERE id = ?1");
    BY_EMAIL = concat!("SELECT ", columns!(), " FROM accounts WHERE email = ?1");
    PAGE = concat!("SELECT ", columns!(), " FROM accounts WHERE id > ?1 ORDER BY id LIMIT ?2");
    BEFORE = concat!("SELECT ", columns!(), " FROM accounts
        WHERE id < ?1 AND (?2 = '' OR status = ?2) ORDER BY id DESC LIMIT ?3");
    SET_STATUS = "UPDATE accounts SET status = ?2, updated_at = ?3 WHERE id = ?1 AND status = ?4";
    SET_TIER = "UPDATE accounts SET tier = ?2, updated_at = ?3 WHERE id = ?1";
}

/// Which accounts are asked for.
#[derive(Clone, Debug, Default)]
pub struct AccountFilter {
    pub status: Option<AccountStatus>,
    pub email: Option<String>,
}

impl Tx<'_> {
    /// False when the e-mail address is taken.
    pub fn insert_account(&mut self, account: &Account) -> Result<bool, StoreError> {
        let events: Vec<_> = account.webhook_events.iter().map(|e| e.as_str()).collect();
        let inserted = self.execute(
            INSERT,
            &[
                account.id.to_string().into(),
                (&account.email).into(),
                (&account.name).into(),
                account.company.as_ref().into(),
                account.tier.as_str().into(),
                account.status.as_str().into(),
                account.webhook_url.as_ref().into(),
                Json::from(events).to_string().into(),
                account.created_at.into(),
                account.updated_at.into(),
            ],
        )?;
        if inserted == 0 {
            return Ok(false);
        }
        for environment in Environment::ALL {
            let id = account.id.to_string();
            self.queue(OPEN_TOTALS, &[id.into(), environment.as_str().into()])?;
        }
        Ok(true)
    }

    pub fn account(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.optional(BY_ID, &[id.to_string().into()], read)
    }

    pub fn account_by_email(&mut self, email: &str) -> Result<Option<Account>, StoreError> {
        self.optional(BY_EMAIL, &[email.into()], read)
    }

    /// Up to `limit` accounts in the order they were opened, after the given one.
    pub fn accounts_after(
        &mut self,
        after: Option<AccountId>,
        limit: i64,
    ) -> Result<Vec<Account>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(PAGE, &[after.into(), limit.into()], read)
    }

    /// The account, held against other writers until this transaction ends.
    pub fn account_to_change(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.optional_locked(BY_ID, &[id.to_string().into()], read)
    }

    /// Up to `limit` accounts, newest first, before the given one.
    pub fn accounts_before(
        &mut self,
        filter: &AccountFilter,
        before: Option<AccountId>,
        limit: i64,
    ) -> Result<Vec<Account>, StoreError> {
        if let Some(email) = &filter.email {
            let found = self.account_by_email(email)?.into_iter();
            let fits = |account: &Account| {
                filter.status.is_none_or(|status| status == account.status)
                    && before.is_none_or(|before| account.id < before)
            };
            return Ok(found.filter(fits).collect());
        }
        let status = filter.status.map_or("", AccountStatus::as_str);
        let before = super::before(before);
        self.all(BEFORE, &[before.into(), status.into(), limit.into()], read)
    }

    pub fn set_account_status(
        &mut self,
        account: &Account,
        status: AccountStatus,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            account.id.to_string().into(),
            status.as_str().into(),
            now.into(),
            account.status.as_str().into(),
        ];
        self.execute_one(SET_STATUS, &values)
    }

    pub fn set_tier(
        &mut self,
        id: AccountId,
        tier: Tier,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [id.to_string().into(), tier.as_str().into(), now.into()];
        self.execute(SET_TIER, &values).map(drop)
    }
}

fn read(row: &Row<'_>) -> Result<Account, StoreError> {
    Ok(Account {
        id: row.parse(0, AccountId::parse)?,
        email: row.get(1)?,
        name: row.get(2)?,
        company: row.get(3)?,
        tier: row.parse(4, Tier::parse)?,
        status: row.parse(5, AccountStatus::parse)?,
        webhook_url: row.get(6)?,
        webhook_events: row.parse(7, |text| super::words(text, EventType::parse))?,
        created_at: row.get(8)?,
        updated_at: row.get(9)?,
    })
}
