//! Flags a worker who seems to be the developer of the task. It never stops the work.

use std::net::IpAddr;

use crate::domain::accounts::same_person::{ADDRESS_KEPT, ADDRESS_SECRET, address_mark, mailbox};
use crate::domain::{QueueKind, Task, Timestamp, WorkerId};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::review_queue;

/// Adds an item to the review queue, once for a task, if there are signs. `address` is where the
/// worker's request came from.
pub fn flag_same_person(
    tx: &mut Tx<'_>,
    task: &Task,
    worker: WorkerId,
    address: IpAddr,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (kind, subject) = (QueueKind::SamePerson, task.id.to_string());
    if tx.queue_item_of(kind, &subject)?.is_some() {
        return Ok(());
    }
    let mut signs = Vec::new();
    let emails = (tx.account(task.owner.account)?, tx.worker(worker)?);
    if let (Some(account), Some(worker)) = emails
        && mailbox(&account.email) == mailbox(&worker.email)
    {
        signs.push("the same e-mail address");
    }
    if came_from(tx, task, address, now)? {
        signs.push("the same network address");
    }
    if signs.is_empty() {
        return Ok(());
    }
    let note = format!("Developer and worker have {}.", signs.join(" and "));
    review_queue::add_about_task(tx, kind, task, &note, now)
}

/// Whether a key of the developer was used from this address lately.
fn came_from(
    tx: &mut Tx<'_>,
    task: &Task,
    address: IpAddr,
    now: Timestamp,
) -> Result<bool, StoreError> {
    // Without a secret, no address was ever marked.
    let secret = tx.find_service_secret(ADDRESS_SECRET)?;
    match secret.and_then(|secret| address_mark(&secret, address)) {
        Some(mark) => tx.key_was_used_from(task.owner.account, &mark, now.minus(ADDRESS_KEPT)),
        None => Ok(false),
    }
}
