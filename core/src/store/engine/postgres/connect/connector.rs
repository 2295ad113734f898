//! Finds a server that works among those of the URL, and connects to it.
//!
//! Threads connect as they need to while all is well. In trouble they take turns, so that at most one
//! connection exists beyond those that are configured: to try a server, to ask whether it still
//! answers, or to cancel a statement.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{CancelToken, Client, Config, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::engine::StoreError;
use crate::store::engine::postgres::connect::backend::{Backend, Lost};
use crate::store::engine::postgres::connect::hosts::Host;
use crate::store::engine::postgres::connect::tls_options::{encryption, tls_options};
use crate::store::engine::postgres::describe;

/// How long a host may take for the whole handshake: TCP, TLS, authentication, is it writable.
const HANDSHAKE: Duration = Duration::from_secs(2);
/// For so long, a host that did not answer is tried after all others.
const AVOIDED: Duration = Duration::from_secs(10);
/// What one thread has found out about a host is good for all threads for this long.
const KNOWN: Duration = Duration::from_secs(1);

/// What we set on every connection, unless the URL sets it. A server may not know one of them, or only
/// speak PostgreSQL's protocol: then it goes without.
///
/// Every statement has an index. On a table that is not analyzed yet the planner may still choose a
/// scan, and a prepared statement keeps that plan while the table grows. So it is with joins: each looks up rows by
/// their key, however few the table seems to have. One plan serves all values of a
/// statement, as the test of plans has it: to plan again for each takes as long as many statements run.
/// No statement is compiled or spread over several processes: each looks at few rows, which takes less time than to
/// compile it or to start a process. The planner sees an account with many rows, and does not know that few are asked for.
/// The others make the server end what nobody waits for any more; they are shorter than our own
/// patience, so that it says so.
const SETTINGS: [(&str, &str); 10] = [
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("statement_timeout", "9s"),
    ("lock_timeout", "8s"),
    ("idle_in_transaction_session_timeout", "20s"),
    ("client_connection_check_interval", "2s"),
];

#[derive(Clone)]
pub struct Connector(Arc<Shared>);

struct Shared {
    hosts: Vec<Host>,
    tls: Option<MakeRustlsConnect>,
    handshake: Duration,
    settings: Vec<String>,
    /// How many connections the threads have.
    connected: AtomicUsize,
    /// A pooler gives each transaction another connection to the server. Then nobody knows which
    /// process served a lost one, and the pooler bounds their number.
    pooled: AtomicBool,
    /// The server that answered last is on this machine.
    here: AtomicBool,
    /// Held by whoever has a connection that the configuration does not count.
    extra: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last attempt, if it failed, and when it began.
    failure: Option<(Instant, StoreError)>,
    /// When each host last answered, or last failed to.
    answered: Vec<Option<Instant>>,
    silent: Vec<Option<Instant>>,
}

/// An open connection.
pub struct Link {
    pub client: Client,
    pub driver: Driver,
    pub host: Host,
    pub backend: Option<Backend>,
}

impl Link {
    fn is_here(&self) -> bool {
        let backend = self.backend.as_ref();
        self.host.is_here() && backend.is_some_and(|backend| backend.is_beside_client)
    }

    /// Says good-bye and waits until the server has closed the connection.
    pub async fn close(mut self) {
        drop(self.client);
        let _ = timeout(HANDSHAKE, &mut self.driver.0).await;
    }
}

/// The task that drives a connection. By itself it would wait for answers that nobody wants any more;
/// so when this is dropped, the connection is closed.
pub struct Driver(JoinHandle<()>);

impl Driver {
    fn start(connection: impl Future + Send + 'static) -> Self {
        Self(tokio::spawn(async { drop(connection.await) }))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connector {
    /// `sslmode=require`, `verify-ca` and `verify-full` all encrypt and verify the server's
    /// certificate and name; `sslrootcert=FILE` adds a CA to those of the system.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let (url, options) = tls_options(url)?;
        let mut config: Config = url.parse().map_err(|e| {
            StoreError::Incompatible(format!("not a PostgreSQL URL: {}", describe(&e)))
        })?;
        let tls = options
            .encrypt
            .then(|| encryption(options.ca_file.as_deref()))
            .transpose()?;
        config.ssl_mode(match tls {
            Some(_) => tokio_postgres::config::SslMode::Require,
            None => tokio_postgres::config::SslMode::Disable,
        });
        let hosts = Host::all(&config);
        let state = State {
            failure: None,
            answered: vec![None; hosts.len()],
            silent: vec![None; hosts.len()],
        };
        Ok(Self(Arc::new(Shared {
            hosts,
            tls,
            handshake: *config.get_connect_timeout().unwrap_or(&HANDSHAKE),
            settings: settings(config.get_options().unwrap_or_default()),
            connected: AtomicUsize::new(0),
            pooled: AtomicBool::new(false),
            here: AtomicBool::new(false),
            extra: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
        })))
    }

    pub fn connected(&self) -> usize {
        self.0.connected.load(Ordering::Relaxed)
    }

    pub fn count(&self, gained: bool) {
        if gained {
            self.0.connected.fetch_add(1, Ordering::Relaxed);
        } else {
            self.0.connected.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub fn set_pooled(&self, pooled: bool) {
        self.0.pooled.store(pooled, Ordering::Relaxed);
    }

    pub fn is_pooled(&self) -> bool {
        self.0.pooled.load(Ordering::Relaxed)
    }

    /// Whether the server is on this machine, and shares its processors with us.
    pub fn is_here(&self) -> bool {
        self.0.here.load(Ordering::Relaxed)
    }

    /// Connects on the current runtime, which drives the connection from then on. `lost` is the
    /// connection that the thread had before: there is no new one to the same server while the old
    /// one is still there.
    pub async fn connect(&self, lost: Option<&Lost>) -> Result<Link, StoreError> {
        let asked = Instant::now();
        if lost.is_none() && self.state().failure.is_none() {
            return self.attempt(lost).await;
        }
        let _turn = self.0.extra.lock().await;
        // Another thread has tried since this one wanted to.
        match self.last_failure() {
            Some((begun, error)) if begun >= asked => Err(error),
            _ => self.attempt(lost).await,
        }
    }

    /// The last attempt, if it failed, and when it began.
    pub fn last_failure(&self) -> Option<(Instant, StoreError)> {
        self.state().failure.clone()
    }

    async fn attempt(&self, lost: Option<&Lost>) -> Result<Link, StoreError> {
        let begun = Instant::now();
        let mut reasons = Vec::new();
        for host in self.in_order(begun) {
            let label = host.label();
            let link = match self.try_host(&host).await {
                Ok(link) => link,
                Err(reason) => {
                    reasons.push(format!("{label}: {reason}"));
                    continue;
                }
            };
            self.state().failure = None;
            self.0.here.store(link.is_here(), Ordering::Relaxed);
            let is_same = |lost: &&Lost| lost.host == link.host.index && !self.is_pooled();
            let Some(lost) = lost.filter(is_same) else {
                return Ok(link);
            };
            if lost.is_gone(&link.client).await {
                return Ok(link);
            }
            link.close().await;
            let reason = "the statement that was given up is still running";
            return Err(StoreError::Unavailable(reason.into()));
        }
        let error = StoreError::Unavailable(reasons.join("; "));
        self.state().failure = Some((begun, error.clone()));
        Err(error)
    }

    /// In the order of the URL, but those that did not answer a moment ago come last.
    fn in_order(&self, now: Instant) -> Vec<Host> {
        let mut hosts = self.0.hosts.clone();
        let state = self.state();
        hosts.sort_by_key(|host| {
            state.silent[host.index].is_some_and(|at| now.duration_since(at) < AVOIDED)
        });
        hosts
    }

    async fn try_host(&self, host: &Host) -> Result<Link, String> {
        let found = timeout(self.0.handshake, host.addresses()).await;
        let addresses = match found {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("its address could not be found in time".to_owned()),
        };
        let mut last = "it has no address".to_owned();
        for host in addresses {
            match self.shake_hands(host).await {
                Ok(link) => return Ok(link),
                Err(Refusal { reason, .. }) => last = reason,
            }
        }
        Err(last)
    }

    /// Connects to one address, in the time that the whole handshake may take.
    async fn shake_hands(&self, host: Host) -> Result<Link, Refusal> {
        let index = host.index;
        let result = timeout(self.0.handshake, self.open(host)).await;
        let result = result.unwrap_or_else(|_| {
            Err(Refusal {
                reason: "it did not answer in time".to_owned(),
                answered: false,
            })
        });
        let mut state = self.state();
        let now = Some(Instant::now());
        match &result {
            Ok(_) | Err(Refusal { answered: true, .. }) => {
                state.answered[index] = now;
                state.silent[index] = None;
            }
            Err(_) => state.silent[index] = now,
        }
        result
    }

    async fn open(&self, host: Host) -> Result<Link, Refusal> {
        let (client, driver) = match &self.0.tls {
            Some(tls) => {
                let (client, connection) = host.config.connect(tls.clone()).await?;
                (client, Driver::start(connection))
            }
            None => {
                let (client, connection) = host.config.connect(NoTls).await?;
                (client, Driver::start(connection))
            }
        };
        let settings = self.0.settings.iter();
        let set = join_all(settings.map(|set| client.batch_execute(set)));
        let (_, rows) = tokio::join!(set, client.simple_query(Backend::QUERY));
        let row = rows
            .into_iter()
            .flatten()
            .find_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
        Ok(Link {
            backend: row.as_ref().and_then(Backend::read),
            client,
            driver,
            host,
        })
    }

    /// Whether the server at the other end of a connection still takes new ones. While a statement
    /// takes long, this tells a busy server from one that hangs.
    pub async fn answers(&self, host: &Host) -> bool {
        let _turn = self.0.extra.lock().await;
        if let Some(known) = self.known(host.index) {
            return known;
        }
        match self.shake_hands(host.clone()).await {
            Ok(link) => {
                link.close().await;
                true
            }
            Err(refusal) => refusal.answered,
        }
    }

    fn known(&self, host: usize) -> Option<bool> {
        let state = self.state();
        let recent = |at: Option<Instant>| at.is_some_and(|at| at.elapsed() < KNOWN);
        if recent(state.silent[host]) {
            return Some(false);
        }
        recent(state.answered[host]).then_some(true)
    }

    /// Asks the server to end the statement that runs on a connection.
    pub async fn cancel(&self, token: CancelToken) {
        let ask = async {
            let _turn = self.0.extra.lock().await;
            match &self.0.tls {
                Some(tls) => token.cancel_query(tls.clone()).await,
                None => token.cancel_query(NoTls).await,
            }
        };
        let _ = timeout(KNOWN, ask).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a host could not be used, and whether there is a server at all.
struct Refusal {
    reason: String,
    answered: bool,
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        // A standby that takes no writes shows as an error of the socket, but it has answered.
        let source = std::error::Error::source(&error);
        let read_only = source
            .and_then(|cause| cause.downcast_ref::<std::io::Error>())
            .is_some_and(|cause| cause.kind() == std::io::ErrorKind::PermissionDenied);
        Self {
            answered: error.as_db_error().is_some() || read_only,
            reason: describe(&error),
        }
    }
}

/// The statements that set them on a connection, where the URL sets nothing.
pub fn session_settings() -> Vec<String> {
    settings("")
}

/// `options` is what the URL sets.
fn settings(options: &str) -> Vec<String> {
    let theirs: Vec<_> = options.split_whitespace().filter_map(setting).collect();
    let ours = SETTINGS
        .iter()
        .filter(|(name, _)| !theirs.iter().any(|their| their == name));
    ours.map(|(name, value)| format!("SET {name} = '{value}'"))
        .collect()
}

/// The name in a word of them: `-c name=value`, `-cname=value` or `--name=value`. PostgreSQL takes `-` for `_` in it.
fn setting(word: &str) -> Option<String> {
    let prefix = ["--", "-c"]
        .into_iter()
        .find(|prefix| word.starts_with(prefix));
    let (name, _) = word[prefix.map_or(0, str::len)..].split_once('=')?;
    Some(name.to_lowercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_url_sets_stays() {
        assert_eq!(settings("").len(), SETTINGS.len());
        let ours = settings("-c lock_timeout=1min");
        assert_eq!(ours.len(), SETTINGS.len() - 1);
        assert!(!ours.iter().any(|set| set.contains("lock_timeout")));
        for same in [
            "-clock_timeout=1",
            "--lock-timeout=1",
            "-c work_mem=1MB -c LOCK_TIMEOUT=1",
        ] {
            assert_eq!(settings(same), ours, "{same}");
        }
        for other in [
            "-c deadlock_timeout=2s",
            "-c search_path=jit",
            "-c jit_above_cost=5",
        ] {
            assert_eq!(settings(other), settings(""), "{other}");
        }
    }

    #[test]
    fn a_host_that_did_not_answer_is_tried_last() {
        let connector = Connector::new("postgres://a,b,c/legwork").unwrap();
        let order = |now| {
            let hosts = connector.in_order(now);
            hosts.iter().map(Host::label).collect::<Vec<_>>().join("")
        };
        let now = Instant::now();
        assert_eq!(order(now), "abc");
        connector.state().silent[0] = Some(now);
        assert_eq!(order(now), "bca");
        assert_eq!(order(now + AVOIDED), "abc");
    }
}
