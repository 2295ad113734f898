//! What limits count by, and how: attempts, and what is held at once. The counts are in memory.

mod client;
mod limiter;
mod places;
mod sign_in;

pub use client::{Applicant, ClientAddress, Network};
pub use limiter::{Limiter, TooMany};
pub use places::{Place, Places};
pub use sign_in::{Attempt, SignInLimits};
