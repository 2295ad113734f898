//! Legwork: a marketplace for physical work behind an API.
//!
//! `docs/ARCHITECTURE.md` says which room a line belongs in.

#![forbid(unsafe_code)]

pub mod ambient;
pub mod api;
pub mod cli;
pub mod clockwork;
pub mod domain;
pub mod files;
pub mod jobs;
pub mod mail;
pub mod media;
pub mod objects;
pub mod outbound;
pub mod pages;
mod passwords;
pub mod payments;
pub mod push;
mod seal;
pub mod settings;
pub mod store;
pub mod telemetry;
mod tls;
pub mod usecases;
pub mod webhooks;
