//! The owner's side: keys, what they may do, what waits for a yes, what was asked.

pub mod approvals;
pub mod keys;
pub mod logs;
pub mod mandate;
