//! /v1/worker/tasks

pub mod actions;
pub mod available;
pub mod own;
mod record;
