//! The live tasks that workers can take, by place.

use serde_json::Value as Json;

use crate::domain::geo::{CellRange, Point, Square};
use crate::domain::tasks::{Category, Skill, TaskType};
use crate::domain::{Task, TaskId, Timestamp};
use crate::store::{Row, StoreError, Tx, Value, words};

macro_rules! columns {
    () => {
        "task_id, bounty, latitude, longitude, category, required_skills, payout_cents, posted_at"
    };
}

/// A page of a square in one of its orders, after a place in that order.
macro_rules! in_square {
    ($square:literal, $key:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM posted_tasks WHERE ",
            $square,
            " = ?1 AND bounty = ?2 AND (",
            $key,
            ", task_id) < (?3, ?4) ORDER BY ",
            $key,
            " DESC, task_id DESC LIMIT ?5"
        )
    };
}

crate::store::statements! {
    /// What is posted while its account is suspended stays hidden until the account is restored.
    POST = "INSERT INTO posted_tasks (task_id, bounty, cell, district, region, latitude, longitude,
            category, required_skills, payout_cents, posted_at)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
        FROM accounts WHERE id = ?12 AND status = 'active'
        ON CONFLICT (task_id) DO NOTHING";
    WITHDRAW = "DELETE FROM posted_tasks WHERE task_id = ?1";
    IN_CELLS = concat!("SELECT ", columns!(), " FROM posted_tasks
        WHERE bounty = ?1 AND cell >= ?2 AND cell <= ?3 LIMIT ?4");
    DISTRICT_BY_PAYOUT = in_square!("district", "payout_cents");
    DISTRICT_BY_AGE = in_square!("district", "posted_at");
    REGION_BY_PAYOUT = in_square!("region", "payout_cents");
    REGION_BY_AGE = in_square!("region", "posted_at");
}

/// A task that can be taken, as far as it matters for finding it.
#[derive(Clone, Debug)]
pub struct PostedTask {
    pub id: TaskId,
    pub bounty: bool,
    pub place: Point,
    pub category: Category,
    pub required_skills: Vec<Skill>,
    pub payout_cents: i64,
    pub posted_at: Timestamp,
}

/// An order in which the tasks of a square are kept; the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostedOrder {
    Payout,
    Newest,
}

impl PostedOrder {
    pub fn key(self, task: &PostedTask) -> i64 {
        match self {
            Self::Payout => task.payout_cents,
            Self::Newest => task.posted_at.as_millis(),
        }
    }
}

impl Tx<'_> {
    /// Shows a task to workers, unless its account is suspended. The totals of its owner must be held:
    /// the status of the account does not change meanwhile.
    pub fn post_task(&mut self, task: &Task) -> Result<(), StoreError> {
        let place = task.place();
        let skills: Vec<_> = task.required_skills.iter().map(|s| s.as_str()).collect();
        self.defer(
            POST,
            &[
                task.id.to_string().into(),
                i64::from(task.task_type == TaskType::Bounty).into(),
                place.cell().into(),
                Square::District.of(place).into(),
                Square::Region.of(place).into(),
                place.latitude.into(),
                place.longitude.into(),
                task.category.as_str().into(),
                Json::from(skills).to_string().into(),
                task.split().payout_cents.into(),
                task.status_since.into(),
                task.owner.account.to_string().into(),
            ],
        )
    }

    pub fn withdraw_task(&mut self, task: TaskId) -> Result<(), StoreError> {
        self.defer(WITHDRAW, &[task.to_string().into()])
    }

    /// Up to `limit` tasks of a range of cells, in no order.
    pub fn posted_in_cells(
        &mut self,
        bounty: bool,
        cells: CellRange,
        limit: i64,
    ) -> Result<Vec<PostedTask>, StoreError> {
        let values = [
            i64::from(bounty).into(),
            cells.first.into(),
            cells.last.into(),
            limit.into(),
        ];
        self.all(IN_CELLS, &values, read)
    }

    /// Up to `limit` tasks of a square in an order, after the given key and task.
    pub fn posted_in_square(
        &mut self,
        (square, number): (Square, i64),
        bounty: bool,
        order: PostedOrder,
        after: &(i64, String),
        limit: i64,
    ) -> Result<Vec<PostedTask>, StoreError> {
        let statement = match (square, order) {
            (Square::District, PostedOrder::Payout) => DISTRICT_BY_PAYOUT,
            (Square::District, PostedOrder::Newest) => DISTRICT_BY_AGE,
            (Square::Region, PostedOrder::Payout) => REGION_BY_PAYOUT,
            (Square::Region, PostedOrder::Newest) => REGION_BY_AGE,
        };
        let values: [Value<'_>; 5] = [
            number.into(),
            i64::from(bounty).into(),
            after.0.into(),
            (&after.1).into(),
            limit.into(),
        ];
        self.all(statement, &values, read)
    }
}

fn read(row: &Row<'_>) -> Result<PostedTask, StoreError> {
    Ok(PostedTask {
        id: row.parse(0, TaskId::parse)?,
        bounty: row.get::<i64>(1)? != 0,
        place: Point {
            latitude: row.get(2)?,
            longitude: row.get(3)?,
        },
        category: row.parse(4, Category::parse)?,
        required_skills: row.parse(5, |text| words(text, Skill::parse))?,
        payout_cents: row.get(6)?,
        posted_at: row.get(7)?,
    })
}
