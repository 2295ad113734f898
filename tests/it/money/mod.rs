//! Money: how it comes in, where it is, how it goes out; whatever fails.

mod crashes;
mod funding;
mod holds;
mod interleavings;
mod jobs;
mod ledger;
mod past_deadlines;
mod paying_out;
mod payment_status;
mod record;
pub mod upgrade;
