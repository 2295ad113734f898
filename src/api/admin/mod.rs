//! /v1/admin: those who run the marketplace.

pub mod notices;
pub mod queue;
pub mod workers;
