//! Disputes of charges: the payer asks the bank to take a payment back. Not to be confused with the
//! dispute of a task, in which a worker contests a rejection.

use crate::domain::string_enum::string_enum;
use crate::domain::{ProcessorName, TaskId, Timestamp};

string_enum!(ChargeDisputeStatus {
    /// The bank asks. The money is still there.
    Inquiry = "inquiry",
    /// The bank has taken the money until it decides.
    Open = "open",
    /// Closed in our favour.
    Won = "won",
    /// The money is gone.
    Lost = "lost",
});

impl ChargeDisputeStatus {
    const fn rank(self) -> u8 {
        match self {
            Self::Inquiry => 0,
            Self::Open => 1,
            Self::Won | Self::Lost => 2,
        }
    }

    /// Whether this is news for a dispute in the known status. Events arrive in any order, and a
    /// dispute never goes back.
    pub const fn follows(self, known: Self) -> bool {
        self.rank() > known.rank()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargeDispute {
    pub processor: ProcessorName,
    /// The processor's id.
    pub id: String,
    pub task: TaskId,
    pub cents: i64,
    pub status: ChargeDisputeStatus,
    /// The processor's code for the reason.
    pub reason: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What the disputes of a task's charge mean for money that is about to go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeStanding {
    Undisputed,
    Inquired,
    Disputed,
    /// So much was charged back.
    ChargedBack {
        cents: i64,
    },
}

impl ChargeStanding {
    /// A lost dispute counts most, a won one not at all.
    pub fn of(disputes: &[ChargeDispute]) -> Self {
        let has = |status| disputes.iter().any(|dispute| dispute.status == status);
        let lost = disputes
            .iter()
            .filter(|dispute| dispute.status == ChargeDisputeStatus::Lost);
        if has(ChargeDisputeStatus::Lost) {
            Self::ChargedBack {
                cents: lost.map(|dispute| dispute.cents).sum(),
            }
        } else if has(ChargeDisputeStatus::Open) {
            Self::Disputed
        } else if has(ChargeDisputeStatus::Inquiry) {
            Self::Inquired
        } else {
            Self::Undisputed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChargeDisputeStatus::{Inquiry, Lost, Open, Won};

    #[test]
    fn a_dispute_never_goes_back() {
        for (from, to) in [
            (Inquiry, vec![Open, Won, Lost]),
            (Open, vec![Won, Lost]),
            (Won, vec![]),
            (Lost, vec![]),
        ] {
            let next: Vec<_> = ChargeDisputeStatus::ALL
                .iter()
                .copied()
                .filter(|status| status.follows(from))
                .collect();
            assert_eq!(next, to, "{from}");
        }
    }

    #[test]
    fn the_worst_dispute_of_a_charge_counts() {
        let dispute = |status| ChargeDispute {
            processor: ProcessorName::Stripe,
            id: "du_1".to_owned(),
            task: TaskId::new(Timestamp::from_millis(1), &[1; 10]),
            cents: 500,
            status,
            reason: "fraudulent".to_owned(),
            created_at: Timestamp::from_millis(1),
            updated_at: Timestamp::from_millis(1),
        };
        for (statuses, expected) in [
            (vec![], ChargeStanding::Undisputed),
            (vec![Won], ChargeStanding::Undisputed),
            (vec![Won, Inquiry], ChargeStanding::Inquired),
            (vec![Inquiry, Open, Won], ChargeStanding::Disputed),
            (vec![Lost, Open], ChargeStanding::ChargedBack { cents: 500 }),
            (
                vec![Lost, Lost],
                ChargeStanding::ChargedBack { cents: 1000 },
            ),
        ] {
            let disputes: Vec<_> = statuses.iter().copied().map(dispute).collect();
            assert_eq!(ChargeStanding::of(&disputes), expected, "{statuses:?}");
        }
    }
}
