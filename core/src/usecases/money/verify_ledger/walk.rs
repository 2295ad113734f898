//! Reads the ledger and the payments page by page, in the order of their tasks.

use std::collections::{HashMap, VecDeque};

use crate::domain::{ChargeDispute, Entry, Payment, Step, TaskId};
use crate::store::{StoreError, Tx};

pub(super) const AT_ONCE: i64 = 1_000;

/// Iterates over all ledger entries.
#[derive(Default)]
pub(super) struct Entries {
    page: VecDeque<Entry>,
    after: Option<(TaskId, Step)>,
}

impl Entries {
    fn peek(&mut self, tx: &mut Tx<'_>) -> Result<Option<&Entry>, StoreError> {
        if self.page.is_empty() {
            self.page = tx.entries_after(self.after, AT_ONCE)?.into();
            let last = self.page.back();
            self.after = last.map(|entry| (entry.task, entry.step)).or(self.after);
        }
        Ok(self.page.front())
    }

    pub(super) fn next(&mut self, tx: &mut Tx<'_>) -> Result<Option<Entry>, StoreError> {
        self.peek(tx)?;
        Ok(self.page.pop_front())
    }

    fn take_while(
        &mut self,
        tx: &mut Tx<'_>,
        wanted: impl Fn(TaskId) -> bool,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut taken = Vec::new();
        while self.peek(tx)?.is_some_and(|entry| wanted(entry.task)) {
            taken.extend(self.page.pop_front());
        }
        Ok(taken)
    }

    pub(super) fn before(
        &mut self,
        tx: &mut Tx<'_>,
        task: TaskId,
    ) -> Result<Vec<Entry>, StoreError> {
        self.take_while(tx, |id| id < task)
    }

    pub(super) fn of(&mut self, tx: &mut Tx<'_>, task: TaskId) -> Result<Vec<Entry>, StoreError> {
        self.take_while(tx, |id| id == task)
    }
}

/// Iterates over our payment records, by task.
#[derive(Default)]
pub(super) struct Payments {
    page: VecDeque<Payment>,
    after: Option<TaskId>,
    exhausted: bool,
}

impl Payments {
    pub(super) fn of(
        &mut self,
        tx: &mut Tx<'_>,
        task: TaskId,
    ) -> Result<Option<Payment>, StoreError> {
        loop {
            if self.page.is_empty() && !self.exhausted {
                self.page = tx.payments_after(self.after, AT_ONCE)?.into();
                self.after = self.page.back().map(|payment| payment.task);
                self.exhausted = self.page.is_empty();
            }
            match self.page.front() {
                Some(payment) if payment.task < task => drop(self.page.pop_front()),
                Some(payment) if payment.task == task => return Ok(self.page.pop_front()),
                _ => return Ok(None),
            }
        }
    }
}

/// How much of each task's charge the payers' banks took back.
pub(super) fn lost_by_task(tx: &mut Tx<'_>) -> Result<HashMap<TaskId, i64>, StoreError> {
    let mut lost: HashMap<TaskId, i64> = HashMap::new();
    let mut last: Option<ChargeDispute> = None;
    loop {
        let mut page = tx.lost_disputes_after(last.as_ref(), AT_ONCE)?;
        for dispute in &page {
            *lost.entry(dispute.task).or_default() += dispute.cents;
        }
        last = page.pop();
        if last.is_none() {
            return Ok(lost);
        }
    }
}
