//! Money: the ledger and payments.

pub mod amount;
pub mod charge_dispute;
pub mod ledger;
pub mod payment;
