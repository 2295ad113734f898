//! Who is asking: addresses, limits for strangers, keys and what they open.

mod addresses;
mod commands;
mod keys;
mod local_mode;
mod strangers;
