//! The database: every SQL statement, grouped by aggregate, on either engine.

mod columns;
mod engine;
mod locked;
mod migrations;
mod wakeups;

mod accounts;
mod admin;
mod bundle_keys;
mod certificates;
mod events;
mod exports;
mod jobs;
mod money;
mod people;
mod proofs;
mod quotes;
mod requests;
mod secrets;
mod tasks;
mod transfer;
mod webhooks;
mod workers;

use std::path::Path;
use std::sync::Arc;

use columns::columns;
use engine::{Engine, FromRow, Function, KeptTable, Row, Statement, typed};
use migrations::MIGRATIONS;
use wakeups::Wakeups;

use crate::domain::{AccountId, Lane, Owner, Timestamp};
use crate::seal::Keyring;

pub use engine::{
    Backup, BackupError, DatabaseServer, Location, Lookup, StoreError, Tx, Value,
    background_within, session_settings, watch_processors, within,
};

pub use accounts::api_keys::KeyHolder;
pub use accounts::mandates::{KeyAndMandate, MandateInUse};
pub use accounts::request_log::{LogFilter, LogPage};
pub use accounts::{AccountFilter, Visitor};
pub use admin::audit::{AuditFilter, NotedLine};
pub use admin::review_queue::{Claimed, QueueFilter};
pub use certificates::{AcmeAccount, AcmeCertificate, AcmeChallenge, IssuedCertificate};
pub use events::EventFilter;
pub use exports::pages::{ExportedDelivery, ToldNotification};
pub use jobs::backlog::{Backlog, DueJobs};
pub use jobs::{ClaimedJob, ListedJob};
pub use money::ledger::{
    DeveloperBalances, Payout, PayoutParts, PayoutState, TaskMoney, WorkerBalance,
};
pub use money::outgoing_movements::OutgoingMovement;
pub use money::payments::PaymentAndTask;
pub use money::sandbox::{SandboxEvent, SandboxMovement, SandboxPayment, SandboxPayoutAccount};
pub use proofs::files_owner::FilesOwner;
pub use proofs::storage::{ExpiredFiles, FileCursor, StoredFiles};
pub use quotes::coverage::CountWalk;
pub use requests::idempotency::{IdempotencyRecord, IdempotencyScope};
pub use secrets::unlock::UnlockError;
pub use secrets::{MasterKeyRow, SEALED_COLUMNS, SealedColumn, SecretPlace};
pub use tasks::StoredMove;
pub use tasks::lists::{ListedTask, TaskFilter, TaskPage, WaitingTask};
pub use tasks::posted_tasks::{PostedIn, PostedOrder, PostedTask};
pub use tasks::ranges::CountedTasks;
pub use tasks::search::{Candidate, MetadataBackfill, OlderTask, SEARCHED_AT_ONCE, SearchedTask};
pub use tasks::totals::TaskCounts;
pub use tasks::with_key::{KeptTask, KeyAndTask};
pub use transfer::{HeldDatabase, Progress, Step, Transfer, TransferError};
pub use wakeups::EventWakeup;
pub use webhooks::claims::Heartbeat;
pub use webhooks::deliveries::{DeliveryFilter, FailedSpan, LastEvents, RecordedDelivery};
pub use webhooks::{Disabled, Endpoint, OldSecret};
pub use workers::{NewWorkerToken, PushSubscription, WorkerFilter, WorkerSession};

/// Declares the statements of a file, and lists them for the test that prepares each on both
/// engines.
macro_rules! statements {
    ($($(#[$meta:meta])* $name:ident = $sql:expr;)+) => {
        $($(#[$meta])* const $name: crate::store::Statement = crate::store::Statement::new($sql);)+
        pub(in crate::store) const ALL: &[crate::store::Statement] = &[$($name),+];
    };
}

pub(in crate::store) use statements;

/// The database. Cheap to clone; it is closed when the last clone is dropped.
#[derive(Clone)]
pub struct Store {
    engine: Arc<Engine>,
    wakeups: Arc<Wakeups>,
    keyring: Option<Arc<Keyring>>,
    keeps_mail: bool,
}

impl Store {
    /// Opens the database and migrates it. Creates it if it is SQLite and does not exist. It has no
    /// master key until it is unlocked.
    /// Blocks: call it before serving, or on a thread that may block.
    pub fn open(location: &Location) -> Result<Self, StoreError> {
        let engine = Engine::open(location, MIGRATIONS)?;
        Ok(Self {
            engine: Arc::new(engine),
            wakeups: Arc::default(),
            keyring: None,
            keeps_mail: false,
        })
    }

    /// Whether notifications are only kept, because this service sends no mail. Then none is written as one to send.
    pub fn keeping_mail(self, keeps_mail: bool) -> Self {
        Self { keeps_mail, ..self }
    }

    /// How many migrations are still to be applied to that database. Changes nothing.
    pub fn lacking_migrations(location: &Location) -> Result<usize, StoreError> {
        Engine::pending_migrations(location, MIGRATIONS)
    }

    /// Whether there is a database of ours, of whatever version. Changes nothing.
    pub fn exists(location: &Location) -> Result<bool, StoreError> {
        Ok(Self::lacking_migrations(location)? < MIGRATIONS.len())
    }

    /// How the database server stands. None for SQLite, which has no server. Changes nothing.
    pub fn database_server(
        location: &Location,
        now: Timestamp,
    ) -> Result<Option<DatabaseServer>, StoreError> {
        Engine::server(location, now)
    }

    /// Copies a snapshot of the database into a new file, while others write. Only for SQLite.
    /// Blocks.
    pub fn back_up(location: &Location, to: &Path) -> Result<Backup, BackupError> {
        Engine::back_up(location, to, MIGRATIONS)
    }

    /// Restores such a file where there is no database. `open` migrates it. Blocks.
    pub fn restore(from: &Path, location: &Location) -> Result<Backup, BackupError> {
        Engine::restore(from, location, MIGRATIONS)
    }

    /// Runs a transaction: all of it is kept, or nothing. The function may run more than once, so
    /// it must change nothing but the transaction. Returns once the writes are durable.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        typed(self.engine.write(self.function(work), None).await)
    }

    /// The same for a transaction that writes what belongs to one account, its totals above all. On
    /// PostgreSQL those of one account never wait for each other's locks, and many of several accounts
    /// share a commit, as all do on SQLite.
    pub async fn write_for<T, E, F>(&self, account: AccountId, work: F) -> Result<T, E>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let lane = Some(account.as_u128());
        typed(self.engine.write(self.function(work), lane).await)
    }

    /// Reads single rows by key. Each statement sees what is committed when it runs.
    pub async fn read<T, E, F>(&self, mut work: F) -> Result<T, E>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        if let Some(result) = self.read_here(&mut work)? {
            return result;
        }
        typed(self.engine.read(self.function(work)).await)
    }

    /// Finds a row by its key, together with what others look for at the same moment if the engine
    /// gains by that. Sees what is committed when it is called.
    pub async fn find<T>(&self, lookup: Lookup<T>) -> Result<Option<T>, StoreError>
    where
        T: FromRow + Send + 'static,
    {
        self.engine.find(lookup).await
    }

    /// Reads many rows. All statements see the same snapshot.
    pub async fn snapshot<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        typed(self.engine.snapshot(self.function(work)).await)
    }

    /// The result of a read of single rows, if it can be run on the calling thread.
    fn read_here<T, E>(
        &self,
        work: &mut impl FnMut(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<Option<Result<T, E>>, StoreError> {
        let mut result = None;
        self.engine.read_here(&mut |tx| {
            tx.keyring.clone_from(&self.keyring);
            result = Some(work(tx));
        })?;
        Ok(result)
    }

    fn function<T, E, F>(&self, work: F) -> Function
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let mut function = Function::new(work);
        function.keyring.clone_from(&self.keyring);
        function.keeps_mail = self.keeps_mail;
        function.wakeups = Some(self.wakeups.clone());
        function
    }

    /// Waits until this process has written a job. Jobs of other processes do not end the wait.
    pub async fn job_written(&self, lane: Lane) {
        self.wakeups.jobs(lane).notified().await;
    }

    /// Waits until this process has written something that may have to be delivered.
    pub async fn delivery_written(&self) {
        self.wakeups.deliveries.notified().await;
    }

    /// Notified of every event of this owner that this process writes.
    pub fn event_wakeup(&self, owner: Owner) -> EventWakeup {
        self.wakeups.of(owner)
    }

    /// Whether other servers may be on the same database.
    pub fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.engine.ping(PING).await
    }

    /// Sets the gauges that tell how busy the database is. Cheap: call it when they are read.
    pub fn record_load(&self) {
        self.engine.record_load();
    }
}

statements! {
    PING = "SELECT CAST(1 AS BIGINT)";
}

/// Every statement of the store, for the test that prepares them.
pub fn all_statements() -> impl Iterator<Item = Statement> {
    [
        ALL,
        accounts::ALL,
        admin::admin_keys::ALL,
        accounts::api_keys::ALL,
        admin::audit::ALL,
        admin::decisions::ALL,
        jobs::backlog::ALL,
        bundle_keys::ALL,
        certificates::ALL,
        webhooks::claims::ALL,
        webhooks::deliveries::ALL,
        tasks::approvals::ALL,
        tasks::due_tasks::ALL,
        accounts::erasure::ALL,
        accounts::mandates::ALL,
        accounts::people::ALL,
        events::ALL,
        exports::ALL,
        exports::pages::ALL,
        tasks::history::ALL,
        tasks::lists::ALL,
        requests::idempotency::ALL,
        jobs::ALL,
        money::charge_disputes::ALL,
        money::ledger::ALL,
        events::notifications::ALL,
        money::outgoing_movements::ALL,
        money::payment_methods::ALL,
        money::payments::ALL,
        people::mail_links::ALL,
        people::passkeys::ALL,
        people::sessions::ALL,
        workers::payout_accounts::ALL,
        tasks::posted_tasks::ALL,
        tasks::ranges::ALL,
        tasks::records::ALL,
        tasks::search::ALL,
        money::processor_events::ALL,
        proofs::ALL,
        proofs::files_owner::ALL,
        proofs::storage::ALL,
        proofs::uploads::ALL,
        accounts::request_log::ALL,
        quotes::ALL,
        quotes::coverage::ALL,
        requests::rate_limits::ALL,
        admin::proposals::ALL,
        admin::review_queue::ALL,
        admin::reports::ALL,
        money::sandbox::ALL,
        people::second_factors::ALL,
        secrets::ALL,
        tasks::ALL,
        tasks::totals::ALL,
        tasks::with_key::ALL,
        webhooks::ALL,
        workers::ALL,
        workers::documents::ALL,
        workers::erasure::ALL,
        workers::people::ALL,
        workers::subscriptions::ALL,
        workers::tokens::ALL,
        workers::uploads::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// How many old rows one transaction deletes. The statements say it as a number: with a value in its
/// place, PostgreSQL expects a tenth of the table, and reads all of it.
pub const PRUNED_AT_ONCE: u64 = 500;

fn owned_by(owner: Owner) -> Vec<Value<'static>> {
    vec![owner.account.into(), owner.environment.into()]
}

/// Where a list that is read from its newest end begins: without an id, at a text greater than any id.
fn before<T: ToString>(id: Option<T>) -> String {
    id.map_or_else(|| "g".to_owned(), |id| id.to_string())
}
