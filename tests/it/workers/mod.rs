//! The other side of the marketplace: workers, their proofs, and who looks at them.

mod coming_in;
mod evidence;
mod finding;
mod helpers;
mod proving;
mod scanning;
mod working;
