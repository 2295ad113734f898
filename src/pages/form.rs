//! Reads the forms of pages: bounded in size and time.

use std::time::Duration;

use axum::body::Body;

const MAX_BYTES: usize = 16 * 1024;
const WITHIN: Duration = Duration::from_secs(20);

/// The field of this name; empty when it is missing.
pub async fn field(body: Body, name: &str) -> Result<String, &'static str> {
    let reading = axum::body::to_bytes(body, MAX_BYTES);
    let Ok(Ok(bytes)) = tokio::time::timeout(WITHIN, reading).await else {
        return Err("The form could not be read. Please try again.");
    };
    let mut fields = form_urlencoded::parse(&bytes);
    let found = fields.find(|(found, _)| found == name);
    Ok(found.map_or_else(String::new, |(_, value)| value.into_owned()))
}
