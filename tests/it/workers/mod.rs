//! The other side of the marketplace: workers, their proofs, and who looks at them.

mod checked;
mod coming_in;
mod finding;
mod helpers;
mod offered;
pub mod proofs;
mod reasons;
mod records;
mod scanning;
mod told;
mod working;
