//! Deliveries of an endpoint that are read and not started. However many wait in the database, only some are in memory.

use std::collections::{HashSet, VecDeque};

use crate::domain::{DueDelivery, EventId, TaskId};

/// How few may be left that can start before more are read. Those of a task wait for each other, so others have to be there.
const FEW: usize = 16;
/// How many are kept, whether they can start or not.
const MOST: usize = 512;
/// How many bytes are kept. One delivery always is.
const MOST_BYTES: usize = 1 << 20;

#[derive(Default)]
pub struct Queue {
    waiting: VecDeque<DueDelivery>,
    bytes: usize,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether more should be read. What is kept in half of the room lasts for a while: each read returns it again.
    pub fn is_short(&self, busy: &HashSet<TaskId>) -> bool {
        if self.waiting.len() >= MOST / 2 || self.bytes >= MOST_BYTES / 2 {
            return false;
        }
        let free = self.waiting.iter().filter(|waiting| is_free(waiting, busy));
        free.take(FEW).count() < FEW
    }

    /// Adds what is not known yet, as far as there is room. False if something was left: it is read again, and what comes
    /// after it too, so that the order stays.
    pub fn add(&mut self, due: Vec<DueDelivery>, known: &mut HashSet<EventId>) -> bool {
        for delivery in due {
            if known.contains(&delivery.event) {
                continue;
            }
            let bytes = size(&delivery);
            let is_full = self.waiting.len() >= MOST || self.bytes + bytes > MOST_BYTES;
            if is_full && !self.waiting.is_empty() {
                return false;
            }
            known.insert(delivery.event);
            self.bytes += bytes;
            self.waiting.push_back(delivery);
        }
        true
    }

    /// The first whose task has none in flight.
    pub fn next(&mut self, busy: &HashSet<TaskId>) -> Option<DueDelivery> {
        let place = self.waiting.iter().position(|next| is_free(next, busy))?;
        let next = self.waiting.remove(place)?;
        self.bytes -= size(&next);
        Some(next)
    }

    /// What is dropped is read again if it is still due.
    pub fn clear(&mut self, known: &mut HashSet<EventId>) {
        self.bytes = 0;
        for delivery in self.waiting.drain(..) {
            known.remove(&delivery.event);
        }
    }
}

fn is_free(delivery: &DueDelivery, busy: &HashSet<TaskId>) -> bool {
    delivery.task.is_none_or(|task| !busy.contains(&task))
}

fn size(delivery: &DueDelivery) -> usize {
    delivery.data.len() + delivery.attempts.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Environment, EventType, Timestamp};

    fn delivery(number: u8, task: u8, bytes: usize) -> DueDelivery {
        let at = Timestamp::from_millis(i64::from(number));
        DueDelivery {
            event: EventId::new(at, &[number; 10]),
            event_type: EventType::TaskCreated,
            environment: Environment::Test,
            task: Some(TaskId::new(Timestamp::from_millis(0), &[task; 10])),
            data: "x".repeat(bytes),
            tries: 0,
            attempts: String::new(),
        }
    }

    #[test]
    fn a_long_queue_is_not_read_again_and_large_deliveries_wait_outside() {
        let (mut queue, mut known, none) = (Queue::default(), HashSet::new(), HashSet::new());
        assert!(queue.is_short(&none));
        let large = |number| delivery(number, number, MOST_BYTES / 2);
        assert!(!queue.add((0..4).map(large).collect(), &mut known));
        assert_eq!((queue.waiting.len(), known.len()), (2, 2));
        assert!(!queue.is_short(&none), "there is no room");
        let first = queue.next(&none).unwrap();
        assert_eq!(first.event, large(0).event);
        assert!(!queue.add((0..4).map(large).collect(), &mut known), "again");
        let third = queue.waiting.back().map(|last| last.event);
        assert_eq!(third, Some(large(2).event), "in order, and none twice");
        queue.clear(&mut known);
        assert_eq!((queue.bytes, known.len()), (0, 1), "the one in flight");
        let huge = vec![delivery(9, 9, 2 * MOST_BYTES)];
        assert!(queue.add(huge, &mut known), "one always fits");
    }

    #[test]
    fn deliveries_of_a_busy_task_do_not_keep_others_outside() {
        let (mut queue, mut known) = (Queue::default(), HashSet::new());
        let of_one = |number| delivery(number, 1, 10);
        assert!(queue.add((0..32).map(of_one).collect(), &mut known));
        assert!(!queue.is_short(&HashSet::new()));
        let busy: HashSet<_> = queue
            .next(&HashSet::new())
            .unwrap()
            .task
            .into_iter()
            .collect();
        assert!(queue.is_short(&busy) && queue.next(&busy).is_none());
        assert!(queue.add(vec![delivery(40, 2, 10)], &mut known));
        assert_eq!(queue.next(&busy).unwrap().event, delivery(40, 2, 10).event);
    }
}
