//! The libraries for programs: Rust, Python, TypeScript. Each tells the same stories, and all end the same.

mod description;
mod fake;
mod rust;
mod stories;
