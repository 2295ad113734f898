//! /v1/tasks

pub mod approval;
pub mod batch;
pub mod bundle;
pub mod cancel;
pub mod create;
pub mod creation;
pub mod funding;
pub mod history;
pub mod read;
pub mod search;
pub mod update;
