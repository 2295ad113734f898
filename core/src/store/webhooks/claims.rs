//! Which process serves an endpoint, and which processes live.

use crate::domain::{AccountId, Timestamp};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro heartbeat;
    columns { process = "id", alive_until }
    row Heartbeat = Heartbeat { process, alive_until };
}

crate::store::statements! {
    ANY_DUE = "SELECT CAST(1 AS BIGINT) FROM webhook_endpoints
        WHERE due_at <= ?1 AND claim IS NULL LIMIT 1";
    /// Also tells whether the claiming process counts as alive, which saves a statement.
    DUE = "SELECT account_id,
            (SELECT COUNT(*) FROM processes WHERE id = ?3 AND alive_until > ?1)
        FROM webhook_endpoints
        WHERE due_at <= ?1 AND claim IS NULL ORDER BY due_at LIMIT ?2";
    CLAIM = "UPDATE webhook_endpoints SET claim = ?2 WHERE account_id = ?1";
    CLAIM_ONE = "UPDATE webhook_endpoints SET claim = ?2
        WHERE account_id = ?1 AND claim IS NULL AND due_at <= ?3";
    HELD = "SELECT disabled_at FROM webhook_endpoints WHERE account_id = ?1 AND claim = ?2";
    NEXT_DUE = "SELECT due_at FROM deliveries WHERE account_id = ?1 AND due_at IS NOT NULL
        ORDER BY due_at LIMIT 1";
    RELEASE = "UPDATE webhook_endpoints SET claim = NULL, due_at = ?3
        WHERE account_id = ?1 AND claim = ?2";
    BEAT = "INSERT INTO processes (id, alive_until, reads_sealed, sealing_key)
        VALUES (?1, ?2, 1, ?3) ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until,
            sealing_key = excluded.sealing_key";
    HEARTBEATS = concat!("SELECT ", heartbeat!(columns), " FROM processes ORDER BY id");
    /// Claims of processes that nobody knows. One that is taken for dead, lives and claims at the same
    /// moment may leave such a claim.
    ORPHANED = "SELECT DISTINCT claim FROM webhook_endpoints
        WHERE claim IS NOT NULL AND claim NOT IN (SELECT id FROM processes)";
    RELEASE_ALL = "UPDATE webhook_endpoints SET claim = NULL, due_at = ?2 WHERE claim = ?1";
    FORGET_SILENT = "DELETE FROM processes WHERE id = ?1 AND alive_until = ?2";
    FORGET = "DELETE FROM processes WHERE id = ?1";
}

/// The last heartbeat of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    pub process: String,
    /// By the clock of its server.
    pub alive_until: Timestamp,
}

impl Tx<'_> {
    pub fn any_endpoint_due(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        let found = self.optional::<i64>(ANY_DUE, &[now.into()])?;
        Ok(found.is_some())
    }

    /// Claims up to `limit` endpoints that are due and that no process has claimed. Whoever claims is
    /// known as alive: the claims of others count for nothing.
    pub fn claim_endpoints(
        &mut self,
        claimer: &Heartbeat,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<AccountId>, StoreError> {
        let process = claimer.process.as_str();
        let values = [now.into(), limit.into(), process.into()];
        let due: Vec<(AccountId, i64)> = self.all_unclaimed(DUE, &values)?;
        if due.iter().any(|(_, alive)| *alive == 0) {
            self.beat(claimer)?;
        }
        for (account, _) in &due {
            self.defer(CLAIM, &[(*account).into(), process.into()])?;
        }
        Ok(due.into_iter().map(|(account, _)| account).collect())
    }

    /// Claims one endpoint, if it is due and no process has claimed it.
    pub fn claim_endpoint(
        &mut self,
        account: AccountId,
        claimer: &Heartbeat,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [account.into(), (&claimer.process).into(), now.into()];
        let claimed = self.execute(CLAIM_ONE, &values)? == 1;
        if claimed {
            self.beat(claimer)?;
        }
        Ok(claimed)
    }

    /// Releases an endpoint until its next delivery is due. False when one is due already: then the
    /// claim stays. True when it was released, or was not claimed by this process any more.
    pub fn release_endpoint(
        &mut self,
        account: AccountId,
        process: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let held = [account.into(), process.into()];
        let disabled: Option<Option<Timestamp>> = self.optional_locked(HELD, &held)?;
        let Some(disabled) = disabled else {
            return Ok(true);
        };
        let next: Option<Timestamp> = match disabled {
            Some(_) => None,
            None => self.optional(NEXT_DUE, &[account.into()])?,
        };
        if next.is_some_and(|due| due <= now) {
            return Ok(false);
        }
        let values = [account.into(), process.into(), next.into()];
        self.defer(RELEASE, &values)?;
        Ok(true)
    }

    /// Releases an endpoint even if deliveries are due. It is due again at that time.
    pub fn abandon_endpoint(
        &mut self,
        account: AccountId,
        process: &str,
        look_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        self.defer(RELEASE, &[account.into(), process.into(), look_at.into()])
    }

    /// Records that a process lives.
    pub fn beat(&mut self, heartbeat: &Heartbeat) -> Result<(), StoreError> {
        let key = self.sealing_key();
        let (process, until) = (&heartbeat.process, heartbeat.alive_until);
        self.defer(BEAT, &[process.into(), until.into(), key.into()])
    }

    /// The last heartbeat of each process.
    pub fn heartbeats(&mut self) -> Result<Vec<Heartbeat>, StoreError> {
        self.all(HEARTBEATS, &[])
    }

    /// Forgets processes that are taken for dead, unless they have beaten since, and releases their
    /// endpoints.
    pub fn bury(&mut self, dead: &[Heartbeat], now: Timestamp) -> Result<(), StoreError> {
        for Heartbeat {
            process,
            alive_until,
        } in dead
        {
            let silent = [process.into(), (*alive_until).into()];
            if self.execute(FORGET_SILENT, &silent)? == 1 {
                self.release_all(process, now)?;
            }
        }
        Ok(())
    }

    /// Releases the endpoints that are claimed by processes that nobody knows. `process` is the one that
    /// asks, and is known soon.
    pub fn release_orphaned(&mut self, process: &str, now: Timestamp) -> Result<(), StoreError> {
        let claims: Vec<String> = self.all(ORPHANED, &[])?;
        for claim in claims.iter().filter(|claim| *claim != process) {
            self.release_all(claim, now)?;
        }
        Ok(())
    }

    /// Releases the endpoints of a process that ends.
    pub fn forget_process(&mut self, process: &str, now: Timestamp) -> Result<(), StoreError> {
        self.release_all(process, now)?;
        self.defer(FORGET, &[process.into()])
    }

    fn release_all(&mut self, process: &str, now: Timestamp) -> Result<(), StoreError> {
        self.to_wake.deliveries = true;
        self.defer(RELEASE_ALL, &[process.into(), now.into()])
    }
}
