//! The process that serves a connection on the server, and how to make sure that it is gone.
//!
//! A server may go on with a statement long after we have closed the connection. If the thread
//! connected anew meanwhile, there would be more connections than configured.

use std::time::{Duration, Instant};

use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

/// How often to look whether it is gone, and how long to wait in between.
const LOOKS: u32 = 8;
const BETWEEN: Duration = Duration::from_millis(25);
/// A server that does not tell who serves us gets this long to end a statement by its time limit.
const UNKNOWN: Duration = Duration::from_secs(12);

/// Process ids are used again, so the moment of its start belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    pid: u32,
    started: String,
    /// Whether its client is on its own machine. That may be a pooler or a proxy.
    pub is_beside_client: bool,
}

impl Backend {
    pub const QUERY: &str = "SELECT pid, EXTRACT(EPOCH FROM backend_start),
            client_addr IS NULL OR client_addr = inet_server_addr()
        FROM pg_stat_activity WHERE pid = pg_backend_pid()";

    pub fn read(row: &SimpleQueryRow) -> Option<Self> {
        let pid = row.try_get(0).ok()??.parse().ok()?;
        let started = row.try_get(1).ok()??;
        let number = started.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        (number && !started.is_empty()).then(|| Self {
            pid,
            started: started.to_owned(),
            is_beside_client: row.try_get(2).ok().flatten() == Some("t"),
        })
    }
}

/// A connection that is closed on our side.
#[derive(Clone, Debug)]
pub struct Lost {
    pub host: usize,
    pub backend: Option<Backend>,
    pub at: Instant,
    /// `COMMIT` was sent and not answered. It may wait for a standby: if it were ended now, it would be
    /// visible without being replicated. So it is left alone.
    pub committing: bool,
}

impl Lost {
    /// Asks on a new connection to the same server, and ends the old statement if that does no harm.
    pub async fn is_gone(&self, client: &Client) -> bool {
        let Some(backend) = &self.backend else {
            return self.at.elapsed() > UNKNOWN;
        };
        for _ in 0..LOOKS {
            match client.simple_query(&self.question(backend)).await {
                Ok(answer) if !answer.iter().any(is_row) => return true,
                // A server that cannot be asked ends the statement by its time limit.
                Err(_) => return self.at.elapsed() > UNKNOWN,
                Ok(_) => tokio::time::sleep(BETWEEN).await,
            }
        }
        false
    }

    /// A pooler may have given the process to another client since. Then it has begun a statement after
    /// we closed our connection, and is none of our business.
    fn question(&self, backend: &Backend) -> String {
        let Backend { pid, started, .. } = backend;
        let harmless = if self.committing {
            "state = 'idle'"
        } else {
            "TRUE"
        };
        let milliseconds = self.at.elapsed().as_millis();
        format!(
            "SELECT CASE WHEN {harmless} THEN pg_terminate_backend(pid) END
             FROM pg_stat_activity
             WHERE pid = {pid} AND pid <> pg_backend_pid()
               AND EXTRACT(EPOCH FROM backend_start) = {started}
               AND clock_timestamp() - query_start >= INTERVAL '{milliseconds} milliseconds'"
        )
    }
}

fn is_row(message: &SimpleQueryMessage) -> bool {
    matches!(message, SimpleQueryMessage::Row(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_was_not_answered_is_never_ended() {
        let backend = Backend {
            pid: 7,
            started: "1.5".to_owned(),
            is_beside_client: true,
        };
        let lost = |committing| Lost {
            host: 0,
            backend: Some(backend.clone()),
            at: Instant::now(),
            committing,
        };
        let ends_always = "WHEN TRUE THEN pg_terminate_backend";
        assert!(lost(false).question(&backend).contains(ends_always));
        let ends_idle = "WHEN state = 'idle' THEN pg_terminate_backend";
        assert!(lost(true).question(&backend).contains(ends_idle));
    }
}
