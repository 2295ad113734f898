//! Totals from which coverage is told: workers who can accept tasks, and tasks that were accepted.

use std::collections::BTreeMap;

use crate::domain::geo::{Block, GridSquare, Point, Square};
use crate::domain::quotes::coverage::{AcceptedStep, CountedWorker};
use crate::domain::tasks::{Category, Skill};
use crate::domain::{Task, Timestamp, WorkerId};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro counted;
    table counted_workers;
    fn counted_values<'a>(worker: WorkerId, counted: &'a CountedWorker);
    columns {
        reach_km: counted.reach_km,
        map_row: counted.home.row,
        map_column: counted.home.column,
        skills: &counted.skills,
    }
    inserted { worker_id: worker }
    row CountedWorker = CountedWorker {
        home: GridSquare { row: map_row, column: map_column },
        reach_km,
        skills,
    };
}

columns! {
    macro step;
    columns { hours_up_to, cents_up_to, tasks }
    row AcceptedStep = AcceptedStep { hours_up_to, cents_up_to, tasks };
}

columns! {
    macro walk;
    columns { checked_skills, last_worker }
    row CountWalk = CountWalk { checked_skills, last_worker };
}

crate::store::statements! {
    /// Locks a row that is there: whoever counts the worker waits for this change.
    CHANGED = "INSERT INTO workers_to_count (worker_id, changed_at) VALUES (?1, ?2)
        ON CONFLICT (worker_id) DO UPDATE SET changed_at = excluded.changed_at";
    IDS_AFTER = "SELECT id FROM workers WHERE id > ?1 ORDER BY id LIMIT ?2";
    TO_COUNT = "SELECT worker_id FROM workers_to_count
        WHERE worker_id > '' ORDER BY worker_id LIMIT ?1";
    NO_MORE_TO_COUNT = "DELETE FROM workers_to_count WHERE worker_id = ?1";
    COUNTED = concat!("SELECT ", counted!(columns), " FROM counted_workers WHERE worker_id = ?1");
    COUNT = counted!(insert);
    NOT_COUNTED = "DELETE FROM counted_workers WHERE worker_id = ?1";
    ADD = "INSERT INTO worker_totals (skill, reach_km, map_row, map_column, workers)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (skill, reach_km, map_row, map_column) DO UPDATE
        SET workers = worker_totals.workers + excluded.workers";
    CAN_BE_PAID = "SELECT CAST(1 AS BIGINT) FROM payout_accounts
        WHERE worker_id = ?1 AND status = 'ready' LIMIT 1";
    /// Goes from row to row of the map. In each, the index finds the columns.
    IN_BLOCK = "WITH RECURSIVE place (n) AS (
            SELECT CAST(?3 AS BIGINT)
            UNION ALL
            SELECT n + 1 FROM place WHERE n < ?4)
        SELECT t.map_row, t.map_column, t.workers
        FROM place JOIN worker_totals t ON t.skill = ?1 AND t.reach_km = ?2 AND t.map_row = place.n
            AND t.map_column >= ?5 AND t.map_column <= ?6";
    WALK = concat!("SELECT ", walk!(columns), " FROM worker_count_walk WHERE id = 1");
    SET_WALK = "UPDATE worker_count_walk SET checked_skills = ?1, last_worker = ?2 WHERE id = 1";
    ACCEPTED = "INSERT INTO accept_totals (size, square, category, hours_up_to, cents_up_to, tasks)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (size, square, category, hours_up_to, cents_up_to) DO UPDATE
        SET tasks = accept_totals.tasks + excluded.tasks";
    ACCEPTED_IN = concat!("SELECT ", step!(columns), " FROM accept_totals
        WHERE size = ?1 AND square = ?2 AND category = ?3");
}

/// How far all workers were gone through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountWalk {
    pub checked_skills: String,
    /// None when all were.
    pub last_worker: Option<String>,
}

/// Changes of totals, by skill, reach, row and column.
type Changes = BTreeMap<(&'static str, i64, GridSquare), i64>;

impl Tx<'_> {
    /// Has a worker counted again: in the transaction of every change that may concern it.
    pub(in crate::store) fn worker_changed(
        &mut self,
        worker: WorkerId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(CHANGED, &[worker.into(), now.into()])
    }

    /// Has the next workers counted again. Returns the last of them.
    pub fn mark_workers(
        &mut self,
        after: &str,
        limit: i64,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let ids: Vec<WorkerId> = self.all(IDS_AFTER, &[after.into(), limit.into()])?;
        for id in &ids {
            self.worker_changed(*id, now)?;
        }
        Ok(ids.last().map(WorkerId::to_string))
    }

    /// Up to `limit` workers who have changed, and whom nobody else counts at the moment.
    pub fn workers_to_count(&mut self, limit: i64) -> Result<Vec<WorkerId>, StoreError> {
        self.all_unclaimed(TO_COUNT, &[limit.into()])
    }

    /// Whether a processor would pay the worker.
    pub fn can_be_paid(&mut self, worker: WorkerId) -> Result<bool, StoreError> {
        let ready: Option<i64> = self.optional(CAN_BE_PAID, &[worker.into()])?;
        Ok(ready.is_some())
    }

    /// Counts a worker as this, or not at all, instead of as before.
    pub fn count_worker(
        &mut self,
        worker: WorkerId,
        counted: Option<&CountedWorker>,
    ) -> Result<(), StoreError> {
        self.defer(NO_MORE_TO_COUNT, &[worker.into()])?;
        let before: Option<CountedWorker> = self.optional(COUNTED, &[worker.into()])?;
        if before.as_ref() == counted {
            return Ok(());
        }
        let mut changes = Changes::new();
        if let Some(before) = &before {
            self.defer(NOT_COUNTED, &[worker.into()])?;
            add(&mut changes, before, -1);
        }
        if let Some(counted) = counted {
            self.defer(COUNT, &counted_values(worker, counted))?;
            add(&mut changes, counted, 1);
        }
        for ((skill, reach_km, square), workers) in changes {
            let values = [
                skill.into(),
                reach_km.into(),
                square.row.into(),
                square.column.into(),
                workers.into(),
            ];
            self.defer_sum(ADD, &values, 4..5)?;
        }
        Ok(())
    }

    /// Workers of a skill who go so far, by the squares where they live. Without a skill, all.
    pub fn workers_in_block(
        &mut self,
        skill: Option<Skill>,
        reach_km: i64,
        block: Block,
    ) -> Result<Vec<(GridSquare, i64)>, StoreError> {
        let values = [
            word(skill).into(),
            reach_km.into(),
            block.rows.0.into(),
            block.rows.1.into(),
            block.columns.0.into(),
            block.columns.1.into(),
        ];
        let found: Vec<(i64, i64, i64)> = self.all(IN_BLOCK, &values)?;
        let squares = found.into_iter();
        Ok(squares
            .map(|(row, column, workers)| (GridSquare { row, column }, workers))
            .collect())
    }

    pub fn count_walk(&mut self) -> Result<Option<CountWalk>, StoreError> {
        self.optional(WALK, &[])
    }

    pub fn set_count_walk(&mut self, walk: &CountWalk) -> Result<(), StoreError> {
        let values = [(&walk.checked_skills).into(), (&walk.last_worker).into()];
        self.defer(SET_WALK, &values)
    }

    /// Counts a live task that is being accepted.
    pub fn count_accepted(&mut self, task: &Task, step: AcceptedStep) -> Result<(), StoreError> {
        for size in [Square::District, Square::Region] {
            let values = [
                name(size).into(),
                size.of(task.place().roughly()).into(),
                task.category.into(),
                step.hours_up_to.into(),
                step.cents_up_to.into(),
                step.tasks.into(),
            ];
            self.defer_sum(ACCEPTED, &values, 5..6)?;
        }
        Ok(())
    }

    /// The tasks of a category that were accepted in the square of a place.
    pub fn accepted_around(
        &mut self,
        size: Square,
        place: Point,
        category: Category,
    ) -> Result<Vec<AcceptedStep>, StoreError> {
        let square = size.of(place.roughly());
        let values = [name(size).into(), square.into(), category.into()];
        self.all(ACCEPTED_IN, &values)
    }
}

fn add(changes: &mut Changes, counted: &CountedWorker, by: i64) {
    let skills = counted.skills.iter().copied().map(Some);
    for skill in skills.chain([None]) {
        let place = (word(skill), counted.reach_km, counted.home);
        *changes.entry(place).or_default() += by;
    }
}

fn word(skill: Option<Skill>) -> &'static str {
    skill.map_or("", Skill::as_str)
}

fn name(size: Square) -> &'static str {
    match size {
        Square::District => "district",
        Square::Region => "region",
    }
}
