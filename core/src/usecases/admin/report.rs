//! The monthly report, from the ledger, the tasks and the totals.

use crate::domain::Environment;
use crate::domain::admin::report::{Month, MonthReport};
use crate::store::{StoreError, Tx};

/// Run it in a snapshot, so that all figures are from the same moment.
pub fn month_report(
    tx: &mut Tx<'_>,
    month: Month,
    environment: Environment,
) -> Result<MonthReport, StoreError> {
    let entries = tx.entries_by_day(month, environment)?;
    let tasks = tx.tasks_by_day(month, environment)?;
    let now = tx.standing(environment)?;
    let escrow_at_end_cents = tx.escrow_at_end_of(month, environment, &now)?;
    Ok(MonthReport::new(
        month,
        environment,
        &entries,
        &tasks,
        escrow_at_end_cents,
        now.tasks,
    ))
}
