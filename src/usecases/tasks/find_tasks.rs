//! A worker searches for tasks near a place: bounties first, then by distance, payout or age.
//!
//! The cost depends on the page, not on the number of tasks. By distance, the search grows a circle
//! outwards until the page is full. By payout or age, every square of the map keeps its tasks in
//! that order, and the squares around the place are merged until the page is full.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::domain::geo::{Point, Square, cover};
use crate::domain::tasks::{Category, Skill};
use crate::domain::{SearchOrder, Task, TaskId};
use crate::store::{PostedOrder, PostedTask, StoreError, Tx};

/// The first radius of a search by distance.
const FIRST_METERS: f64 = 60.0;
/// A circle with at most this many tasks is read as a whole.
const FEW: usize = 256;
/// How many tasks of a square are read at a time.
const AT_ONCE: i64 = 8;
/// Up to this radius districts are merged, beyond it regions.
const DISTRICT_METERS: f64 = 40_000.0;

#[derive(Clone, Debug)]
pub struct Search {
    pub center: Point,
    pub radius_meters: f64,
    pub category: Option<Category>,
    /// The worker's skills.
    pub skills: Vec<Skill>,
    pub order: SearchOrder,
    pub after: Option<FoundCursor>,
    pub limit: usize,
}

/// A position in the results.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundCursor {
    pub bounty: bool,
    pub key: f64,
    pub id: TaskId,
}

#[derive(Clone, Debug)]
pub struct Found {
    pub task: Task,
    pub distance_meters: f64,
    pub cursor: FoundCursor,
}

/// A candidate with its position in the results.
#[derive(Clone, Debug)]
struct Candidate {
    id: TaskId,
    distance_meters: f64,
    cursor: FoundCursor,
}

/// A page of tasks, and whether there are more.
pub fn find_tasks(tx: &mut Tx<'_>, search: &Search) -> Result<(Vec<Found>, bool), StoreError> {
    let wanted = search.limit + 1;
    let mut page = Vec::new();
    for bounty in [true, false] {
        let passed = search
            .after
            .as_ref()
            .is_some_and(|after| bounty && !after.bounty);
        if page.len() < wanted && !passed {
            let missing = wanted - page.len();
            page.extend(match search.order {
                SearchOrder::Distance => nearest(tx, search, bounty, missing)?,
                SearchOrder::Payout => merged(tx, search, bounty, PostedOrder::Payout, missing)?,
                SearchOrder::Newest => merged(tx, search, bounty, PostedOrder::Newest, missing)?,
            });
        }
    }
    let more = page.len() > search.limit;
    page.truncate(search.limit);
    let mut found = Vec::with_capacity(page.len());
    for candidate in page {
        if let Some(task) = tx.any_task(candidate.id)? {
            found.push(Found {
                task,
                distance_meters: candidate.distance_meters,
                cursor: candidate.cursor,
            });
        }
    }
    Ok((found, more))
}

impl Search {
    /// Turns a posted task into a candidate if it matches and comes after the cursor.
    fn candidate(&self, posted: &PostedTask) -> Option<Candidate> {
        let distance_meters = self.center.distance_meters(posted.place);
        let fits = distance_meters <= self.radius_meters
            && self.category.is_none_or(|wanted| wanted == posted.category)
            && posted
                .required_skills
                .iter()
                .all(|skill| self.skills.contains(skill));
        let key = match self.order {
            SearchOrder::Distance => distance_meters,
            SearchOrder::Payout => posted.payout_cents as f64,
            SearchOrder::Newest => posted.posted_at.as_millis() as f64,
        };
        let candidate = Candidate {
            id: posted.id,
            distance_meters,
            cursor: FoundCursor {
                bounty: posted.bounty,
                key,
                id: posted.id,
            },
        };
        let follows = self
            .after
            .as_ref()
            .is_none_or(|after| self.compare(after, &candidate.cursor) == Ordering::Less);
        (fits && follows).then_some(candidate)
    }

    /// The order of the results: near before far, large before small.
    fn compare(&self, a: &FoundCursor, b: &FoundCursor) -> Ordering {
        let by_key = match self.order {
            SearchOrder::Distance => a.key.total_cmp(&b.key),
            SearchOrder::Payout | SearchOrder::Newest => b.key.total_cmp(&a.key),
        };
        b.bounty
            .cmp(&a.bounty)
            .then(by_key)
            .then_with(|| b.id.cmp(&a.id))
    }
}

/// The nearest tasks. If there are few, all are read. If there are many, the circle grows until its
/// tasks fill the page.
fn nearest(
    tx: &mut Tx<'_>,
    search: &Search,
    bounty: bool,
    wanted: usize,
) -> Result<Vec<Candidate>, StoreError> {
    let whole = search.radius_meters;
    if let Some(found) = within(tx, search, bounty, whole, FEW)? {
        return Ok(first(search, found, wanted));
    }
    let reached = search.after.as_ref().filter(|after| after.bounty == bounty);
    let reached = reached.map_or(0.0, |after| after.key);
    let mut radius = FIRST_METERS.max(reached * 1.2);
    loop {
        let circle = radius.min(whole);
        let found = within(tx, search, bounty, circle, usize::MAX)?.unwrap_or_default();
        if found.len() >= wanted || circle >= whole {
            return Ok(first(search, found, wanted));
        }
        radius *= 2.0;
    }
}

/// The tasks in a circle, or `None` if there are more than the limit.
fn within(
    tx: &mut Tx<'_>,
    search: &Search,
    bounty: bool,
    radius_meters: f64,
    most: usize,
) -> Result<Option<Vec<Candidate>>, StoreError> {
    let mut read = 0;
    let mut found = Vec::new();
    for cells in cover(search.center, radius_meters) {
        let limit = i64::try_from((most - read).saturating_add(1)).unwrap_or(i64::MAX);
        let posted = tx.posted_in_cells(bounty, cells, limit)?;
        read += posted.len();
        if read > most {
            return Ok(None);
        }
        found.extend(posted.iter().filter_map(|task| search.candidate(task)));
    }
    // Tasks outside the circle may have nearer neighbours that were not read.
    found.retain(|candidate| candidate.distance_meters <= radius_meters);
    Ok(Some(found))
}

fn first(search: &Search, mut found: Vec<Candidate>, wanted: usize) -> Vec<Candidate> {
    found.sort_by(|a, b| search.compare(&a.cursor, &b.cursor));
    found.truncate(wanted);
    found
}

/// A square that is read in order, a few tasks at a time.
struct Reading {
    square: (Square, i64),
    after: (i64, String),
    waiting: VecDeque<PostedTask>,
    exhausted: bool,
}

impl Reading {
    fn next<'a>(
        &'a mut self,
        tx: &mut Tx<'_>,
        bounty: bool,
        order: PostedOrder,
    ) -> Result<Option<&'a PostedTask>, StoreError> {
        if self.waiting.is_empty() && !self.exhausted {
            let page = tx.posted_in_square(self.square, bounty, order, &self.after, AT_ONCE)?;
            self.exhausted = (page.len() as i64) < AT_ONCE;
            if let Some(last) = page.last() {
                self.after = (order.key(last), last.id.to_string());
            }
            self.waiting = page.into();
        }
        Ok(self.waiting.front())
    }
}

/// Merges the squares around the place in their common order.
fn merged(
    tx: &mut Tx<'_>,
    search: &Search,
    bounty: bool,
    order: PostedOrder,
    wanted: usize,
) -> Result<Vec<Candidate>, StoreError> {
    let size = if search.radius_meters <= DISTRICT_METERS {
        Square::District
    } else {
        Square::Region
    };
    let reached = search.after.as_ref().filter(|after| after.bounty == bounty);
    let start = match reached {
        Some(after) => (after.key as i64, after.id.to_string()),
        None => (i64::MAX, String::new()),
    };
    let squares = size.around(search.center, search.radius_meters);
    let mut readings: Vec<_> = squares
        .into_iter()
        .map(|number| Reading {
            square: (size, number),
            after: start.clone(),
            waiting: VecDeque::new(),
            exhausted: false,
        })
        .collect();
    let mut found = Vec::new();
    while found.len() < wanted {
        let mut best: Option<(usize, (i64, TaskId))> = None;
        for (index, reading) in readings.iter_mut().enumerate() {
            if let Some(task) = reading.next(tx, bounty, order)? {
                let key = (order.key(task), task.id);
                if best.is_none_or(|(_, best)| key > best) {
                    best = Some((index, key));
                }
            }
        }
        let Some((index, _)) = best else { break };
        let task = readings[index].waiting.pop_front();
        found.extend(task.and_then(|task| search.candidate(&task)));
    }
    Ok(found)
}
