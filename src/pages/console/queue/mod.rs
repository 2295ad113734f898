//! /admin/queue: what waits for a person's decision.

mod about;
pub mod act;
pub mod item;
pub mod list;
pub mod next;
pub mod split;
