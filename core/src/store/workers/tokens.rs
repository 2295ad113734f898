//! Tokens of workers. Each is a session. With a token go the push subscriptions that it made.

use crate::domain::{Timestamp, WorkerId};
use crate::store::{StoreError, Tx, columns};

/// A token to store. Only its hash is kept.
#[derive(Clone, Copy, Debug)]
pub struct NewWorkerToken<'a> {
    pub hash: &'a str,
    pub worker: WorkerId,
    /// Whether the worker gave a code of the second factor.
    pub second_factor: bool,
    pub user_agent: &'a str,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// What is known of the token of a request.
#[derive(Clone, Debug)]
pub struct WorkerSession {
    /// The first half of the hash of the token.
    pub id: String,
    pub signed_in_at: Timestamp,
    /// Written every few minutes.
    pub last_used_at: Option<Timestamp>,
    pub user_agent: String,
    pub second_factor: bool,
}

columns! {
    macro token;
    table worker_tokens;
    fn token_values<'a>(token: &'a NewWorkerToken<'a>);
    columns {
        token_hash: token.hash,
        worker_id: token.worker,
        second_factor: token.second_factor,
        user_agent: token.user_agent,
        created_at: token.created_at,
        expires_at: token.expires_at,
    }
}

crate::store::statements! {
    ADD = token!(insert);
    REVOKE = "DELETE FROM worker_tokens WHERE token_hash = ?1";
    MARK = "UPDATE worker_tokens SET second_factor = 1 WHERE token_hash = ?1";
    UNMARK_ALL = "UPDATE worker_tokens SET second_factor = 0 WHERE worker_id = ?1";
    /// In the order of the columns of `WorkerSession`.
    SESSIONS = "SELECT substr(token_hash, 1, 32), created_at, last_used_at, user_agent, second_factor
        FROM worker_tokens WHERE worker_id = ?1 AND expires_at > ?2
        ORDER BY created_at DESC LIMIT 100";
    USED = "UPDATE worker_tokens SET last_used_at = ?2 WHERE token_hash = ?1";
    REVOKE_SESSION = "DELETE FROM worker_tokens
        WHERE worker_id = ?1 AND substr(token_hash, 1, 32) = ?2";
    REVOKE_OTHERS = "DELETE FROM worker_tokens WHERE worker_id = ?1 AND token_hash <> ?2";
    PRUNE = "DELETE FROM worker_tokens WHERE token_hash IN (
            SELECT token_hash FROM worker_tokens WHERE expires_at <= ?1
            ORDER BY expires_at LIMIT 500)";
}

impl Tx<'_> {
    pub fn add_worker_token(&mut self, token: &NewWorkerToken<'_>) -> Result<(), StoreError> {
        self.defer(ADD, &token_values(token))
    }

    pub fn revoke_worker_token(&mut self, token_hash: &str) -> Result<(), StoreError> {
        self.defer(REVOKE, &[token_hash.into()])
    }

    /// The latest sessions of a worker, newest first.
    pub fn worker_sessions(
        &mut self,
        worker: WorkerId,
        now: Timestamp,
    ) -> Result<Vec<WorkerSession>, StoreError> {
        self.all(SESSIONS, &[worker.into(), now.into()])
    }

    pub fn worker_token_used(
        &mut self,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(USED, &[token_hash.into(), now.into()])
    }

    /// False if the worker has no such session.
    pub fn revoke_worker_session(
        &mut self,
        worker: WorkerId,
        session: &str,
    ) -> Result<bool, StoreError> {
        let values = [worker.into(), session.into()];
        Ok(self.execute(REVOKE_SESSION, &values)? > 0)
    }

    /// Revokes all tokens of a worker, except the one with this hash, if any. Subscriptions of no known token go too.
    pub fn revoke_worker_tokens(
        &mut self,
        worker: WorkerId,
        except: Option<&str>,
    ) -> Result<(), StoreError> {
        let except = except.unwrap_or_default();
        self.defer(REVOKE_OTHERS, &[worker.into(), except.into()])?;
        self.drop_subscriptions_of_no_token(worker)
    }

    /// The worker has given a second factor in this session. False if there is none.
    pub fn mark_worker_token(&mut self, token_hash: &str) -> Result<bool, StoreError> {
        Ok(self.execute(MARK, &[token_hash.into()])? == 1)
    }

    /// The worker has no second factor any more.
    pub fn unmark_worker_tokens(&mut self, worker: WorkerId) -> Result<(), StoreError> {
        self.defer(UNMARK_ALL, &[worker.into()])
    }

    /// Deletes a batch of expired tokens; returns how many.
    pub fn prune_worker_tokens(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[now.into()])
    }
}
