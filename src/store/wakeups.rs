//! Who is woken when something has become durable. Wakeups ring within this process; what others have
//! written is found by looking now and then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::domain::{Lane, Owner};

/// What a transaction leaves behind for others to notice.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// Jobs for later.
    pub jobs: bool,
    /// Deliveries that nobody serves any more.
    pub deliveries: bool,
    /// Events of these owners, and what is to be delivered of them.
    pub events: Vec<Owner>,
}

#[derive(Default)]
pub struct Wakeups {
    jobs: Notify,
    notices: Notify,
    pub deliveries: Notify,
    /// Those who wait for the events of one owner.
    listeners: Mutex<HashMap<Owner, Arc<Notify>>>,
}

impl Wakeups {
    pub fn ring(&self, left: &Left) {
        if left.jobs {
            self.jobs.notify_one();
            self.notices.notify_one();
        }
        if left.deliveries || !left.events.is_empty() {
            self.deliveries.notify_one();
        }
        if left.events.is_empty() {
            return;
        }
        let listeners = self.listeners();
        for owner in &left.events {
            if let Some(listener) = listeners.get(owner) {
                listener.notify_waiters();
            }
        }
    }

    /// Rings when jobs were left: for each lane on its own, whoever waits first.
    pub fn jobs(&self, lane: Lane) -> &Notify {
        match lane {
            Lane::Notifications => &self.notices,
            Lane::Rest => &self.jobs,
        }
    }

    /// A bell that rings at every event of this owner, for as long as somebody holds it.
    pub fn of(self: &Arc<Self>, owner: Owner) -> EventWakeup {
        let bell = self.listeners().entry(owner).or_default().clone();
        EventWakeup {
            wakeups: self.clone(),
            owner,
            bell,
        }
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<Owner, Arc<Notify>>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rings when events of one owner were written by this process.
pub struct EventWakeup {
    wakeups: Arc<Wakeups>,
    owner: Owner,
    bell: Arc<Notify>,
}

impl EventWakeup {
    /// Rings from the moment this is called, not only while somebody waits: ask for it first, then
    /// look, then wait.
    pub fn next(&self) -> tokio::sync::futures::Notified<'_> {
        self.bell.notified()
    }
}

impl Drop for EventWakeup {
    fn drop(&mut self) {
        let mut listeners = self.wakeups.listeners();
        // One in the map, one here: nobody else listens.
        if Arc::strong_count(&self.bell) == 2 {
            listeners.remove(&self.owner);
        }
    }
}
