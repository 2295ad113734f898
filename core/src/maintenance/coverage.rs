//! Counts the workers who can accept tasks. A change of a worker leaves a mark, and this follows a second
//! later, so that no change waits for totals that others write.

use crate::domain::quotes::coverage::CountedWorker;
use crate::domain::{CheckedSkills, Timestamp};
use crate::store::{CountWalk, Store, StoreError, Tx};

/// Workers counted in one transaction.
const AT_ONCE: i64 = 20;
/// Workers marked in one transaction.
const MARKED_AT_ONCE: i64 = 500;

/// Counts every worker who has changed. Goes through all of them first if that was never done, or if other
/// skills have to be confirmed since.
pub async fn count_workers(
    store: &Store,
    checked: &CheckedSkills,
    now: Timestamp,
) -> Result<(), StoreError> {
    let walk = store.read(|tx| tx.count_walk()).await?;
    let mut walk = walk.and_then(|walk| to_go(walk, checked));
    while let Some(from) = walk {
        walk = store.write(move |tx| mark(tx, &from, now)).await?;
        count_marked(store, checked).await?;
    }
    count_marked(store, checked).await
}

/// Where to go on, if there is anything left.
fn to_go(walk: CountWalk, checked: &CheckedSkills) -> Option<CountWalk> {
    let checked_skills = checked.to_string();
    let last_worker = match walk.checked_skills == checked_skills {
        true => walk.last_worker,
        false => Some(String::new()),
    };
    last_worker.is_some().then_some(CountWalk {
        checked_skills,
        last_worker,
    })
}

/// Marks the next workers. Returns where they end, or none when there are no more.
fn mark(
    tx: &mut Tx<'_>,
    from: &CountWalk,
    now: Timestamp,
) -> Result<Option<CountWalk>, StoreError> {
    let after = from.last_worker.as_deref().unwrap_or_default();
    let last = tx.mark_workers(after, MARKED_AT_ONCE, now)?;
    let walk = CountWalk {
        last_worker: last,
        ..from.clone()
    };
    tx.set_count_walk(&walk)?;
    Ok(walk.last_worker.is_some().then_some(walk))
}

async fn count_marked(store: &Store, checked: &CheckedSkills) -> Result<(), StoreError> {
    loop {
        let checked = checked.clone();
        let counted = store.write(move |tx| count(tx, &checked)).await?;
        if counted < AT_ONCE as usize {
            return Ok(());
        }
    }
}

fn count(tx: &mut Tx<'_>, checked: &CheckedSkills) -> Result<usize, StoreError> {
    let marked = tx.workers_to_count(AT_ONCE)?;
    for id in &marked {
        // Read after the mark is locked: what changed before is seen, and what changes now waits.
        let worker = tx.worker(*id)?;
        let can_be_paid = tx.can_be_paid(*id)?;
        let counted = worker.and_then(|worker| CountedWorker::of(&worker, can_be_paid, checked));
        tx.count_worker(*id, counted.as_ref())?;
    }
    Ok(marked.len())
}
