//! Payments, the ledger, and events of payment processors.

pub(super) mod charge_dispute;
pub(super) mod outgoing;
pub(super) mod payment;
pub(super) mod payment_method;
pub(super) mod receive_processor_event;
pub(super) mod verify_ledger;

pub use charge_dispute::{charge_standing, refund_offset};
pub use outgoing::{Sent, money_not_sent, money_sent, recorded_movements};
pub use payment::{
    charge_of, payment_cancelled, payment_charged, payment_failed, payment_opened,
    payment_succeeded,
};
pub use payment_method::{put_payment_method, remove_payment_method};
pub use receive_processor_event::{processor_says, receive_processor_event, receive_sandbox_event};
pub use verify_ledger::{LedgerReport, VerifyError, verify_ledger};
