//! What `legwork doctor` asks of others: file storage, the database server, the mail server and the
//! payment processor. It waits for nobody for long, and sends no mail and moves no money.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::ambient::{self, Clock};
use crate::cli::{block_on, environment};
use crate::files::{FileKey, Files, FilesError, Prefix};
use crate::mail::Mailer;
use crate::maintenance::files_are_ours;
use crate::payments::{Stripe, StripeSettings};
use crate::settings::{PaymentSettings, Settings};
use crate::store::{DatabaseServer, Store};

const PATIENCE: Duration = Duration::from_secs(10);
/// Beyond this, timestamps that servers compare are wrong.
const MAX_SKEW: Duration = Duration::from_secs(2);

type Found = Result<String, String>;

/// Waits for an answer, but not long.
fn in_time<T>(asking: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let waited = block_on(async { timeout(PATIENCE, asking).await });
    let answered = waited.map_err(|error| error.to_string())?;
    answered.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?
}

/// Stores a small file, reads it and deletes it.
pub fn files(settings: &Settings) -> Found {
    // Opened outside of the runtime: it has its own. Without a database nothing is known about the files.
    let is_current = matches!(Store::lacking_migrations(&settings.database), Ok(0));
    let store = is_current.then(|| Store::open(&settings.database).ok());
    let store = store.flatten();
    in_time(async {
        let incoming = settings.data.join("incoming");
        let files = Files::open(&settings.files, &incoming, "", [0; 32], environment())?;
        let stored = store_probe(&files).await;
        stored.map_err(|error| error.to_string())?;
        if !are_ours(store.as_ref(), &files).await? {
            return Err(
                "they belong to another database, or this one was restored: files that it does not know \
                 are not deleted. If no other server uses them, delete the file `owner` there"
                    .to_owned(),
            );
        }
        Ok("a file was stored, read and deleted".to_owned())
    })
}

async fn are_ours(store: Option<&Store>, files: &Files) -> Result<bool, String> {
    let Some(store) = store else {
        return Ok(true);
    };
    let ours = files_are_ours(store, files).await;
    ours.map_err(|error| error.to_string())
}

async fn store_probe(files: &Files) -> Result<(), FilesError> {
    let now = Clock::system().now();
    // If it is left behind, the hourly sweep deletes it like every file that no record names.
    let moment = u128::try_from(now.as_millis()).unwrap_or(0) << 80;
    let chance = u128::from(u64::from_le_bytes(ambient::random()));
    let key = FileKey::new(Prefix::Proofs, moment | chance);
    let probe = Bytes::from_static(b"legwork doctor");
    files.put(key, probe.clone(), "text/plain", now).await?;
    let read = read_back(files, key, probe.len() as u64).await;
    files.delete(key).await?;
    if read? == probe {
        Ok(())
    } else {
        let reason = "a file reads differently from what was stored";
        Err(FilesError::Unavailable(reason.to_owned()))
    }
}

async fn read_back(files: &Files, key: FileKey, size: u64) -> Result<Vec<u8>, FilesError> {
    let mut stream = files.read(key, 0..size).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(bytes)
}

/// Only for PostgreSQL: whether the server has room for our connections, and tells the same time.
pub fn database_server(settings: &Settings) -> Option<[(&'static str, Found); 2]> {
    let clock = Clock::system();
    let before = clock.now();
    let server = match Store::database_server(&settings.database, before) {
        Ok(server) => server?,
        Err(error) => {
            let reason = error.to_string();
            return Some([
                ("database connections", Err(reason.clone())),
                ("clock", Err(reason)),
            ]);
        }
    };
    let round_trip = clock.now().since(before);
    let here = before.plus(round_trip / 2);
    let skew = here.since(server.now).max(server.now.since(here));
    Some([
        ("database connections", connections(&server)),
        ("clock", same_time(skew.saturating_sub(round_trip))),
    ])
}

fn connections(server: &DatabaseServer) -> Found {
    let servers = server.servers.max(1);
    let (each, allowed) = (server.configured, server.max_connections);
    let needed = each * servers;
    let told = format!(
        "{servers} x {each} (LEGWORK_DATABASE_CONNECTIONS) of {allowed} that PostgreSQL has for us \
         (max_connections); {} are in use now",
        server.in_use
    );
    if needed <= allowed {
        Ok(told)
    } else {
        Err(format!("{told}; allow more, or configure fewer"))
    }
}

fn same_time(skew: Duration) -> Found {
    let seconds = skew.as_secs_f64();
    if skew <= MAX_SKEW {
        Ok(format!(
            "{seconds:.1} s from that of the database server or less"
        ))
    } else {
        Err(format!(
            "{seconds:.1} s from that of the database server; keep both in step with NTP"
        ))
    }
}

/// Connects and signs in, as if to send a mail.
pub fn mail(settings: &Settings) -> Found {
    let Some(mail) = &settings.mail else {
        return Ok("none (LEGWORK_SMTP_URL); notifications stay in the database".to_owned());
    };
    in_time(async {
        let mailer = Mailer::open(&mail.smtp_url, &mail.from)?;
        let reached = mailer.check().await;
        reached.map_err(|error| error.to_string())?;
        Ok("the mail server lets us in".to_owned())
    })
}

/// Asks for a list, which needs the same permission as payments do.
pub fn payments(settings: &Settings) -> Found {
    settings.check_processor()?;
    let PaymentSettings::Stripe {
        key,
        webhook_secret,
        url,
    } = &settings.payments
    else {
        return Ok("sandbox: nobody to reach".to_owned());
    };
    in_time(async {
        let stripe = Stripe::new(StripeSettings {
            key: key.clone(),
            webhook_secret: webhook_secret.clone(),
            base_url: url.clone(),
            return_url: String::new(),
        })?;
        let reached = stripe.check().await;
        reached.map_err(|error| error.to_string())?;
        Ok("Stripe answers and takes the key".to_owned())
    })
}

/// A server on a loopback address with a public URL is behind a proxy. Unless that one is trusted,
/// everybody seems to come from it.
pub fn proxies(settings: &Settings) -> Option<String> {
    let behind_a_proxy = settings.public_url.is_some() && is_loopback(settings.listen);
    let trusts_none = settings.edge.trusted_proxies.is_empty();
    (behind_a_proxy && !settings.is_local() && trusts_none).then(|| {
        let address = settings.listen.ip();
        format!(
            "LEGWORK_TRUSTED_PROXIES is not set. If a proxy on this machine forwards requests, set it \
             to {address}. Otherwise all clients share one limit, and the log names the proxy"
        )
    })
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn server(max_connections: i64, servers: i64) -> DatabaseServer {
        DatabaseServer {
            configured: 16,
            max_connections,
            in_use: 20,
            servers,
            now: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn every_server_needs_its_connections() {
        assert!(connections(&server(97, 0)).is_ok());
        assert!(connections(&server(97, 6)).is_ok());
        assert!(connections(&server(97, 7)).is_err());
        assert!(connections(&server(15, 0)).is_err());
    }

    #[test]
    fn a_clock_may_be_off_by_a_moment() {
        assert!(same_time(Duration::from_millis(1_900)).is_ok());
        let off = same_time(Duration::from_secs(30)).unwrap_err();
        assert!(off.starts_with("30.0 s"), "{off}");
    }
}
