//! Turns to look at pictures. Each is decoded, so an account looks once at a time, and nobody waits for long.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::domain::AccountId;

/// How many answers with pictures are being made at once.
static ALL: Semaphore = Semaphore::const_new(8);
static BY_ACCOUNT: Mutex<Option<HashMap<AccountId, Arc<Semaphore>>>> = Mutex::new(None);
/// How long a look waits for its turn.
const WITHIN: Duration = Duration::from_secs(10);

/// Held while an answer with pictures is made.
pub struct Look {
    _own: Option<OwnedSemaphorePermit>,
    _any: SemaphorePermit<'static>,
}

/// None if others look for too long.
pub async fn turn(account: Option<AccountId>) -> Option<Look> {
    let waiting = async {
        let own = match account.map(of_account) {
            Some(own) => own.acquire_owned().await.ok(),
            None => None,
        };
        let any = ALL.acquire().await.ok()?;
        Some(Look {
            _own: own,
            _any: any,
        })
    };
    timeout(WITHIN, waiting).await.ok().flatten()
}

/// Those whom nobody holds or waits for are forgotten.
fn of_account(account: AccountId) -> Arc<Semaphore> {
    let mut all = BY_ACCOUNT.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    all.retain(|_, own| Arc::strong_count(own) > 1);
    let own = all
        .entry(account)
        .or_insert_with(|| Arc::new(Semaphore::new(1)));
    own.clone()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::domain::Timestamp;

    #[tokio::test]
    async fn an_account_looks_once_at_a_time() {
        let account = |byte| Some(AccountId::new(Timestamp::from_millis(0), &[byte; 10]));
        let first = turn(account(1)).await.unwrap();
        assert!(turn(account(1)).now_or_never().is_none(), "it waits");
        assert!(turn(account(2)).await.is_some());
        drop(first);
        assert!(turn(account(1)).await.is_some());
    }
}
