//! Pages that need no cookie: the front door, the reference of the API, payments and payout accounts of the sandbox, links in mails.

pub mod front;
pub mod links;
pub mod local;
pub mod onboarding;
pub mod pay;
pub mod reference;
pub mod styleguide;
