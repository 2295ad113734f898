//! Prices in whole cents: the platform's fee and the worker's payout.

use crate::domain::Tier;
use crate::domain::string_enum::string_enum;

string_enum!(TaskType {
    Standard = "standard",
    Bounty = "bounty",
});

pub const MIN_BUDGET_CENTS: i64 = 500;
pub const MAX_BUDGET_CENTS: i64 = 99_999_999;

/// The platform's share of a budget, in percent.
pub const fn fee_percent(tier: Tier, task_type: TaskType) -> i64 {
    match (tier, task_type) {
        (Tier::Enterprise, _) => 12,
        (_, TaskType::Standard) => 16,
        (_, TaskType::Bounty) => 20,
    }
}

/// An amount split between platform and worker. Fee and payout always add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    pub fee_cents: i64,
    pub payout_cents: i64,
}

/// Rounds the fee half up to a cent. The worker gets the rest.
pub const fn split(amount_cents: i64, fee_percent: i64) -> Split {
    let fee_cents = (amount_cents * fee_percent + 50) / 100;
    Split {
        fee_cents,
        payout_cents: amount_cents - fee_cents,
    }
}

/// What a move does with the escrowed budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Money {
    Nothing,
    /// The budget enters escrow.
    Escrow,
    /// The developer gets all of the escrow back.
    Refund,
    /// The escrow is paid out: the worker's payout and the platform's fee.
    PayOut,
    /// The developer gets half back, rounded down. The other half is paid out at the task's fee
    /// rate.
    RefundHalf,
    /// An amount is paid out at the task's fee rate. The developer gets the rest back.
    Split {
        paid_cents: i64,
    },
}

/// The amounts that a move puts into escrow or takes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    pub escrow_cents: i64,
    pub refund_cents: i64,
    pub payout_cents: i64,
    pub fee_cents: i64,
}

impl Money {
    pub fn settle(self, budget: i64, fee_percent: i64) -> Settlement {
        let paid = |paid_cents: i64| {
            let split = split(paid_cents, fee_percent);
            Settlement {
                escrow_cents: 0,
                refund_cents: budget - paid_cents,
                payout_cents: split.payout_cents,
                fee_cents: split.fee_cents,
            }
        };
        match self {
            Self::Nothing => Settlement::default(),
            Self::Escrow => Settlement {
                escrow_cents: budget,
                ..Settlement::default()
            },
            Self::Refund => paid(0),
            Self::PayOut => paid(budget),
            Self::RefundHalf => paid(budget - budget / 2),
            Self::Split { paid_cents } => paid(paid_cents),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fee_follows_tier_and_type() {
        assert_eq!(fee_percent(Tier::Free, TaskType::Standard), 16);
        assert_eq!(fee_percent(Tier::Growth, TaskType::Bounty), 20);
        assert_eq!(fee_percent(Tier::Pro, TaskType::Standard), 16);
        assert_eq!(fee_percent(Tier::Enterprise, TaskType::Standard), 12);
        assert_eq!(fee_percent(Tier::Enterprise, TaskType::Bounty), 12);
    }

    #[test]
    fn the_fee_is_rounded_half_up() {
        for (budget, percent, fee) in [
            (5_000, 16, 800),
            (500, 16, 80),
            (503, 16, 80), // 80.48
            (504, 16, 81), // 80.64
            (512, 12, 61), // 61.44
            (525, 12, 63), // 63.00
            (1_025, 20, 205),
            (537, 50, 269), // 268.5
            (MAX_BUDGET_CENTS, 16, 16_000_000),
        ] {
            assert_eq!(
                split(budget, percent).fee_cents,
                fee,
                "{budget} at {percent} %"
            );
        }
    }

    proptest! {
        #[test]
        fn fee_and_payout_add_up(budget in MIN_BUDGET_CENTS..=MAX_BUDGET_CENTS, percent in 0i64..=100) {
            let split = split(budget, percent);
            prop_assert_eq!(split.fee_cents + split.payout_cents, budget);
            prop_assert!(split.fee_cents >= 0 && split.payout_cents >= 0);
            prop_assert!((split.fee_cents * 100 - budget * percent).abs() <= 50);
        }
    }
}
