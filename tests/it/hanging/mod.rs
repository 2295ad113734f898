//! A database that hangs instead of dying.

pub mod cluster;
mod commits;
mod connections;
mod disk;
mod failover;
mod frozen;
mod overload;
mod reads;

use std::time::Duration;

use crate::support::{Command, Database, Reply, Server};

/// Fires only when something hangs that must not.
const NEVER: Duration = Duration::from_secs(60);

/// What must end by itself.
async fn in_time<T>(limit: Duration, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(limit, work).await;
    done.unwrap_or_else(|_| panic!("this took more than {limit:?}"))
}

fn is_unavailable(reply: &Reply) {
    let reply = reply.clone().expect_error(503, "UNAVAILABLE");
    assert_eq!(reply.header("retry-after"), "1");
}

/// The program on a database that is not one of the suite's own.
fn serve(folder: &Database, url: &str, connections: u32, seconds: u32) -> Server {
    let (connections, seconds) = (connections.to_string(), seconds.to_string());
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "off"])
        .env("LEGWORK_DATA", folder.folder.path().to_str().unwrap())
        .env("LEGWORK_DATABASE_URL", url)
        .env("LEGWORK_DATABASE_CONNECTIONS", &connections)
        .env("LEGWORK_REQUEST_SECONDS", &seconds)
        .env("LEGWORK_RATE_LIMITS", "off");
    Server::spawn(command)
}

/// The program on SQLite in a folder.
fn serve_sqlite(folder: &std::path::Path, seconds: u32) -> Server {
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "off"])
        .env("LEGWORK_DATA", folder.to_str().unwrap())
        .env("LEGWORK_REQUEST_SECONDS", &seconds.to_string())
        .env("LEGWORK_RATE_LIMITS", "off");
    Server::spawn(command)
}
