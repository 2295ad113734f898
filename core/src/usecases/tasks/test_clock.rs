//! The clock of a test environment, which can be advanced.

use std::collections::BinaryHeap;
use std::time::Duration;

use crate::domain::{AccountId, Environment, Owner, Status, TaskId, Timestamp, Windows};
use crate::store::Tx;
use crate::usecases::{UseCaseError, transition_by_clock};

const READ_AT_ONCE: i64 = 1_000;

fn test(account: AccountId) -> Owner {
    Owner {
        account,
        environment: Environment::Test,
    }
}

/// Advances the clock of a test environment until it is this far ahead of real time, never back.
/// Pending deliveries of the environment come closer by the same amount.
pub fn advance_test_clock(
    tx: &mut Tx<'_>,
    account: AccountId,
    ahead: Duration,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let by = ahead.saturating_sub(tx.test_clock_to_change(account)?);
    if by > Duration::ZERO {
        tx.set_test_clock(account, ahead)?;
        tx.hasten_test_deliveries(account, by, now)?;
    }
    Ok(())
}

/// Advances the clock to the moment at which something is due for a task, and makes that move.
/// Returns when the next move is due. A due moment may already have passed because the clock was
/// not advanced: no move is dated before the previous move of the task.
pub fn transition_in_test(
    tx: &mut Tx<'_>,
    account: AccountId,
    id: TaskId,
    windows: &Windows,
    at: Timestamp,
    now: Timestamp,
) -> Result<Option<Timestamp>, UseCaseError> {
    let last = tx.task_of(test(account), id)?.map(|task| task.updated_at);
    let at = last.map_or(at, |last| at.max(last));
    advance_test_clock(tx, account, at.since(now), now)?;
    transition_by_clock(tx, id, windows, at)?;
    let task = tx.task_of(test(account), id)?;
    Ok(task.and_then(|task| Some(task.next_by_clock(windows)?.0)))
}

/// The first `most` moves that are due in a test environment, in order: at most one for each open task.
pub fn due_in_test(
    tx: &mut Tx<'_>,
    account: AccountId,
    windows: &Windows,
    most: usize,
) -> Result<Vec<(Timestamp, TaskId)>, UseCaseError> {
    let mut first = BinaryHeap::new();
    for status in Status::ALL.iter().filter(|status| !status.is_final()) {
        let mut after = 0;
        loop {
            let page = tx.waiting_tasks(test(account), *status, after, READ_AT_ONCE)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for task in page {
                if let Some((at, _)) = task.waiting.next_by_clock(windows) {
                    first.push((at, task.id));
                }
                if first.len() > most {
                    // The last of them.
                    first.pop();
                }
            }
        }
    }
    Ok(first.into_sorted_vec())
}

/// Resets the clock to real time. This is allowed only if nothing happened in the future.
pub fn reset_test_clock(
    tx: &mut Tx<'_>,
    account: AccountId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.test_clock_to_change(account)?;
    let open = tx.task_counts(test(account))?.open();
    if open > 0 {
        return Err(UseCaseError::TasksOpen { open });
    }
    tx.set_test_clock(account, Duration::ZERO)?;
    tx.forget_event_time(test(account))?;
    tx.close_quotes_ahead(test(account), now)?;
    Ok(tx.set_spending_back(account, now)?)
}
