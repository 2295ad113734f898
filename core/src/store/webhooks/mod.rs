//! Endpoints: where the events of an account go.

pub(super) mod claims;
pub(super) mod deliveries;

use crate::domain::{AccountId, Environment, EventType, Owner, Timestamp};
use crate::store::secrets::SecretPlace;
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro endpoint;
    columns {
        account = "e.account_id",
        url = "a.webhook_url",
        events = "a.webhook_events",
        secret = "e.secret",
        old_secret = "e.old_secret",
        old_secret_until = "e.old_secret_until",
        old_secret_2 = "e.old_secret_2",
        old_secret_2_until = "e.old_secret_2_until",
        old_secret_3 = "e.old_secret_3",
        old_secret_3_until = "e.old_secret_3_until",
        failing_since = "e.failing_since",
        disabled_at = "e.disabled_at",
        disabled_because = "e.disabled_because",
        claim = "e.claim",
        version = "e.updated_at",
    }
    row Endpoint = Endpoint {
        account,
        url,
        events,
        secret,
        old_secrets: OldSecret::from_columns([
            (old_secret, old_secret_until),
            (old_secret_2, old_secret_2_until),
            (old_secret_3, old_secret_3_until),
        ]),
        failing_since,
        disabled: Disabled::from_columns(disabled_at, disabled_because),
        claim,
        version,
    };
}

crate::store::statements! {
    /// Locks are taken in this order: the account, then the endpoint.
    SET_ACCOUNT = "UPDATE accounts SET webhook_url = ?2, webhook_events = ?3, updated_at = ?4
        WHERE id = ?1";
    /// A change of the URL keeps the secret. A disabled endpoint is enabled again. `updated_at` is another
    /// one each time, also within a millisecond: it tells answers of the endpoint as it was before.
    PUT = "INSERT INTO webhook_endpoints (account_id, secret, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?3)
        ON CONFLICT (account_id) DO UPDATE SET failing_since = NULL, disabled_at = NULL,
            disabled_because = NULL, updated_at = CASE
                WHEN excluded.updated_at > webhook_endpoints.updated_at THEN excluded.updated_at
                ELSE webhook_endpoints.updated_at + 1 END
        RETURNING secret";
    UNSET_ACCOUNT = "UPDATE accounts SET webhook_url = NULL, webhook_events = '[]', updated_at = ?2
        WHERE id = ?1 AND webhook_url IS NOT NULL";
    REMOVE = "DELETE FROM webhook_endpoints WHERE account_id = ?1";
    /// The endpoint alone: a lock of the account would hold up what refers to it.
    LOCK = "SELECT account_id FROM webhook_endpoints WHERE account_id = ?1";
    ONE = concat!("SELECT ", endpoint!(columns), "
        FROM webhook_endpoints e JOIN accounts a ON a.id = e.account_id
        WHERE e.account_id = ?1 AND a.webhook_url IS NOT NULL");
    ROTATE = "UPDATE webhook_endpoints SET old_secret_3 = old_secret_2,
            old_secret_3_until = old_secret_2_until, old_secret_2 = old_secret,
            old_secret_2_until = old_secret_until, old_secret = secret, old_secret_until = ?3,
            secret = ?2, updated_at = ?4
        WHERE account_id = ?1";
    SET_FAILING = "UPDATE webhook_endpoints SET failing_since = ?3
        WHERE account_id = ?1 AND updated_at = ?2";
    DISABLE = "UPDATE webhook_endpoints SET disabled_at = ?3, disabled_because = ?4, due_at = NULL,
            updated_at = ?3
        WHERE account_id = ?1 AND updated_at = ?2 AND disabled_at IS NULL";
    /// Every event writes this row, whether the endpoint subscribes to it or not: whoever releases an
    /// endpoint must see either the changed row or the new delivery. Uses the real time, not that of a
    /// test clock.
    WAKE = "UPDATE webhook_endpoints SET due_at =
            CASE WHEN due_at IS NULL OR due_at > t.at THEN t.at ELSE due_at END
        FROM (SELECT CAST(?3 AS BIGINT) - CASE WHEN CAST(?2 AS TEXT) = 'test' THEN test_ahead_ms
                ELSE 0 END AS at FROM accounts WHERE id = ?1) t
        WHERE account_id = ?1 AND disabled_at IS NULL";
    /// The same for events of the live environment, whose clock is the real one.
    WAKE_LIVE = "UPDATE webhook_endpoints SET due_at =
            CASE WHEN due_at IS NULL OR due_at > ?2 THEN ?2 ELSE due_at END
        WHERE account_id = ?1 AND disabled_at IS NULL";
}

/// Where the events of an account go.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub account: AccountId,
    pub url: String,
    pub events: Vec<EventType>,
    /// Signs deliveries. Only the owner may see it.
    pub secret: String,
    /// Those that were replaced, the last one first. Some may be past their time.
    pub old_secrets: Vec<OldSecret>,
    pub failing_since: Option<Timestamp>,
    pub disabled: Option<Disabled>,
    /// The process that serves it.
    pub claim: Option<String>,
    /// When its settings were last changed.
    pub version: Timestamp,
}

/// A replaced secret, which still signs for a while.
#[derive(Clone, Debug)]
pub struct OldSecret {
    pub secret: String,
    pub until: Timestamp,
}

impl OldSecret {
    fn from_columns(columns: [(Option<String>, Option<Timestamp>); 3]) -> Vec<Self> {
        let stored = columns.into_iter();
        let stored = stored.filter_map(|(secret, until)| secret.zip(until));
        stored
            .map(|(secret, until)| Self { secret, until })
            .collect()
    }
}

#[derive(Clone, Debug)]
pub struct Disabled {
    pub at: Timestamp,
    pub because: String,
}

impl Disabled {
    fn from_columns(at: Option<Timestamp>, because: Option<String>) -> Option<Self> {
        let (at, because) = at.zip(because)?;
        Some(Self { at, because })
    }
}

impl Tx<'_> {
    /// Sets the endpoint and returns its secret: the given one only if the endpoint is new.
    pub fn put_webhook(
        &mut self,
        account: AccountId,
        url: &str,
        events: &[EventType],
        new_secret: &str,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        let context = SecretPlace::Webhook.context(account);
        let new_secret = self.seal(&context, new_secret)?;
        let values = [account.into(), url.into(), events.into(), now.into()];
        self.defer(SET_ACCOUNT, &values)?;
        self.wake_server_of(account);
        let secret = self.optional(PUT, &[account.into(), new_secret.into(), now.into()])?;
        let stored = || StoreError::Failed("the endpoint was not stored".into());
        let secret: String = secret.ok_or_else(stored)?;
        self.open(&context, &secret)
    }

    /// False when there is none.
    pub fn remove_webhook(
        &mut self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let removed = self.execute(UNSET_ACCOUNT, &[account.into(), now.into()])? == 1;
        if removed {
            self.defer(REMOVE, &[account.into()])?;
            self.wake_server_of(account);
        }
        Ok(removed)
    }

    /// Whoever serves the endpoint in this process looks at its settings again.
    fn wake_server_of(&mut self, account: AccountId) {
        let owners = Environment::ALL.iter().map(|environment| Owner {
            account,
            environment: *environment,
        });
        self.to_wake.events.extend(owners);
    }

    pub fn endpoint(&mut self, account: AccountId) -> Result<Option<Endpoint>, StoreError> {
        let endpoint = self.optional(ONE, &[account.into()])?;
        self.with_opened_secrets(endpoint)
    }

    fn with_opened_secrets(
        &self,
        endpoint: Option<Endpoint>,
    ) -> Result<Option<Endpoint>, StoreError> {
        let Some(mut endpoint) = endpoint else {
            return Ok(None);
        };
        let context = SecretPlace::Webhook.context(endpoint.account);
        endpoint.secret = self.open(&context, &endpoint.secret)?;
        for old in &mut endpoint.old_secrets {
            old.secret = self.open(&context, &old.secret)?;
        }
        Ok(Some(endpoint))
    }

    /// The endpoint, locked until this transaction ends.
    pub fn endpoint_to_change(
        &mut self,
        account: AccountId,
    ) -> Result<Option<Endpoint>, StoreError> {
        self.optional_locked::<AccountId>(LOCK, &[account.into()])?;
        self.endpoint(account)
    }

    /// Replaces the secret. The third of those that were replaced before is forgotten.
    pub fn rotate_webhook_secret(
        &mut self,
        account: AccountId,
        secret: &str,
        old_until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let secret = self.seal(&SecretPlace::Webhook.context(account), secret)?;
        let values = [account.into(), secret.into(), old_until.into(), now.into()];
        self.execute_one(ROTATE, &values)
    }

    /// Records since when an endpoint fails, or that it works again, unless it was changed.
    pub fn set_failing(
        &mut self,
        endpoint: &Endpoint,
        since: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let values = [
            endpoint.account.into(),
            endpoint.version.into(),
            since.into(),
        ];
        self.defer(SET_FAILING, &values)
    }

    /// False when it was changed, is disabled already, or deleted.
    pub fn disable_endpoint(
        &mut self,
        endpoint: &Endpoint,
        because: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [
            endpoint.account.into(),
            endpoint.version.into(),
            now.into(),
            because.into(),
        ];
        Ok(self.execute(DISABLE, &values)? == 1)
    }

    /// Makes the endpoint due at that time.
    pub(in crate::store) fn wake_endpoint(
        &mut self,
        owner: Owner,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if owner.environment == Environment::Live {
            return self.wake_endpoint_now(owner.account, at);
        }
        let mut values = owned_by(owner);
        values.push(at.into());
        self.defer_least(WAKE, &values)
    }

    /// The same at a time of the real clock.
    pub(in crate::store) fn wake_endpoint_now(
        &mut self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(WAKE_LIVE, &[account.into(), now.into()])
    }
}
