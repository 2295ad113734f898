//! /v1/worker/tasks

pub mod actions;
pub mod available;
pub mod disputes;
pub mod own;
pub mod proofs;
mod record;
