//! The service as its users meet it: over real sockets, on both databases.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod admin;
mod api;
mod architecture;
mod authorization;
mod backup;
mod batches;
mod bundles;
mod callers;
mod cli;
mod clients;
mod commands;
mod docs;
mod events;
mod files;
mod hanging;
mod https;
mod kills;
mod logs;
mod mandates;
mod mcp;
mod meanwhile;
mod model;
mod money;
mod notifications;
mod openapi;
mod operators;
mod outbound;
mod pages;
mod people;
mod pictures;
mod plans;
mod privacy;
mod quotes;
mod relocation;
mod reports;
mod resumable;
mod retention;
mod second_factor;
mod secrets;
mod serving;
mod store;
mod stripe;
mod suspension;
mod time;
mod upgrades;
mod webhooks;
mod workers;
