//! The other side of the marketplace: workers, their proofs, and who looks at them.

mod coming_in;
mod evidence;
mod finding;
mod helpers;
pub mod proving;
mod scanning;
mod storage;
mod submitting;
mod uploads;
mod working;
