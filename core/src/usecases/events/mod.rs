//! Events for developers, and notifications for people.

pub(super) mod announce;
pub(super) mod notify;

pub use announce::{BOUNTY_PAGE, announce_bounty, announce_worker};
