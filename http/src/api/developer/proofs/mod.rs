//! /v1/tasks/{id}/proofs

pub mod evidence;
pub mod list;
pub mod review;
