//! The libraries for programs: Rust, Python, TypeScript. Each tells the same stories, and all end the same.

mod description;
mod fake;
mod gaps;
mod python;
mod rust;
mod stories;
mod ten_tasks;
mod typescript;
