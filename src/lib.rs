//! Legwork: a marketplace for physical work behind an API.
//!
//! `docs/ARCHITECTURE.md` describes the modules.

#![forbid(unsafe_code)]

pub mod cli;
pub mod https;
pub mod pages;
pub mod settings;
pub mod telemetry;

pub use legwork_core::{
    ambient, archive, bundles, domain, exports, files, jobs, limits, mail, maintenance, media,
    monitoring, outbound, passwords, payments, push, records, scheduler, seal, shutdown, sign_in,
    store, submission, tls, usecases, views, webhooks,
};
pub use legwork_http::{api, mcp};
