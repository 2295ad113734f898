//! Who is told of what: developers through events, people through notifications.

pub(super) mod announce;
pub(super) mod notify;

pub use announce::{BOUNTY_PAGE, announce_bounty, announce_worker};
