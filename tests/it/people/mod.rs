//! People: links by mail, sessions, and accounts that they open themselves.

mod links;
mod sessions;
