//! Money: the ledger, payments, and the tables of the sandbox.

pub(super) mod charge_disputes;
pub(super) mod ledger;
pub(super) mod outgoing_movements;
pub(super) mod payment_methods;
pub(super) mod payments;
pub(super) mod processor_events;
pub(super) mod sandbox;
