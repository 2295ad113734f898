//! Money: the ledger and payments.

pub mod ledger;
pub mod payment;
