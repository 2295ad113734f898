//! Events: written in the transaction of what happened, numbered without gaps, read in order.

pub(super) mod notifications;

use crate::ambient;
use crate::domain::{Event, EventId, EventType, NewEvent, Owner, TaskId, Timestamp};
use crate::store::tasks::totals::{Added, Numbered};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro event;
    table events;
    fn event_values<'a>(id: EventId, owner: Owner, number: i64, event: &'a NewEvent, at: Timestamp);
    columns {
        id: id,
        number: number,
        event_type = "type": event.event_type,
        task_id: event.task,
        data: &event.data,
        created_at: at,
    }
    inserted { account_id: owner.account, environment: owner.environment }
    row Event = Event { id, number, event_type, task: task_id, data, created_at };
}

crate::store::statements! {
    INSERT = event!(insert);
    FORGET_TIME = "UPDATE task_totals SET last_event_at = 0 WHERE account_id = ?1 AND environment = ?2";
    NUMBER_OF = "SELECT number FROM events WHERE id = ?1 AND account_id = ?2 AND environment = ?3";
    ONE = concat!("SELECT ", event!(columns), " FROM events
        WHERE id = ?1 AND account_id = ?2 AND environment = ?3");
    LAST = "SELECT last_event FROM task_totals WHERE account_id = ?1 AND environment = ?2";
    OLDEST = "SELECT number FROM events WHERE account_id = ?1 AND environment = ?2
        ORDER BY number LIMIT 1";
    BEFORE = concat!("SELECT ", event!(columns), " FROM events
        WHERE account_id = ?1 AND environment = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4");
    BEFORE_OF_TYPE = concat!("SELECT ", event!(columns), " FROM events
        WHERE account_id = ?1 AND environment = ?2 AND type = ?5 AND number < ?3
        ORDER BY number DESC LIMIT ?4");
    BEFORE_OF_TASK = concat!("SELECT ", event!(columns), " FROM events
        WHERE task_id = ?5 AND account_id || '' = ?1 AND environment || '' = ?2 AND number < ?3
        ORDER BY number DESC LIMIT ?4");
    AFTER = concat!("SELECT ", event!(columns), " FROM events
        WHERE account_id = ?1 AND environment = ?2 AND number > ?3 ORDER BY number LIMIT ?4");
    PRUNE = "DELETE FROM events WHERE id IN (
            SELECT id FROM events WHERE id < ?1 ORDER BY id LIMIT 500)";
}

/// Which events to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventFilter {
    pub event_type: Option<EventType>,
    pub task: Option<TaskId>,
}

impl Tx<'_> {
    /// Stores events under the numbers that the totals gave them, and their deliveries. Returns the
    /// first number.
    pub(in crate::store) fn write_events(
        &mut self,
        owner: Owner,
        events: &[NewEvent],
        numbered: Numbered,
    ) -> Result<i64, StoreError> {
        let first = numbered.last + 1 - events.len() as i64;
        self.insert_events(owner, events, first, numbered.at)?;
        if !events.is_empty() {
            self.tell_of_events(owner, numbered.at)?;
        }
        Ok(first)
    }

    /// Stores events and their deliveries. `tell_of_events` must follow in the same transaction.
    pub(in crate::store) fn insert_events(
        &mut self,
        owner: Owner,
        events: &[NewEvent],
        first: i64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        for (number, event) in (first..).zip(events) {
            let id = EventId::new(at, &ambient::random_for_id());
            self.defer(INSERT, &event_values(id, owner, number, event, at))?;
            if !self.locked.has_no_endpoint(owner) {
                self.add_delivery(id, owner, number, event, at)?;
            }
        }
        Ok(())
    }

    /// Makes the endpoint due, and wakes those who wait for events.
    pub(in crate::store) fn tell_of_events(
        &mut self,
        owner: Owner,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.locked.has_no_endpoint(owner) {
            self.wake_endpoint(owner, at)?;
        }
        self.to_wake.events.push(owner);
        Ok(())
    }

    /// Stores an event that does not belong to a move of a task.
    pub fn add_event(
        &mut self,
        owner: Owner,
        event: &NewEvent,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let one = Added {
            events: 1,
            ..Added::default()
        };
        let numbered = self.add_to_totals(owner, &one, now)?;
        self.write_events(owner, std::slice::from_ref(event), numbered)
            .map(drop)
    }

    /// Lets events have earlier times again, after a test clock was set back.
    pub fn forget_event_time(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.locked.forget_totals();
        self.defer(FORGET_TIME, &owned_by(owner))
    }

    pub fn event(&mut self, owner: Owner, id: EventId) -> Result<Option<Event>, StoreError> {
        self.optional(ONE, &one(owner, id))
    }

    pub fn event_number(&mut self, owner: Owner, id: EventId) -> Result<Option<i64>, StoreError> {
        self.optional(NUMBER_OF, &one(owner, id))
    }

    /// The number of the newest event; 0 before the first.
    pub fn last_event_number(&mut self, owner: Owner) -> Result<i64, StoreError> {
        let last = self.optional(LAST, &owned_by(owner))?;
        Ok(last.unwrap_or(0))
    }

    /// The number of the oldest event that is still kept.
    pub fn oldest_event_number(&mut self, owner: Owner) -> Result<Option<i64>, StoreError> {
        self.optional(OLDEST, &owned_by(owner))
    }

    /// Up to `limit` events before that number, newest first.
    pub fn events_before(
        &mut self,
        owner: Owner,
        filter: EventFilter,
        before: i64,
        limit: i64,
    ) -> Result<Vec<Event>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([before.into(), limit.into()]);
        match filter {
            EventFilter {
                task: None,
                event_type: None,
            } => self.all(BEFORE, &values),
            EventFilter {
                task: None,
                event_type: Some(event_type),
            } => {
                values.push(event_type.into());
                self.all(BEFORE_OF_TYPE, &values)
            }
            // A task has few events, so those of other types are filtered out afterwards.
            EventFilter {
                task: Some(task),
                event_type,
            } => {
                values[3] = i64::MAX.into();
                values.push(task.into());
                let mut events: Vec<Event> = self.all(BEFORE_OF_TASK, &values)?;
                events.retain(|event| event_type.is_none_or(|wanted| wanted == event.event_type));
                events.truncate(usize::try_from(limit).unwrap_or(0));
                Ok(events)
            }
        }
    }

    /// Up to `limit` events after that number, oldest first.
    pub fn events_after(
        &mut self,
        owner: Owner,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Event>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([after.into(), limit.into()]);
        self.all(AFTER, &values)
    }

    /// Deletes a batch of events from before that time; returns how many. Ids begin with their
    /// time, so the oldest are found by id.
    pub fn prune_events(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let first_kept = EventId::new(before, &[0; 10]);
        self.execute(PRUNE, &[first_kept.into()])
    }
}

fn one(owner: Owner, id: EventId) -> [crate::store::Value<'static>; 3] {
    [id.into(), owner.account.into(), owner.environment.into()]
}
