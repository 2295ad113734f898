//! Writes of several transactions in one transaction of the database.

pub mod batch;
pub mod change;
pub mod deferred;
pub mod queues;
pub mod shape;
