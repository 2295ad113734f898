//! Where the browsers of workers receive push messages. A subscription belongs to the token that made it and goes with it:
//! the foreign key deletes it.

use crate::domain::{PushSubscriptionId, Timestamp, WorkerId};
use crate::store::{StoreError, Tx, columns};

/// How many subscriptions of one worker are kept, and get messages.
const MAX_SUBSCRIPTIONS: i64 = 20;

/// Where a worker's browser receives notifications.
#[derive(Clone, Debug)]
pub struct PushSubscription {
    pub id: PushSubscriptionId,
    pub worker: WorkerId,
    pub endpoint: String,
    pub p256dh: String,
    pub auth: String,
}

columns! {
    macro subscription;
    columns { id, worker_id, endpoint, p256dh, auth }
    row PushSubscription = PushSubscription { id, worker: worker_id, endpoint, p256dh, auth };
}

crate::store::statements! {
    /// Only for a token that the worker still has.
    SUBSCRIBE = concat!("INSERT INTO push_subscriptions (", subscription!(columns), ", created_at, token_hash)
        SELECT CAST(?1 AS TEXT), t.worker_id, CAST(?3 AS TEXT), CAST(?4 AS TEXT), CAST(?5 AS TEXT),
            CAST(?6 AS BIGINT), t.token_hash
        FROM worker_tokens t WHERE t.token_hash = ?7 AND t.worker_id = ?2
        ON CONFLICT (worker_id, endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth,
            token_hash = excluded.token_hash
        RETURNING id");
    /// The newest one that is too many.
    BEYOND = "SELECT id FROM push_subscriptions WHERE worker_id = ?1
        ORDER BY id DESC LIMIT 1 OFFSET ?2";
    DROP_UP_TO = "DELETE FROM push_subscriptions WHERE worker_id = ?1 AND id <= ?2";
    /// Not that of a token which has expired and is not pruned yet.
    ALIVE = concat!("SELECT ", subscription!(columns), " FROM push_subscriptions
        WHERE id = ?1 AND (token_hash IS NULL OR EXISTS (SELECT 1 FROM worker_tokens t
            WHERE t.token_hash = push_subscriptions.token_hash AND t.expires_at > ?2))");
    DROP_ALL = "DELETE FROM push_subscriptions";
    DROP = "DELETE FROM push_subscriptions WHERE id = ?1";
    DROP_OF_NO_TOKEN = "DELETE FROM push_subscriptions WHERE worker_id = ?1 AND token_hash IS NULL";
    UNSUBSCRIBE = "DELETE FROM push_subscriptions WHERE worker_id = ?1 AND endpoint = ?2";
}

impl Tx<'_> {
    /// Stores a subscription of a token, or the new keys and the token of one with the same endpoint. Returns its id, or
    /// none if the worker has no such token. Beyond the limit the oldest ones go.
    pub fn subscribe(
        &mut self,
        subscription: &PushSubscription,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<PushSubscriptionId>, StoreError> {
        let worker = subscription.worker;
        let values = [
            subscription.id.into(),
            worker.into(),
            (&subscription.endpoint).into(),
            (&subscription.p256dh).into(),
            (&subscription.auth).into(),
            now.into(),
            token_hash.into(),
        ];
        let id = self.optional(SUBSCRIBE, &values)?;
        let beyond = [worker.into(), MAX_SUBSCRIPTIONS.into()];
        let beyond: Option<PushSubscriptionId> = self.optional(BEYOND, &beyond)?;
        if let Some(beyond) = beyond {
            self.defer(DROP_UP_TO, &[worker.into(), beyond.into()])?;
        }
        Ok(id)
    }

    /// For when the key that browsers have subscribed to is gone.
    pub fn drop_all_push_subscriptions(&mut self) -> Result<(), StoreError> {
        self.defer(DROP_ALL, &[])
    }

    /// A subscription whose token is still good.
    pub fn push_subscription(
        &mut self,
        id: PushSubscriptionId,
        now: Timestamp,
    ) -> Result<Option<PushSubscription>, StoreError> {
        self.optional(ALIVE, &[id.into(), now.into()])
    }

    pub fn drop_push_subscription(&mut self, id: PushSubscriptionId) -> Result<(), StoreError> {
        self.defer(DROP, &[id.into()])
    }

    /// Those from before subscriptions had a token. Nobody knows who made them.
    pub(super) fn drop_subscriptions_of_no_token(
        &mut self,
        worker: WorkerId,
    ) -> Result<(), StoreError> {
        self.defer(DROP_OF_NO_TOKEN, &[worker.into()])
    }

    pub fn unsubscribe(&mut self, worker: WorkerId, endpoint: &str) -> Result<bool, StoreError> {
        let values = [worker.into(), endpoint.into()];
        Ok(self.execute(UNSUBSCRIBE, &values)? == 1)
    }
}
