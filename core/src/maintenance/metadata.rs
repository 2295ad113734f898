//! Indexes the metadata of tasks that were created before there was an index, or by an older program.

use std::time::Duration;

use crate::domain::Timestamp;
use crate::store::{MetadataBackfill, Store, StoreError};

const AT_ONCE: usize = 200;
/// By then the last server is upgraded.
const AGAIN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// How far the index has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// There are more tasks.
    Some,
    /// All tasks are indexed. They are looked through again later.
    ForNow,
    All,
}

/// Indexes the next tasks.
pub async fn index_metadata(store: &Store, now: Timestamp) -> Result<Indexed, StoreError> {
    let Some(progress) = store.read(|tx| tx.metadata_backfill()).await? else {
        return Ok(Indexed::All);
    };
    if progress.again_at.is_some_and(|at| now < at) {
        return Ok(Indexed::ForNow);
    }
    let after = progress.last_task;
    let page = store.snapshot(move |tx| tx.tasks_to_index(&after, AT_ONCE as i64));
    let page = page.await?;
    let Some(last) = page.last() else {
        let is_last = progress.again_at.is_some();
        let end = store.write(move |tx| match is_last {
            true => tx.end_metadata_backfill(),
            false => tx.repeat_metadata_backfill(now.plus(AGAIN_AFTER)),
        });
        end.await?;
        return Ok(if is_last {
            Indexed::All
        } else {
            Indexed::ForNow
        });
    };
    let next = MetadataBackfill {
        last_task: last.id.to_string(),
        again_at: progress.again_at,
    };
    let index = store.write(move |tx| tx.index_older_tasks(&page, &next));
    index.await?;
    Ok(Indexed::Some)
}
