//! Hire people for physical work from a program: the client of Legwork's API.
//!
//! `examples/first_task.rs` hires somebody and waits for the proof.
//!
//! Requests are tried again where that is safe, see [`Builder::max_retries`]. An answer that refuses is
//! an [`Error::Api`] with its [`ErrorCode`]. Words that this version does not know are kept as
//! `Unknown`, and unknown fields are ignored: a newer server does not break an older program.

#![forbid(unsafe_code)]

mod ambient;
mod error;
mod events;
mod files;
mod http;
mod objects;
mod operations;
mod pages;
mod waiting;
mod webhooks;
mod words;

pub use error::{ApiError, Error};
pub use events::{EventStream, News, StreamOptions};
pub use files::{File, Upload};
pub use http::{Builder, Client, DEFAULT_BASE_URL};
pub use objects::*;
pub use operations::*;
pub use pages::Pages;
pub use webhooks::{Signed, Webhook, WebhookEvent};
pub use words::*;

pub type Result<T> = std::result::Result<T, Error>;
