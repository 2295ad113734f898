//! Legwork: a marketplace for physical work behind an API.
//!
//! `docs/ARCHITECTURE.md` describes the modules.

#![forbid(unsafe_code)]

pub mod ambient;
pub mod api;
pub mod archive;
pub mod bundles;
pub mod cli;
pub mod domain;
pub mod exports;
pub mod files;
pub mod https;
pub mod jobs;
pub mod limits;
pub mod mail;
pub mod maintenance;
pub mod mcp;
pub mod media;
pub mod monitoring;
pub mod outbound;
mod ownership;
pub mod pages;
pub mod passwords;
pub mod payments;
pub mod push;
pub mod records;
pub mod scheduler;
pub mod seal;
pub mod settings;
pub mod shutdown;
pub mod sign_in;
pub mod store;
pub mod submission;
pub mod telemetry;
mod tls;
pub mod usecases;
pub mod views;
pub mod webhooks;
