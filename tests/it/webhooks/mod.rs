//! Webhooks, as those who receive them do: with the code of docs/guides/webhooks.md and with the published
//! libraries.

mod document;
mod libraries;
pub mod peers;
mod receiver;
mod snippets;
pub mod vectors;
