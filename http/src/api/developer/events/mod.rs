//! /v1/events

pub mod list;
pub mod stream;
