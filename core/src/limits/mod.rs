//! What limits of attempts count by, and how. The counts are in memory.

mod client;
mod limiter;
mod sign_in;

pub use client::{Applicant, ClientAddress, Network};
pub use limiter::{Limiter, TooMany};
pub use sign_in::{Attempt, SignInLimits};
