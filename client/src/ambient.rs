//! The machine's clock and randomness.

// A library that is used elsewhere has no clock of the server to take.
#![allow(clippy::disallowed_methods)]

use std::time::SystemTime;

use crate::Error;

/// Unix seconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs().cast_signed())
}

/// 32 hex digits that nobody else has.
pub(crate) fn random_name() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Setup(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// From 0 to 1.
pub(crate) fn random_share() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}
