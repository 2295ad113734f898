//! The other side of the marketplace: workers, their proofs, and who looks at them.

mod checked;
mod coming_in;
mod evidence;
mod finding;
mod helpers;
mod offered;
pub mod proving;
mod reasons;
mod records;
mod scanning;
mod storage;
mod submitting;
mod told;
mod uploads;
mod working;
