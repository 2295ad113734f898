//! Legwork without HTTP: its rules, its database, what it does, and when.
//!
//! `docs/ARCHITECTURE.md` describes the modules.

#![forbid(unsafe_code)]

pub mod ambient;
pub mod archive;
pub mod bundles;
pub mod domain;
pub mod exports;
pub mod files;
pub mod jobs;
pub mod limits;
pub mod mail;
pub mod maintenance;
pub mod media;
pub mod monitoring;
pub mod outbound;
pub mod ownership;
pub mod passwords;
pub mod payments;
pub mod push;
pub mod records;
pub mod scheduler;
pub mod seal;
pub mod shutdown;
pub mod sign_in;
pub mod store;
pub mod submission;
pub mod tls;
pub mod usecases;
pub mod views;
pub mod webhooks;
