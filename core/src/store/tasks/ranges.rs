//! How many tasks of an owner are in a status, by ranges of their numbers. They find a page deep in a
//! filtered list without going through what is before it.
//!
//! They are not part of a move: that would be two more rows in every one. They stand as of an event of
//! the owner, `last_event` of their head. The background brings them forward by the moves since, and a
//! reader adds those that are not in yet.

use std::collections::{BTreeMap, HashMap};

use crate::domain::{AccountId, Environment, Owner, Status};
use crate::store::{StoreError, Tx, owned_by};

/// The tasks in a range of level 0. The statements say the same number.
const NARROWEST: i64 = 1_024;
/// A range holds this many of the level below.
const FANOUT: i64 = 64;
/// Enough for a quarter of a billion tasks in each range of the last.
const LEVELS: u32 = 4;

/// An owner's tasks are counted by ranges once there are this many.
const COUNTED_FROM: i64 = 4_096;
/// A page before this is found by skipping.
const SKIPPED: i64 = 2 * NARROWEST;
/// Events that are worked in at a time, so that nobody waits long for it.
const AT_ONCE: i64 = 1_000;
/// A reader who would have to add more events skips instead.
const MOST_TO_ADD: i64 = 20_000;
/// Before the first event: the ranges are not there yet.
const UNCOUNTED: i64 = -1;

crate::store::statements! {
    REGISTER = "INSERT INTO task_range_heads (account_id, environment, last_event)
        VALUES (?1, ?2, -1) ON CONFLICT (account_id, environment) DO NOTHING";
    HEADS = "SELECT account_id, environment FROM task_range_heads
        WHERE (account_id, environment) > (?1, ?2) ORDER BY account_id, environment LIMIT ?3";
    HEAD = "SELECT last_event FROM task_range_heads WHERE account_id = ?1 AND environment = ?2";
    SET_HEAD = "UPDATE task_range_heads SET last_event = ?3
        WHERE account_id = ?1 AND environment = ?2";
    /// A move has the number of its first event.
    MOVES = "SELECT t.number - t.number % 1024, m.from_status, m.to_status, COUNT(*)
        FROM events e JOIN task_moves m ON m.task_id = e.task_id AND m.number = e.number
            JOIN tasks t ON t.id = e.task_id
        WHERE e.account_id = ?1 AND e.environment = ?2 AND e.number > ?3 AND e.number <= ?4
        GROUP BY 1, 2, 3";
    COUNT = "SELECT number - number % 1024, status, COUNT(*) FROM tasks
        WHERE account_id = ?1 AND environment = ?2 GROUP BY 1, 2";
    RANGES = "SELECT first, tasks FROM task_ranges WHERE account_id = ?1 AND environment = ?2
            AND status = ?3 AND level = ?4 AND first >= ?5 AND first <= ?6
        ORDER BY first DESC";
    ADD = "INSERT INTO task_ranges (account_id, environment, status, level, first, tasks)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (account_id, environment, status, level, first) DO UPDATE
        SET tasks = task_ranges.tasks + excluded.tasks";
    CLEAR = "DELETE FROM task_ranges WHERE account_id = ?1 AND environment = ?2";
}

/// Tasks to add to a range: its status, level and first number.
type Changes = HashMap<(Status, u32, i64), i64>;

/// A consistent count of an owner's tasks, to be stored.
#[derive(Clone, Debug)]
pub struct CountedTasks {
    last_event: i64,
    /// First number of a narrow range, status, tasks.
    counts: Vec<(i64, Status, i64)>,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct PageStart {
    /// The tasks with this number and lower ones are left.
    pub number: i64,
    /// How many of those with the status to skip.
    pub skip: i64,
}

impl Tx<'_> {
    /// Called with every new task.
    pub(in crate::store) fn count_in_ranges(
        &mut self,
        owner: Owner,
        number: i64,
    ) -> Result<(), StoreError> {
        if number % COUNTED_FROM != 0 {
            return Ok(());
        }
        self.defer(REGISTER, &owned_by(owner))
    }

    /// Up to `limit` owners whose tasks are counted by ranges, after the given one.
    pub fn owners_with_ranges(
        &mut self,
        after: Option<Owner>,
        limit: i64,
    ) -> Result<Vec<Owner>, StoreError> {
        let mut values = match after {
            Some(owner) => owned_by(owner),
            None => vec!["".into(), "".into()],
        };
        values.push(limit.into());
        let owners: Vec<(AccountId, Environment)> = self.all(HEADS, &values)?;
        let owner = |(account, environment)| Owner {
            account,
            environment,
        };
        Ok(owners.into_iter().map(owner).collect())
    }

    /// Whether the ranges of an owner have to be counted anew: they are not there yet, or events that
    /// they lack are gone.
    pub fn ranges_are_missing(&mut self, owner: Owner) -> Result<bool, StoreError> {
        let Some(head) = self.optional::<i64>(HEAD, &owned_by(owner))? else {
            return Ok(false);
        };
        Ok(head == UNCOUNTED || !self.events_follow(owner, head)?)
    }

    /// Counts all tasks of an owner. In a snapshot: the last event and the tasks must agree.
    pub fn count_all_tasks(&mut self, owner: Owner) -> Result<CountedTasks, StoreError> {
        Ok(CountedTasks {
            last_event: self.last_event_number(owner)?,
            counts: self.all(COUNT, &owned_by(owner))?,
        })
    }

    /// Stores a count, unless another process was faster.
    pub fn store_ranges(&mut self, owner: Owner, counted: &CountedTasks) -> Result<(), StoreError> {
        let head = self.optional_locked::<i64>(HEAD, &owned_by(owner))?;
        if head.is_none_or(|head| head >= counted.last_event) {
            return Ok(());
        }
        self.execute(CLEAR, &owned_by(owner))?;
        let mut changes = Changes::new();
        for (first, status, tasks) in &counted.counts {
            change(&mut changes, *status, *first, *tasks);
        }
        self.change_ranges(owner, changes, counted.last_event)
    }

    /// Works in the next events of an owner. True when there are more.
    pub fn advance_ranges(&mut self, owner: Owner) -> Result<bool, StoreError> {
        let Some(head) = self.optional_locked::<i64>(HEAD, &owned_by(owner))? else {
            return Ok(false);
        };
        let last = self.last_event_number(owner)?;
        if head == UNCOUNTED || head >= last || !self.events_follow(owner, head)? {
            return Ok(false);
        }
        let until = last.min(head + AT_ONCE);
        let mut changes = Changes::new();
        for moved in self.moves_between(owner, head, until)? {
            if let Some(from) = moved.from {
                change(&mut changes, from, moved.first, -moved.tasks);
            }
            change(&mut changes, moved.to, moved.first, moved.tasks);
        }
        self.change_ranges(owner, changes, until)?;
        Ok(until < last)
    }

    fn change_ranges(
        &mut self,
        owner: Owner,
        changes: Changes,
        last_event: i64,
    ) -> Result<(), StoreError> {
        for ((status, level, first), tasks) in changes.into_iter().filter(|(_, tasks)| *tasks != 0)
        {
            let mut values = owned_by(owner);
            let level = i64::from(level);
            values.extend([status.into(), level.into(), first.into(), tasks.into()]);
            self.defer(ADD, &values)?;
        }
        let mut values = owned_by(owner);
        values.push(last_event.into());
        self.execute_one(SET_HEAD, &values)
    }

    /// Whether all events after that one are still kept.
    fn events_follow(&mut self, owner: Owner, last_event: i64) -> Result<bool, StoreError> {
        if self.last_event_number(owner)? <= last_event {
            return Ok(true);
        }
        let oldest = self.oldest_event_number(owner)?;
        Ok(oldest.is_some_and(|oldest| oldest <= last_event + 1))
    }

    fn moves_between(
        &mut self,
        owner: Owner,
        after: i64,
        until: i64,
    ) -> Result<Vec<MovedTasks>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([after.into(), until.into()]);
        type Moves = ((i64, Option<Status>), (Status, i64));
        let moves = self.all::<Moves>(MOVES, &values)?;
        let moved = |((first, from), (to, tasks))| MovedTasks {
            first,
            from,
            to,
            tasks,
        };
        Ok(moves.into_iter().map(moved).collect())
    }

    /// Where the page after so many tasks in a status begins, newest first. In a snapshot.
    pub(in crate::store) fn page_start(
        &mut self,
        owner: Owner,
        status: Status,
        offset: i64,
    ) -> Result<PageStart, StoreError> {
        let skipping = PageStart {
            number: i64::MAX,
            skip: offset,
        };
        if offset < SKIPPED {
            return Ok(skipping);
        }
        let Some(lacking) = self.lacking_changes(owner, status)? else {
            return Ok(skipping);
        };
        let mut left = offset;
        let (mut first, mut last) = (0, i64::MAX);
        for level in (0..LEVELS).rev() {
            let counts = self.counts_of((owner, status), level, (first, last), &lacking)?;
            let found = counts.into_iter().rev().find(|(_, tasks)| {
                let here = left < *tasks;
                left -= if here { 0 } else { *tasks };
                here
            });
            // Beyond the last task.
            let Some((found, _)) = found else {
                return Ok(skipping);
            };
            (first, last) = (found, found + size(level) - 1);
        }
        Ok(PageStart {
            number: last,
            skip: left,
        })
    }

    /// What the ranges of a status lack, by narrow range. None when that is too much, or unknown.
    fn lacking_changes(
        &mut self,
        owner: Owner,
        status: Status,
    ) -> Result<Option<BTreeMap<i64, i64>>, StoreError> {
        let head = self.optional::<i64>(HEAD, &owned_by(owner))?;
        let Some(head) = head.filter(|head| *head != UNCOUNTED) else {
            return Ok(None);
        };
        let last = self.last_event_number(owner)?;
        if last - head > MOST_TO_ADD || !self.events_follow(owner, head)? {
            return Ok(None);
        }
        let mut lacking = BTreeMap::new();
        for moved in self.moves_between(owner, head, last)? {
            let change = i64::from(moved.to == status) - i64::from(moved.from == Some(status));
            *lacking.entry(moved.first).or_default() += change * moved.tasks;
        }
        Ok(Some(lacking))
    }

    /// The tasks in each range of a level, within a range of the level above.
    fn counts_of(
        &mut self,
        (owner, status): (Owner, Status),
        level: u32,
        (first, last): (i64, i64),
        lacking: &BTreeMap<i64, i64>,
    ) -> Result<BTreeMap<i64, i64>, StoreError> {
        let mut values = owned_by(owner);
        let of_level = i64::from(level);
        values.extend([status.into(), of_level.into(), first.into(), last.into()]);
        let mut counts: BTreeMap<i64, i64> = self.all(RANGES, &values)?.into_iter().collect();
        for (narrow, tasks) in lacking.range(first..=last) {
            *counts.entry(narrow - narrow % size(level)).or_default() += tasks;
        }
        Ok(counts)
    }
}

/// Tasks of a narrow range that moved from one status to another.
struct MovedTasks {
    first: i64,
    /// None for new tasks.
    from: Option<Status>,
    to: Status,
    tasks: i64,
}

/// Adds tasks to a narrow range and to those above it.
fn change(changes: &mut Changes, status: Status, narrow: i64, tasks: i64) {
    for level in 0..LEVELS {
        let first = narrow - narrow % size(level);
        *changes.entry((status, level, first)).or_default() += tasks;
    }
}

const fn size(level: u32) -> i64 {
    NARROWEST * FANOUT.pow(level)
}
