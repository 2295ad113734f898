//! A worker searches for tasks near a place: bounties first, then by distance, payout or age.
//!
//! A search knows nothing but the rounded place of a task, so that no series of searches tells more.
//!
//! The cost depends on the page, not on the number of tasks. A circle with few tasks is read as a whole.
//! Otherwise, by distance, the places in ever larger rings are read, nearest first; by payout or age,
//! every square of the map keeps its tasks in that order, and the squares around the place are merged. A
//! search that has to skip many tasks stops after a while, and its cursor goes on from there.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::domain::geo::{Point, Square, cover};
use crate::domain::tasks::{Category, Skill};
use crate::domain::{DeveloperRecord, SearchOrder, Task, TaskId};
use crate::store::{PostedIn, PostedOrder, PostedTask, StoreError, Tx};

/// The first radius of a search by distance among many tasks.
const FIRST_METERS: f64 = 2_000.0;
/// A circle with at most this many tasks is read as a whole.
const FEW: usize = 256;
/// How many tasks of a square or a place are read at first, and at most, at a time.
const AT_FIRST: usize = 8;
const AT_ONCE: usize = 128;
/// A search that has read this many rows stops at the next task.
const BUDGET: usize = 2_000;
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
    /// How the task's developer has dealt with work so far.
    pub record: DeveloperRecord,
    pub distance_meters: f64,
}

#[derive(Clone, Debug)]
pub struct FoundPage {
    /// May be fewer than asked for, or none, although there are more.
    pub found: Vec<Found>,
    /// Where the next page starts. `None` when there are no more.
    pub next: Option<FoundCursor>,
    /// How many rows of posted tasks were read.
    pub rows_read: usize,
}

/// A candidate with its position in the results.
#[derive(Clone, Debug)]
struct Candidate {
    distance_meters: f64,
    cursor: FoundCursor,
}

/// What has been found so far, and at what cost.
struct Scan {
    /// One more than the page holds, to know whether there are more.
    wanted: usize,
    found: Vec<Candidate>,
    /// Rows of tasks. Those of places are apart: a page always gets on among the tasks, however many
    /// places there are.
    rows_read: usize,
    places_read: usize,
    /// The last task that was looked at before the search was stopped.
    stopped: Option<FoundCursor>,
}

impl Scan {
    fn is_over(&self) -> bool {
        self.found.len() >= self.wanted || self.stopped.is_some()
    }

    /// Looks at the next task in order; stops if too much was read.
    fn look_at(&mut self, search: &Search, task: &PostedTask) {
        let candidate = search.candidate(task);
        let cursor = candidate.cursor.clone();
        if search.fits(task, &candidate) {
            self.found.push(candidate);
        }
        if self.rows_read >= BUDGET && self.found.len() < self.wanted {
            self.stopped = Some(cursor);
        }
    }
}

/// A page of tasks.
pub fn find_tasks(tx: &mut Tx<'_>, search: &Search) -> Result<FoundPage, StoreError> {
    let mut scan = Scan {
        wanted: search.limit + 1,
        found: Vec::new(),
        rows_read: 0,
        places_read: 0,
        stopped: None,
    };
    for bounty in [true, false] {
        let after = search.after.as_ref();
        let passed = after.is_some_and(|after| bounty && !after.bounty);
        if !passed && !scan.is_over() {
            find(tx, search, bounty, &mut scan)?;
        }
    }
    let more = scan.found.len() > search.limit;
    scan.found.truncate(search.limit);
    let last = scan.found.last().map(|last| last.cursor.clone());
    let mut found = Vec::with_capacity(scan.found.len());
    for candidate in scan.found {
        if let Some((task, record)) = tx.task_and_record(candidate.cursor.id)? {
            found.push(Found {
                task,
                record,
                distance_meters: candidate.distance_meters,
            });
        }
    }
    Ok(FoundPage {
        found,
        next: if more { last } else { scan.stopped },
        rows_read: scan.rows_read + scan.places_read,
    })
}

fn find(tx: &mut Tx<'_>, search: &Search, bounty: bool, scan: &mut Scan) -> Result<(), StoreError> {
    if all_of_few(tx, search, bounty, scan)? {
        return Ok(());
    }
    match search.order {
        SearchOrder::Distance => nearest(tx, search, bounty, scan),
        SearchOrder::Payout => in_squares(tx, search, (bounty, PostedOrder::Payout), scan),
        SearchOrder::Newest => in_squares(tx, search, (bounty, PostedOrder::Newest), scan),
    }
}

impl Search {
    fn candidate(&self, posted: &PostedTask) -> Candidate {
        // Rows that an older program has written have the exact place.
        let distance_meters = self.center.distance_meters(posted.place.roughly());
        let key = match self.order {
            SearchOrder::Distance => distance_meters,
            SearchOrder::Payout => posted.payout_cents as f64,
            SearchOrder::Newest => posted.posted_at.as_millis() as f64,
        };
        Candidate {
            distance_meters,
            cursor: FoundCursor {
                bounty: posted.bounty,
                key,
                id: posted.id,
            },
        }
    }

    /// Whether a task is what was searched for and comes after the cursor.
    fn fits(&self, posted: &PostedTask, candidate: &Candidate) -> bool {
        let after = self.after.as_ref();
        candidate.distance_meters <= self.radius_meters
            && self.category.is_none_or(|wanted| wanted == posted.category)
            && posted
                .required_skills
                .iter()
                .all(|skill| self.skills.contains(skill))
            && after.is_none_or(|after| self.compare(after, &candidate.cursor) == Ordering::Less)
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

    /// How far the search has come among the bounties, or among the others.
    fn reached(&self, bounty: bool) -> Option<&FoundCursor> {
        self.after.as_ref().filter(|after| after.bounty == bounty)
    }
}

/// Reads the whole circle if there are few tasks in it; otherwise nothing is found, and false is
/// returned.
fn all_of_few(
    tx: &mut Tx<'_>,
    search: &Search,
    bounty: bool,
    scan: &mut Scan,
) -> Result<bool, StoreError> {
    let mut left = FEW;
    let mut found = Vec::new();
    for cells in cover(search.center, search.radius_meters) {
        let posted = tx.posted_in_cells(bounty, cells, left as i64 + 1)?;
        scan.rows_read += posted.len();
        if posted.len() > left {
            return Ok(false);
        }
        left -= posted.len();
        for task in &posted {
            let candidate = search.candidate(task);
            if search.fits(task, &candidate) {
                found.push(candidate);
            }
        }
    }
    found.sort_by(|a, b| search.compare(&a.cursor, &b.cursor));
    found.truncate(scan.wanted - scan.found.len());
    scan.found.extend(found);
    Ok(true)
}

/// The tasks of ever larger rings, place by place. There are only so many places, since each is rounded.
fn nearest(
    tx: &mut Tx<'_>,
    search: &Search,
    bounty: bool,
    scan: &mut Scan,
) -> Result<(), StoreError> {
    let reached = search.reached(bounty).map_or(-1.0, |after| after.key);
    let mut done = reached;
    let mut radius = FIRST_METERS.max(reached * 1.2);
    loop {
        let circle = radius.min(search.radius_meters);
        let mut places = Vec::new();
        for cells in cover(search.center, circle) {
            let found = tx.places_in_cells(bounty, cells)?;
            scan.places_read += found.len();
            places.extend(found.into_iter().map(|cell| {
                let place = Point::of_cell(cell).roughly();
                (search.center.distance_meters(place), cell)
            }));
        }
        // At the distance that was reached, there may be more.
        let first = done == reached;
        places.retain(|(distance, _)| {
            *distance <= circle && (*distance > done || first && *distance == done)
        });
        places.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        for same in places.chunk_by(|(a, _), (b, _)| a == b) {
            let readings = at_places(search, bounty, same);
            merge(tx, search, readings, scan)?;
            if scan.is_over() {
                return Ok(());
            }
        }
        if circle >= search.radius_meters {
            return Ok(());
        }
        done = circle;
        radius *= 2.0;
    }
}

/// Places at the same distance, whose tasks are in one order.
fn at_places(search: &Search, bounty: bool, places: &[(f64, i64)]) -> Vec<Reading> {
    let reading = |(distance, cell): &(f64, i64)| {
        let here = search
            .reached(bounty)
            .filter(|after| after.key == *distance);
        let after = match here {
            Some(after) => (i64::MAX, after.id.to_string()),
            None => (i64::MAX, PostedTask::BEFORE_ALL.to_owned()),
        };
        Reading::new(PostedIn::Place(*cell), bounty, after)
    };
    places.iter().map(reading).collect()
}

/// The squares around the place, in their common order.
fn in_squares(
    tx: &mut Tx<'_>,
    search: &Search,
    (bounty, order): (bool, PostedOrder),
    scan: &mut Scan,
) -> Result<(), StoreError> {
    let size = if search.radius_meters <= DISTRICT_METERS {
        Square::District
    } else {
        Square::Region
    };
    let start = match search.reached(bounty) {
        Some(after) => (after.key as i64, after.id.to_string()),
        None => (i64::MAX, String::new()),
    };
    let squares = size.around(search.center, search.radius_meters);
    let readings = squares
        .into_iter()
        .map(|number| Reading::new(PostedIn::Square(size, number, order), bounty, start.clone()))
        .collect();
    merge(tx, search, readings, scan)
}

/// A square or a place that is read in order, some tasks at a time.
struct Reading {
    of: PostedIn,
    bounty: bool,
    after: (i64, String),
    at_once: usize,
    waiting: VecDeque<PostedTask>,
    exhausted: bool,
}

impl Reading {
    fn new(of: PostedIn, bounty: bool, after: (i64, String)) -> Self {
        Self {
            of,
            bounty,
            after,
            at_once: AT_FIRST,
            waiting: VecDeque::new(),
            exhausted: false,
        }
    }

    fn next<'a>(
        &'a mut self,
        tx: &mut Tx<'_>,
        scan: &mut Scan,
    ) -> Result<Option<&'a PostedTask>, StoreError> {
        if self.waiting.is_empty() && !self.exhausted {
            let page = tx.posted_in(self.of, self.bounty, &self.after, self.at_once as i64)?;
            scan.rows_read += page.len();
            self.exhausted = page.len() < self.at_once;
            self.at_once = AT_ONCE.min(self.at_once * 2);
            if let Some(last) = page.last() {
                self.after = (self.of.key(last), last.id.to_string());
            }
            self.waiting = page.into();
        }
        Ok(self.waiting.front())
    }
}

/// Merges what is read in the same order, until the page is full or the search is stopped.
fn merge(
    tx: &mut Tx<'_>,
    search: &Search,
    mut readings: Vec<Reading>,
    scan: &mut Scan,
) -> Result<(), StoreError> {
    while !scan.is_over() {
        let mut best: Option<(usize, (i64, TaskId))> = None;
        for (index, reading) in readings.iter_mut().enumerate() {
            let of = reading.of;
            if let Some(task) = reading.next(tx, scan)? {
                let key = (of.key(task), task.id);
                if best.is_none_or(|(_, best)| key > best) {
                    best = Some((index, key));
                }
            }
        }
        let Some((index, _)) = best else { break };
        if let Some(task) = readings[index].waiting.pop_front() {
            scan.look_at(search, &task);
        }
    }
    Ok(())
}
