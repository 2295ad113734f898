//! What a transaction has locked and read. It stays as it was read until the transaction changes it, so
//! the transaction need not ask for it again. Neither need those that follow it in the same transaction of
//! the database.

use crate::domain::{AccountId, Owner, Task, TaskId, Timestamp};
use crate::store::Tx;
use crate::store::tasks::totals::Numbered;

#[derive(Default)]
pub(in crate::store) struct Locked {
    tasks: Vec<TaskId>,
    /// The owner whose totals are locked, and the last number given to an event of that owner. A
    /// transaction is nearly always about one owner.
    totals: Option<(Owner, Numbered)>,
    /// An account that had no endpoint when its totals were locked. Nobody waits for deliveries of its
    /// events: an endpoint that is set now gets the events that follow.
    without_endpoint: Option<AccountId>,
}

impl Locked {
    /// What stays known to the next transaction of a batch. The tasks stay locked, too, but it reads its
    /// own.
    pub fn for_next(&self) -> Self {
        Self {
            totals: self.totals,
            ..Self::default()
        }
    }

    pub fn add_task(&mut self, id: TaskId) {
        self.tasks.push(id);
    }

    pub fn has_task(&self, id: TaskId) -> bool {
        self.tasks.contains(&id)
    }

    pub fn set_totals(&mut self, owner: Owner, numbered: Numbered) {
        self.totals = Some((owner, numbered));
    }

    pub fn forget_totals(&mut self) {
        self.totals = None;
    }

    pub fn set_without_endpoint(&mut self, owner: Owner) {
        self.without_endpoint = Some(owner.account);
    }

    /// Whether events of this owner have no deliveries.
    pub fn has_no_endpoint(&self, owner: Owner) -> bool {
        self.without_endpoint == Some(owner.account)
    }

    /// Whether the totals of an owner are locked, whoever that is.
    pub fn has_any_totals(&self) -> bool {
        self.totals.is_some()
    }

    pub fn has_totals(&self, owner: Owner) -> bool {
        self.totals.is_some_and(|(locked, _)| locked == owner)
    }

    /// The last event of the owner, and what so many more make of it. None if the totals are not locked.
    pub fn count_events(
        &mut self,
        owner: Owner,
        events: i64,
        at: Timestamp,
    ) -> Option<(Numbered, Numbered)> {
        let (_, numbered) = self
            .totals
            .as_mut()
            .filter(|(locked, _)| *locked == owner)?;
        let before = *numbered;
        if events > 0 {
            numbered.last += events;
            numbered.at = numbered.at.max(at);
        }
        Some((before, *numbered))
    }
}

impl Tx<'_> {
    /// A task that was read and locked with the totals of its owner, and with how many endpoints the
    /// account has.
    pub(in crate::store) fn locked_with_totals(
        &mut self,
        found: Option<(Task, (Numbered, i64))>,
    ) -> Option<Task> {
        let (task, (numbered, endpoints)) = found?;
        self.locked.set_totals(task.owner, numbered);
        self.locked_with_endpoints(Some((task, endpoints)))
    }

    /// A task that was read and locked after the totals of its owner.
    pub(in crate::store) fn locked_with_endpoints(
        &mut self,
        found: Option<(Task, i64)>,
    ) -> Option<Task> {
        let (task, endpoints) = found?;
        if endpoints == 0 {
            self.locked.set_without_endpoint(task.owner);
        }
        self.locked_task(Some(task))
    }

    pub(in crate::store) fn locked_task(&mut self, task: Option<Task>) -> Option<Task> {
        if let Some(task) = &task {
            self.locked.add_task(task.id);
        }
        task
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Environment;

    fn owner(environment: Environment) -> Owner {
        Owner {
            account: AccountId::new(Timestamp::from_millis(0), &[0; 10]),
            environment,
        }
    }

    #[test]
    fn numbers_go_on_and_time_does_not_run_backwards() {
        let mut locked = Locked::default();
        let [test, live] = [Environment::Test, Environment::Live].map(owner);
        let at = Timestamp::from_millis;
        assert!(locked.count_events(live, 1, at(5)).is_none());
        let numbered = Numbered { last: 7, at: at(5) };
        locked.set_totals(live, numbered);
        assert!(locked.has_totals(live) && !locked.has_totals(test));
        let mut count = |events, at| {
            let numbered = locked.count_events(live, events, at);
            numbered.map(|(_, numbered)| (numbered.last, numbered.at.as_millis()))
        };
        assert_eq!(count(2, at(4)), Some((9, 5)));
        assert_eq!(count(0, at(6)), Some((9, 5)), "no event, no later time");
        assert_eq!(count(1, at(6)), Some((10, 6)));
        assert!(locked.count_events(test, 1, at(6)).is_none());
        locked.forget_totals();
        assert!(!locked.has_totals(live));
    }
}
