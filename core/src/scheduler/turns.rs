//! One advance of a test clock at a time: the next one counts from where the one before has arrived. Among the
//! requests of this process; several servers do not wait for each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

use crate::domain::AccountId;

type Turn = tokio::sync::Mutex<()>;

/// Accounts whose test clock is being advanced.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<HashMap<AccountId, Weak<Turn>>>>);

impl Turns {
    pub(super) async fn take(&self, account: AccountId) -> OwnedMutexGuard<()> {
        self.of(account).lock_owned().await
    }

    fn of(&self, account: AccountId) -> Arc<Turn> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(&account).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(account, Arc::downgrade(&turn));
        turn
    }
}
