//! A dispute, as both sides see it.

use crate::domain::rules::TextRule;
use crate::domain::string_enum::string_enum;
use crate::domain::{Entry, HistoryEntry, Status, Step, TaskLedger, Timestamp};

string_enum!(
    /// How a dispute ended.
    Decision {
        /// The worker gets the payout.
        Pay = "pay",
        /// The developer gets the budget back.
        Refund = "refund",
        /// Each side gets a share.
        Split = "split",
    }
);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    /// The worker's objection to the rejection.
    pub statement: Option<String>,
    pub opened_at: Timestamp,
    /// What the developer says.
    pub developer: Option<DeveloperStatement>,
    /// None while it is open.
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeveloperStatement {
    pub statement: String,
    pub stated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// For a split: what is paid of the budget, the fee included.
    pub paid_cents: Option<i64>,
    pub decided_at: Timestamp,
    /// The admin's reason.
    pub note: Option<String>,
}

impl Dispute {
    /// Reads the dispute from the task's history and ledger, without the developer's statement. `None` if
    /// there was no dispute.
    pub fn of(moves: &[HistoryEntry], ledger: &TaskLedger) -> Option<Self> {
        let opened = moves.iter().find(|made| made.to == Status::Disputed)?;
        let closed = moves
            .iter()
            .find(|made| made.from == Some(Status::Disputed));
        Some(Self {
            statement: opened.reason.clone(),
            opened_at: opened.created_at,
            developer: None,
            verdict: closed.map(|made| Verdict {
                decision: decision(made.to, ledger.entry(Step::Settlement)),
                paid_cents: split(ledger.entry(Step::Settlement)),
                decided_at: made.created_at,
                note: made.reason.clone(),
            }),
        })
    }
}

fn decision(to: Status, settlement: Option<&Entry>) -> Decision {
    let refunded = settlement.is_some_and(|entry| entry.postings.refunds_cents > 0);
    match (to, refunded) {
        (Status::Completed, false) => Decision::Pay,
        (Status::Completed, true) => Decision::Split,
        _ => Decision::Refund,
    }
}

/// What a settlement that also refunds a part has paid.
fn split(settlement: Option<&Entry>) -> Option<i64> {
    let postings = settlement?.postings;
    let (paid, refunded) = (
        postings.worker_cents + postings.fees_cents,
        postings.refunds_cents,
    );
    (paid > 0 && refunded > 0).then_some(paid)
}

/// The worker's share of a split, including the fee, must be more than nothing and less than the
/// budget.
pub fn is_split_of(paid_cents: i64, budget_cents: i64) -> bool {
    (1..budget_cents).contains(&paid_cents)
}

pub const NOTE: TextRule = TextRule::plain(1, 2_000);
pub const STATEMENT: TextRule = TextRule::plain(1, 2_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_leaves_something_for_each_side() {
        assert!(is_split_of(1, 500) && is_split_of(499, 500));
        assert!(!is_split_of(0, 500) && !is_split_of(500, 500) && !is_split_of(-1, 500));
    }
}
