//! Which of the tasks of this process serves an account: the last one that began.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::AccountId;

/// An endpoint that was deleted and set again, or taken away and claimed again, may be claimed by the
/// same process while a task of it still serves the old claim. The two claims look the same.
#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    last: u64,
    current: HashMap<AccountId, u64>,
}

impl Turns {
    /// Whoever had a turn for this account has lost it.
    pub fn begin(&self, account: AccountId) -> Turn {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.current.insert(account, number);
        Turn {
            turns: self.clone(),
            account,
            number,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Turn {
    turns: Turns,
    account: AccountId,
    number: u64,
}

impl Turn {
    pub fn is_current(&self) -> bool {
        self.turns.state().current.get(&self.account) == Some(&self.number)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_current() {
            self.turns.state().current.remove(&self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn the_last_turn_of_an_account_counts() {
        let turns = Turns::default();
        let account = |byte| AccountId::new(Timestamp::from_millis(0), &[byte; 10]);
        let (first, other) = (turns.begin(account(1)), turns.begin(account(2)));
        assert!(first.is_current());
        let second = turns.begin(account(1));
        assert!(!first.is_current() && second.is_current() && other.is_current());
        drop(first);
        assert!(second.is_current(), "what was lost takes nothing along");
        drop((second, other));
        assert!(turns.state().current.is_empty());
    }
}
