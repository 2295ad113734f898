//! Where the certificate of the server comes from.

use crate::ambient::Clock;
use crate::cli::block_on;
use crate::domain::Timestamp;
use crate::https::{self, Pair};
use crate::settings::{AcmeSettings, Settings};
use crate::store::{AcmeCertificate, Store, StoreError};

/// What `doctor` says about HTTPS.
pub fn check(settings: &Settings) -> Result<String, String> {
    let now = Clock::system().now();
    if let Some(files) = &settings.https.files {
        let pair = https::read_files(files)?;
        return told(&pair, now);
    }
    match &settings.https.acme {
        Some(acme) => check_acme(settings, acme, now),
        None => Ok("off, the server speaks plain HTTP".to_owned()),
    }
}

fn told(pair: &Pair, now: Timestamp) -> Result<String, String> {
    match pair.warning(now) {
        Some(warning) if pair.days_left(now) == 0 => Err(warning),
        Some(warning) => Ok(warning),
        None => Ok(format!(
            "a certificate for {}, {} days left",
            pair.names.join(", "),
            pair.days_left(now)
        )),
    }
}

/// Reads what the servers have stored, if there is a database.
fn check_acme(settings: &Settings, acme: &AcmeSettings, now: Timestamp) -> Result<String, String> {
    let domains = acme.domains.join(", ");
    let none = format!("no certificate for {domains} yet; the running server orders it");
    if !matches!(Store::lacking_migrations(&settings.database), Ok(0)) {
        return Ok(none);
    }
    let store = Store::open(&settings.database).map_err(|error| error.to_string())?;
    let id = https::acme_id(&acme.directory, &acme.domains);
    let read = block_on(store.read(move |tx| tx.acme_certificate(&id))).map_err(|e| e.0)?;
    let row: Result<Option<AcmeCertificate>, StoreError> = read;
    let Some(row) = row.map_err(|error| error.to_string())? else {
        return Ok(none);
    };
    let state = match &row.chain {
        Some(chain) => {
            let until = https::valid_until(chain.as_bytes()).map_err(|e| e.to_string())?;
            let days = until.since(now).as_secs() / 86_400;
            format!("a certificate for {domains}, {days} days left")
        }
        None => format!("no certificate for {domains}"),
    };
    match row.last_error {
        Some(error) => Err(format!(
            "{state}; the last order failed: {error}; next try at {}",
            row.next_order_at
        )),
        None => Ok(format!("{state}; next order at {}", row.next_order_at)),
    }
}
