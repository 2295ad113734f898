//! Wakes the parts of this process that wait for something to be committed. What other processes
//! commit is found by polling.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::domain::{Lane, Owner};

/// Whom to wake once a transaction is committed.
#[derive(Clone, Debug, Default)]
pub struct ToWake {
    /// The job runners.
    pub jobs: bool,
    /// The deliverer.
    pub deliveries: bool,
    /// Those who wait for events of these owners, and the deliverer.
    pub events: Vec<Owner>,
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
