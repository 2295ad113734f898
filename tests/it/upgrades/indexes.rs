//! Indexes are built before a migration, and a migration waits for nobody while others wait for it.

use tokio_postgres::NoTls;

use crate::money::upgrade::take_back;
use crate::support::{Command, Database, Engine, TestApp, eventually, runtime};

const INDEXES: &str = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
    ORDER BY indexdef";

/// A database of the first version, with a task.
async fn of_the_first_version() -> std::sync::Arc<Database> {
    let database = std::sync::Arc::new(Database::create(Engine::Postgres));
    let app = TestApp::start(&database).await;
    app.developer().await.create_task().await;
    drop(app);
    take_back(&database).await;
    database
}

#[test]
fn an_upgraded_database_has_the_indexes_of_a_new_one() {
    runtime().block_on(async {
        let new = Database::migrated(Engine::Postgres);
        let old = of_the_first_version().await;
        let indexes = old.column(INDEXES).await;
        assert!(!indexes.iter().any(|it| it.contains(" tasks_of_all ")));
        // What a migration that was killed has left, and one of another version.
        let left = "CREATE INDEX ahead_0123456789abcdef01234567 ON tasks (title)";
        old.execute(left).await;
        Command::new(&["migrate"]).on(&old).succeed();
        assert_eq!(old.column(INDEXES).await, new.column(INDEXES).await);
    });
}

/// The last phase of an index waits for all statements that began before it, so nobody may wait in one for that index.
#[test]
fn two_servers_that_start_at_once_upgrade_once() {
    runtime().block_on(async {
        let new = Database::migrated(Engine::Postgres);
        let old = of_the_first_version().await;
        let migrate = || {
            let old = old.clone();
            tokio::task::spawn_blocking(move || Command::new(&["migrate"]).on(&old).succeed())
        };
        let (one, other, third) = tokio::join!(migrate(), migrate(), migrate());
        for ended in [one, other, third] {
            ended.unwrap();
        }
        assert_eq!(old.column(INDEXES).await, new.column(INDEXES).await);
    });
}

/// Otherwise a second server would build again what the first renames.
#[test]
fn nobody_builds_until_what_is_built_is_applied() {
    runtime().block_on(async {
        let database = of_the_first_version().await;
        let url = database.url().unwrap();
        let (other, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        // A server that applies, as seen from one that has built.
        let applies = "BEGIN; SELECT id FROM migration_lock WHERE id = 1 FOR UPDATE";
        other.batch_execute(applies).await.unwrap();
        let migrating = tokio::task::spawn_blocking({
            let database = database.clone();
            move || Command::new(&["migrate"]).on(&database).succeed()
        });
        // They are built in the order of their names. This is `tasks_without_deadline`.
        let last = "SELECT 'x' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE starts_with(c.relname, 'ahead_') AND i.indisvalid
            AND pg_get_indexdef(c.oid) LIKE '%(environment, funded_at)%'";
        let built = async || !database.column(last).await.is_empty();
        eventually("the last index is built", built).await;
        let builds = "SELECT id FROM migration_lock WHERE id = 2 FOR UPDATE SKIP LOCKED";
        assert!(other.query(builds, &[]).await.unwrap().is_empty());
        other.batch_execute("COMMIT").await.unwrap();
        migrating.await.unwrap();
        let new = Database::migrated(Engine::Postgres);
        assert_eq!(database.column(INDEXES).await, new.column(INDEXES).await);
    });
}

/// A server that was killed while it built has left something, and nobody needs it.
#[test]
fn what_nobody_needs_is_dropped_unless_somebody_builds() {
    runtime().block_on(async {
        let database = std::sync::Arc::new(Database::create(Engine::Postgres));
        Command::new(&["migrate"]).on(&database).succeed();
        let before = database.column(INDEXES).await;
        let left = "CREATE INDEX ahead_0123456789abcdef01234567 ON tasks (title)";
        database.execute(left).await;
        let url = database.url().unwrap();
        let (other, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let builds = "BEGIN; SELECT id FROM migration_lock WHERE id = 2 FOR UPDATE";
        other.batch_execute(builds).await.unwrap();
        let start = || {
            let database = database.clone();
            tokio::task::spawn_blocking(move || Command::new(&["migrate"]).on(&database).succeed())
        };
        start().await.unwrap();
        assert_eq!(database.column(INDEXES).await.len(), before.len() + 1);
        other.batch_execute("COMMIT").await.unwrap();
        start().await.unwrap();
        assert_eq!(database.column(INDEXES).await, before);
    });
}

/// As a backup does. Behind a statement that waits for such a reader, all others would wait.
#[test]
fn a_long_reader_stops_a_migration_and_nobody_else() {
    runtime().block_on(async {
        let database = of_the_first_version().await;
        let url = database.url().unwrap();
        let (reader, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let reads = "BEGIN; LOCK TABLE tasks IN ACCESS SHARE MODE";
        reader.batch_execute(reads).await.unwrap();
        let migrating = tokio::task::spawn_blocking({
            let database = database.clone();
            move || Command::new(&["migrate"]).on(&database).succeed()
        });
        let waits = "SELECT 'x' FROM pg_stat_activity WHERE datname = current_database()
            AND application_name = 'legwork' AND wait_event_type = 'Lock'";
        let waiting = async || !database.column(waits).await.is_empty();
        eventually("the migration waits", waiting).await;
        assert_eq!(database.column("SELECT title FROM tasks").await.len(), 1);
        assert!(!migrating.is_finished());
        reader.batch_execute("COMMIT").await.unwrap();
        migrating.await.unwrap();
        let applied = "SELECT 'x' FROM migrations WHERE version > 50";
        assert!(!database.column(applied).await.is_empty());
    });
}
