//! Who did what, when, to what.

use super::Refusal;
use crate::domain::{By, Timestamp};
use crate::store::Tx;

pub fn audit(
    _tx: &mut Tx<'_>,
    _by: &By,
    _action: &str,
    _subject: &str,
    _subject_id: &str,
    _details: serde_json::Value,
    _now: Timestamp,
) -> Result<(), Refusal> {
    Ok(())
}
