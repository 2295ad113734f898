//! People: links by mail, sessions, and accounts that they open themselves.

mod accounts;
mod commands;
mod keys;
mod links;
mod mails;
mod sessions;
mod signing_in;
mod worker_passwords;
mod workers;
