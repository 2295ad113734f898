//! The live tasks that workers can accept, by place.

use crate::domain::geo::{CellRange, Point, Square};
use crate::domain::tasks::{Category, Skill, TaskType};
use crate::domain::{Task, TaskId, Timestamp};
use crate::store::{StoreError, Tx, Value, columns};

columns! {
    macro posted;
    table posted_tasks;
    fn posted_values<'a>(task: &'a Task, place: Point);
    columns {
        task_id: task.id,
        bounty: task.task_type == TaskType::Bounty,
        latitude: place.latitude,
        longitude: place.longitude,
        category: task.category,
        required_skills: &task.required_skills,
        payout_cents: task.split().payout_cents,
        posted_at: task.status_since,
    }
    inserted {
        cell: place.cell(),
        district: Square::District.of(place),
        region: Square::Region.of(place),
    }
    parameters { account: task.owner.account }
    row PostedTask = PostedTask {
        id: task_id,
        bounty,
        place: Point { latitude, longitude },
        category,
        required_skills,
        payout_cents,
        posted_at,
    };
}

/// A page of the tasks of a square, ordered by a key, after a given key.
macro_rules! in_square {
    ($square:literal, $key:literal) => {
        concat!(
            "SELECT ",
            posted!(columns),
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
    /// A task of a suspended account stays hidden until the account is restored.
    /// A row that an older program has written gets the rounded place.
    POST = concat!(posted!(into), " SELECT ", posted!(placeholders), "
        FROM accounts WHERE id = ", posted!(account), " AND status = 'active'
        ON CONFLICT (task_id) DO UPDATE SET cell = excluded.cell, district = excluded.district,
            region = excluded.region, latitude = excluded.latitude,
            longitude = excluded.longitude");
    WITHDRAW = "DELETE FROM posted_tasks WHERE task_id = ?1";
    IN_CELLS = concat!("SELECT ", posted!(columns), " FROM posted_tasks
        WHERE bounty = ?1 AND cell >= ?2 AND cell <= ?3 LIMIT ?4");
    /// Goes from place to place: the tasks between are not read.
    PLACES = "WITH RECURSIVE place (cell) AS (
            SELECT MIN(cell) FROM posted_tasks WHERE bounty = ?1 AND cell >= ?2 AND cell <= ?3
            UNION ALL
            SELECT (SELECT MIN(p.cell) FROM posted_tasks p
                WHERE p.bounty = ?1 AND p.cell > place.cell AND p.cell <= ?3)
            FROM place WHERE place.cell IS NOT NULL)
        SELECT cell FROM place WHERE cell IS NOT NULL";
    AT_PLACE = concat!("SELECT ", posted!(columns), " FROM posted_tasks
        WHERE cell = ?1 AND bounty = ?2 AND task_id < ?3 ORDER BY task_id DESC LIMIT ?4");
    DISTRICT_BY_PAYOUT = in_square!("district", "payout_cents");
    DISTRICT_BY_AGE = in_square!("district", "posted_at");
    REGION_BY_PAYOUT = in_square!("region", "payout_cents");
    REGION_BY_AGE = in_square!("region", "posted_at");
}

/// A task that can be accepted, with what is needed to find it.
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

impl PostedTask {
    /// Greater than any id, to read from the start.
    pub const BEFORE_ALL: &str = "g";
}

/// Tasks that are read in an order, the largest key first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostedIn {
    Square(Square, i64, PostedOrder),
    /// All at the same place, by cell. By id alone.
    Place(i64),
}

impl PostedIn {
    pub fn key(self, task: &PostedTask) -> i64 {
        match self {
            Self::Square(_, _, order) => order.key(task),
            Self::Place(_) => i64::MAX,
        }
    }
}

/// An order of the tasks of a square; the largest first.
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
    /// Shows a task to workers, unless its account is suspended. The caller holds the owner's totals, so
    /// the status of the account cannot change meanwhile.
    ///
    /// Only the rounded place is stored: what workers are told before they accept follows from it.
    pub fn post_task(&mut self, task: &Task) -> Result<(), StoreError> {
        self.defer(POST, &posted_values(task, task.place().roughly()))
    }

    pub fn withdraw_task(&mut self, task: TaskId) -> Result<(), StoreError> {
        self.defer(WITHDRAW, &[task.into()])
    }

    /// Up to `limit` tasks of a range of cells, in no order.
    pub fn posted_in_cells(
        &mut self,
        bounty: bool,
        cells: CellRange,
        limit: i64,
    ) -> Result<Vec<PostedTask>, StoreError> {
        let values = [
            bounty.into(),
            cells.first.into(),
            cells.last.into(),
            limit.into(),
        ];
        self.all(IN_CELLS, &values)
    }

    /// The cells of a range that have tasks.
    pub fn places_in_cells(
        &mut self,
        bounty: bool,
        cells: CellRange,
    ) -> Result<Vec<i64>, StoreError> {
        let values = [bounty.into(), cells.first.into(), cells.last.into()];
        self.all(PLACES, &values)
    }

    /// Up to `limit` tasks in their order, after the given key and task.
    pub fn posted_in(
        &mut self,
        of: PostedIn,
        bounty: bool,
        after: &(i64, String),
        limit: i64,
    ) -> Result<Vec<PostedTask>, StoreError> {
        let (square, number, order) = match of {
            PostedIn::Square(square, number, order) => (square, number, order),
            PostedIn::Place(cell) => {
                let values = [cell.into(), bounty.into(), (&after.1).into(), limit.into()];
                return self.all(AT_PLACE, &values);
            }
        };
        let statement = match (square, order) {
            (Square::District, PostedOrder::Payout) => DISTRICT_BY_PAYOUT,
            (Square::District, PostedOrder::Newest) => DISTRICT_BY_AGE,
            (Square::Region, PostedOrder::Payout) => REGION_BY_PAYOUT,
            (Square::Region, PostedOrder::Newest) => REGION_BY_AGE,
        };
        let values: [Value<'_>; 5] = [
            number.into(),
            bounty.into(),
            after.0.into(),
            (&after.1).into(),
            limit.into(),
        ];
        self.all(statement, &values)
    }
}
