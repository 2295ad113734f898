//! README and docs/ as their readers use them: commands are run, tables are held against the code,
//! links lead somewhere.

mod answers;
mod links;
pub mod markdown;
mod running;
mod shell;
mod tables;
