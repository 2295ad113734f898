//! Legwork for programs: the API, and the tools for agents on it.
//!
//! `docs/ARCHITECTURE.md` describes the modules.

#![forbid(unsafe_code)]

pub mod api;
pub mod mcp;

use legwork_core::{
    ambient, bundles, domain, files, limits, maintenance, media, monitoring, outbound, passwords,
    payments, push, records, scheduler, seal, shutdown, sign_in, store, submission, usecases,
    views, webhooks,
};
