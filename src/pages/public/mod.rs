//! Pages that need no cookie: the front door, payments and payout accounts of the sandbox, links in mails.

pub mod front;
pub mod links;
pub mod local;
pub mod onboarding;
pub mod pay;
pub mod styleguide;
