//! Accounts, workers and tasks: search, history, and what an admin may change.

pub mod accounts;
pub mod tasks;
pub mod workers;

use crate::api::inside::{Ask, Refused};
use crate::pages::console::models::{Line, Page};
use crate::pages::console::office::{Office, query};

/// What was done to an object, newest first.
pub async fn history(office: &Office, id: &str) -> Result<Vec<Line>, Refused> {
    let target = query("/v1/admin/audit", [("subject_id", id), ("limit", "20")]);
    let page: Page<Line> = office.ask(Ask::get(target)).await?;
    Ok(page.data)
}

/// Whether somebody searches for an id and not for an address.
pub fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A part of a path.
pub fn part(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
