//! Wakes the parts of this process that wait for something to be committed. What other processes
//! commit is found by polling.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::domain::{JobKind, Lane, Owner};

/// Whom to wake once a transaction is committed.
#[derive(Clone, Debug, Default)]
pub struct ToWake {
    /// The runner of each lane of jobs.
    pub jobs: bool,
    pub notification_jobs: bool,
    /// The deliverer.
    pub deliveries: bool,
    /// Those who wait for events of these owners, and the deliverer.
    pub events: Vec<Owner>,
}

impl ToWake {
    /// The runner of this kind of job.
    pub fn add_job(&mut self, kind: JobKind) {
        match kind {
            JobKind::Mail | JobKind::Push => self.notification_jobs = true,
            _ => self.jobs = true,
        }
    }
}

#[derive(Default)]
pub struct Wakeups {
    jobs: Notify,
    notification_jobs: Notify,
    pub deliveries: Notify,
    /// Those who wait for the events of an owner.
    listeners: Mutex<HashMap<Owner, Arc<Notify>>>,
}

impl Wakeups {
    pub fn notify(&self, to_wake: &ToWake) {
        if to_wake.jobs {
            self.jobs.notify_one();
        }
        if to_wake.notification_jobs {
            self.notification_jobs.notify_one();
        }
        if to_wake.deliveries || !to_wake.events.is_empty() {
            self.deliveries.notify_one();
        }
        if to_wake.events.is_empty() {
            return;
        }
        let listeners = self.listeners();
        for owner in &to_wake.events {
            if let Some(listener) = listeners.get(owner) {
                listener.notify_waiters();
            }
        }
    }

    /// Notified when jobs were written. Each lane is notified by itself, and one waiter of it wakes.
    pub fn jobs(&self, lane: Lane) -> &Notify {
        match lane {
            Lane::Notifications => &self.notification_jobs,
            Lane::Rest => &self.jobs,
        }
    }

    /// Notified of every event of this owner.
    pub fn of(self: &Arc<Self>, owner: Owner) -> EventWakeup {
        let listener = self.listeners().entry(owner).or_default().clone();
        EventWakeup {
            wakeups: self.clone(),
            owner,
            listener,
        }
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<Owner, Arc<Notify>>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notified of every event of one owner that this process writes.
pub struct EventWakeup {
    wakeups: Arc<Wakeups>,
    owner: Owner,
    listener: Arc<Notify>,
}

impl EventWakeup {
    /// Is notified from this call on, not only once it is awaited: call this first, then look for
    /// events, then await.
    pub fn next(&self) -> tokio::sync::futures::Notified<'_> {
        self.listener.notified()
    }
}

impl Drop for EventWakeup {
    fn drop(&mut self) {
        let mut listeners = self.wakeups.listeners();
        // One reference in the map and one here: nobody else listens.
        if Arc::strong_count(&self.listener) == 2 {
            listeners.remove(&self.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::domain::{AccountId, Environment, Timestamp};

    #[test]
    fn a_job_wakes_the_runner_of_its_lane() {
        for (kind, lanes) in [
            (JobKind::Charge, [true, false]),
            (JobKind::Mail, [false, true]),
            (JobKind::Push, [false, true]),
        ] {
            let (wakeups, mut to_wake) = (Wakeups::default(), ToWake::default());
            to_wake.add_job(kind);
            wakeups.notify(&to_wake);
            let woken = Lane::ALL.map(|lane| wakeups.jobs(lane).notified().now_or_never());
            assert_eq!(woken.map(|woken| woken.is_some()), lanes, "{kind}");
        }
    }

    fn owner(number: u64) -> Owner {
        let mut random = [0; 10];
        random[2..].copy_from_slice(&number.to_be_bytes());
        Owner {
            account: AccountId::new(Timestamp::from_millis(0), &random),
            environment: Environment::Live,
        }
    }

    #[test]
    fn only_those_who_listen_take_memory() {
        let wakeups = Arc::new(Wakeups::default());
        let kept = [
            wakeups.of(owner(0)),
            wakeups.of(owner(0)),
            wakeups.of(owner(1)),
        ];
        for number in 0..1_000 {
            drop(wakeups.of(owner(number)));
            wakeups.notify(&ToWake {
                events: vec![owner(number)],
                ..ToWake::default()
            });
        }
        assert_eq!(wakeups.listeners().len(), 2);
        drop(kept);
        assert!(wakeups.listeners().is_empty());
    }
}
