//! Old rows leave in batches, each in a transaction of its own.

use legwork::domain::Timestamp;
use legwork::maintenance::prune;
use legwork::store::{PRUNED_AT_ONCE, StoreError, Tx, all_statements};

use crate::support::{Engine, TestApp, on_both_engines};

on_both_engines!(
    old_rows_leave_in_batches,
    what_is_young_stays,
    tables_that_churn_are_vacuumed_often,
);

const OLD_ROWS: u64 = 1_200;

/// Old rows of each kind, named by the table. Their ids sort before those of our time.
const KINDS: &[(&str, &str, Prune)] = &[
    (
        "idempotency_keys",
        "(account_id, environment, idempotency_key, fingerprint, response_status, response_body,
            sealed, created_at) SELECT 'a', 'live', CAST(1000000 + i AS TEXT), '', 201, '{}', 0, {at}",
        |tx, now| tx.prune_idempotency_records(now),
    ),
    (
        "events",
        "(id, account_id, environment, number, type, data, created_at)
            SELECT {id}, 'a', 'live', i, 'task.created', '{}', {at}",
        |tx, now| tx.prune_events(now),
    ),
    (
        "deliveries",
        "(event_id, account_id, environment, number, type, status, tries, attempts, created_at,
            updated_at) SELECT {id}, 'a', 'live', i, 'task.created', 'delivered', 1, '[]', {at}, {at}",
        |tx, now| tx.prune_deliveries(now),
    ),
    (
        "notices",
        "(id, occasion, kind, email, subject, paragraphs, status, created_at)
            SELECT {id}, CAST(1000000 + i AS TEXT), 'payout', '', '', '[]', 'sent', {at}",
        |tx, now| tx.prune_notifications(now),
    ),
    (
        "processor_notices",
        "(processor, notice_id, received_at) SELECT 'sandbox', CAST(1000000 + i AS TEXT), {at}",
        |tx, now| tx.prune_processor_events(now),
    ),
    (
        "worker_uploads",
        "(worker_id, day, bytes) SELECT CAST(1000000 + i AS TEXT), {at} / 86400000, 1",
        |tx, now| tx.prune_uploads(now),
    ),
    (
        "mail_links",
        "(id, token_hash, purpose, person_kind, person_id, email, created_at, expires_at)
            SELECT {id}, CAST(1000000 + i AS TEXT), 'confirm_email', 'account', 'a', '', {at}, {at}",
        |tx, now| tx.prune_mail_links(now),
    ),
    (
        "sessions",
        "(id, token_hash, person_kind, person_id, created_at, signed_in_at, last_seen_at, expires_at,
            ends_at, address, user_agent) SELECT {id}, CAST(1000000 + i AS TEXT), 'account', 'a', {at},
            {at}, {at}, {at} + 1, {at} + 1, '', ''",
        |tx, now| tx.prune_sessions(now),
    ),
];

type Prune = fn(&mut Tx<'_>, Timestamp) -> Result<u64, StoreError>;

/// `id` is SQL for an id of that time.
async fn insert(app: &TestApp, (table, columns): (&str, &str), at: i64, id: &str) {
    let columns = columns.replace("{id}", id).replace("{at}", &at.to_string());
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {OLD_ROWS})
         INSERT INTO {table} {columns} FROM n"
    );
    app.database.execute(&sql).await;
}

async fn count(app: &TestApp, table: &str) -> u64 {
    let sql = format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}");
    app.database.column(&sql).await[0].parse().unwrap()
}

async fn old_rows_leave_in_batches(app: TestApp) {
    const LONG_AGO: i64 = 1_000_000_000;
    let now = app.clock.now();
    for (table, columns, prune) in KINDS {
        let id = "'0000000000' || CAST(1000000 + i AS TEXT)";
        insert(&app, (table, columns), LONG_AGO, id).await;
        let mut batches = Vec::new();
        let prune = *prune;
        while batches.last() != Some(&0) {
            let batch = app.store.write(move |tx| prune(tx, now)).await.unwrap();
            assert!(batch <= PRUNED_AT_ONCE, "{table}: {batch}");
            batches.push(batch);
        }
        assert_eq!(batches, [500, 500, 200, 0], "{table}");
        insert(&app, (table, columns), LONG_AGO, id).await;
    }
    prune(&app.store, now).await.unwrap();
    for (table, ..) in KINDS {
        assert_eq!(count(&app, table).await, 0, "{table}");
    }
}

async fn what_is_young_stays(app: TestApp) {
    let now = app.clock.now();
    for (table, columns, _) in KINDS {
        let id = "'f000000000' || CAST(1000000 + i AS TEXT)";
        insert(&app, (table, columns), now.as_millis(), id).await;
    }
    prune(&app.store, now).await.unwrap();
    for (table, ..) in KINDS {
        assert_eq!(count(&app, table).await, OLD_ROWS, "{table}");
    }
}

async fn tables_that_churn_are_vacuumed_often(app: TestApp) {
    if app.database.engine == Engine::Sqlite {
        return;
    }
    let set = "SELECT relname::TEXT FROM pg_class
        WHERE reloptions::TEXT LIKE '%autovacuum_vacuum_scale_factor=0.01%' ORDER BY relname";
    let tables = app.database.column(set).await;
    for table in ["deliveries", "idempotency_keys", "jobs"] {
        assert!(tables.iter().any(|set| set == table), "{table}: {tables:?}");
    }
    // An operator's own setting is left alone when the next server starts.
    let own = "ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.3)";
    app.database.execute(own).await;
    drop(app.database.open().await);
    let tables = app.database.column(set).await;
    assert!(tables.iter().all(|set| set != "jobs"), "{tables:?}");
}

/// A number in the place of the limit: see `PRUNED_AT_ONCE`.
#[test]
fn every_batch_that_is_deleted_has_its_size_in_the_statement() {
    let deletes = |sql: &&str| sql.starts_with("DELETE") && sql.contains("LIMIT");
    let statements: Vec<_> = all_statements().map(|s| s.sql()).collect();
    let deleting: Vec<_> = statements.into_iter().filter(deletes).collect();
    assert!(deleting.len() > 8);
    for sql in deleting {
        assert!(sql.contains(&format!("LIMIT {PRUNED_AT_ONCE})")), "{sql}");
    }
}
