//! What coverage a task would have, from kept totals. The cost does not follow the number of workers or
//! tasks: at most as many rows are read as there are squares within reach.

use crate::domain::NewTask;
use crate::domain::geo::{GridSquare, Point, Square};
use crate::domain::quotes::coverage::{
    AcceptedTasks, Coverage, REACHES_KM, WorkersNearby, comes, reach_meters,
};
use crate::domain::tasks::Skill;
use crate::store::{StoreError, Tx};

/// The coverage of a live task.
pub fn coverage(tx: &mut Tx<'_>, new: &NewTask) -> Result<Coverage, StoreError> {
    let place = Point {
        latitude: new.location.latitude,
        longitude: new.location.longitude,
    };
    Ok(Coverage {
        workers: WorkersNearby::of(workers(tx, GridSquare::of(place), &new.required_skills)?),
        accepted: accepted(tx, new, place)?,
    })
}

/// Of several skills, the rarest decides: how many have all of them is not kept.
fn workers(tx: &mut Tx<'_>, to: GridSquare, skills: &[Skill]) -> Result<i64, StoreError> {
    if skills.is_empty() {
        return with_skill(tx, to, None);
    }
    let mut fewest = WorkersNearby::ENOUGH;
    for skill in skills {
        fewest = fewest.min(with_skill(tx, to, Some(*skill))?);
        if fewest == 0 {
            break;
        }
    }
    Ok(fewest)
}

/// Stops once it does not matter how many more there are.
fn with_skill(tx: &mut Tx<'_>, to: GridSquare, skill: Option<Skill>) -> Result<i64, StoreError> {
    let mut sum = 0;
    for reach_km in REACHES_KM {
        for block in to.blocks_around(reach_meters(reach_km)) {
            let found = tx.workers_in_block(skill, reach_km, block)?;
            let near = found.iter().filter(|(from, _)| comes(*from, reach_km, to));
            sum += near.map(|(_, workers)| workers).sum::<i64>();
        }
        if sum >= WorkersNearby::ENOUGH {
            break;
        }
    }
    Ok(sum)
}

/// In the district, or in the region if there are too few.
fn accepted(
    tx: &mut Tx<'_>,
    new: &NewTask,
    place: Point,
) -> Result<Option<AcceptedTasks>, StoreError> {
    for size in [Square::District, Square::Region] {
        let steps = tx.accepted_around(size, place, new.category)?;
        if let Some(accepted) = AcceptedTasks::of(&steps) {
            return Ok(Some(accepted));
        }
    }
    Ok(None)
}
