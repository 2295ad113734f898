//! How both databases run each statement: none goes through all rows of a table that grows, and none
//! sorts what grows. On a database that is filled like one in use.

#[path = "../../bench/src/growth/seed.rs"]
mod seed;

use std::collections::HashMap;

use legwork::domain::{Owner, Status};
use legwork::maintenance::advance_ranges;
use legwork::store::{Store, all_statements, session_settings};
use legwork::usecases;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::support::{Database, Engine, TestApp, on_both_engines};

const TASKS: i64 = 12_000;

/// Tables that do not grow with use: one row for each admin, server, key or domain of the service.
const SMALL: &[&str] = &[
    "acme_accounts",
    "acme_certificates",
    "acme_challenges",
    "admin_keys",
    "audit_head",
    "bundle_keys",
    "files_owner",
    "master_keys",
    "metadata_backfill",
    "processes",
    "sandbox_switches",
    "service_secrets",
    "worker_count_walk",
];

/// Statements that may do so, by how they begin or what they say, and why.
const MAY: &[(&str, &str)] = &[
    (
        "FROM task_moves\n        WHERE task_id = ?1 ORDER BY COALESCE(follows",
        "sorts the moves of one task",
    ),
    (
        "AND status IN ('assigned', 'in_progress', 'proof_rejected')\n            AND environment",
        "sorts what one worker has to work on",
    ),
    (
        "SELECT id FROM push_subscriptions WHERE worker_id = ?1\n        ORDER BY id DESC",
        "sorts the browsers of one worker",
    ),
    (
        "DELETE FROM push_subscriptions;",
        "by hand, when the key of the service was lost",
    ),
    (
        "FROM ledger_entries\n        WHERE environment = ?1 AND recorded_at >= ?2 AND recorded_at < ?3",
        "the report of a month reads the entries of that month",
    ),
    (
        "SELECT (created_at - ?1) / ?3, COUNT(*) FROM tasks",
        "the report of a month reads the tasks of that month",
    ),
    (
        "FROM task_totals WHERE environment = ?1",
        "the report reads one row for each account",
    ),
    (
        "FROM worker_balances\n        WHERE environment = ?1",
        "the report reads one row for each worker",
    ),
    ("SELECT COUNT(*) FROM accounts;", "by hand, after a backup"),
    (
        "CAST(COALESCE(SUM(last_number), 0) AS BIGINT) FROM task_totals;",
        "by hand, after a backup",
    ),
    (
        "SELECT number - number % 1024, status, COUNT(*) FROM tasks",
        "once for each account, when it gets large, in a snapshot",
    ),
    (
        "SELECT t.number - t.number % 1024",
        "groups 1,000 events at a time, 20,000 at most",
    ),
    (
        "ORDER BY number DESC LIMIT 10000) newest",
        "sorts one page, found among 10,000 deliveries at most",
    ),
];

/// Found by what it scans: an index that holds nothing but what is wanted, or rows of a subquery.
const SCANS_LITTLE: &[&str] = &[
    "USING INDEX jobs_dead",
    "USING INDEX deliveries_due",
    "USING INDEX webhook_endpoints_plain",
    "USING COVERING INDEX webhook_endpoints_claimed",
    "USING INDEX payments_plain",
    "USING INDEX sandbox_payments_plain",
    "USING INDEX sandbox_payout_accounts_plain",
    "USING INDEX second_factors_plain",
    "SCAN due",
    "SCAN dead",
    "SCAN mails",
    "SCAN pending",
    "SCAN place",
    "SCAN found",
    "SCAN listed",
    "SCAN newest",
    "CONSTANT ROW",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reads_or_sorts_a_growing_table_on_sqlite() {
    let (database, _) = filled(Engine::Sqlite).await;
    let connection = rusqlite::Connection::open(database.file()).unwrap();
    let mut faults = Vec::new();
    for statement in all_statements().filter(|statement| !is_allowed(statement.sql())) {
        let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql());
        let mut explain = connection.prepare(&sql).unwrap();
        let values = vec![None::<i64>; placeholders(statement.sql())];
        let steps = explain.query_map(rusqlite::params_from_iter(values), |row| row.get(3));
        for step in steps.unwrap() {
            let step: String = step.unwrap();
            let scans = step.strip_prefix("SCAN ").is_some_and(|rest| {
                let table = rest.split(' ').next().unwrap_or_default();
                !SMALL.contains(&table) && !SCANS_LITTLE.iter().any(|little| step.contains(little))
            });
            if scans || step.contains("TEMP B-TREE") && !of_small_table(statement.sql()) {
                faults.push(format!("{step}: {}", statement.sql()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// For a list of more than two values, SQLite fills a table each time. In the condition of an index or a constraint, that
/// is with every row that is written.
#[test]
fn no_row_that_is_written_to_sqlite_fills_a_table() {
    let database = Database::migrated(Engine::Sqlite);
    let connection = rusqlite::Connection::open(database.file()).unwrap();
    let column = |sql: &str, column| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(column)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let tables = column("SELECT name FROM sqlite_master WHERE type = 'table'", 0);
    assert!(tables.contains(&"tasks".to_owned()));
    for table in tables {
        let opcodes = column(&format!("EXPLAIN INSERT INTO {table} DEFAULT VALUES"), 1);
        assert!(opcodes.contains(&"Insert".to_owned()), "{table}");
        assert!(!opcodes.contains(&"OpenEphemeral".to_owned()), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reads_or_sorts_a_growing_table_or_starts_processes_on_postgresql() {
    let (database, _) = filled(Engine::Postgres).await;
    let (client, connection) = tokio_postgres::connect(&database.url().unwrap(), NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let setup = "SET plan_cache_mode = force_generic_plan; SET jit = off";
    client.batch_execute(setup).await.unwrap();
    let large = rows(
        &client,
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples >= 5000",
    );
    let large = large.await;
    assert!(large.len() > 10, "{large:?}");
    // A small table is read as a whole, whatever indexes there are: what it would do with a large one
    // shows when that is made expensive.
    let mut faults = faults_of(&client, |table| large.iter().any(|l| l == table), false).await;
    faults.extend(entered_late(&client).await);
    let avoid = "SET enable_seqscan = off; SET enable_sort = off";
    client.batch_execute(avoid).await.unwrap();
    faults.extend(faults_of(&client, |table| !SMALL.contains(&table), true).await);
    faults.extend(entered_late(&client).await);
    faults.extend(spread_over_processes(&client).await);
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// The exceptions are about statements that exist.
#[test]
fn every_exception_is_needed_by_a_statement() {
    for (text, why) in MAY {
        assert!(
            all_statements().any(|statement| says(statement.sql(), text)),
            "no statement for the exception {text:?} ({why})"
        );
    }
}

/// To start a process takes longer than any of these statements. For an account with many rows PostgreSQL would do so,
/// although few are asked for; here it would for anybody.
async fn spread_over_processes(client: &Client) -> Vec<String> {
    let eager = "RESET ALL; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
        SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0";
    client.batch_execute(eager).await.unwrap();
    let by_itself = spread(client).await;
    assert!(!by_itself.is_empty(), "so this would find nothing");
    for setting in session_settings() {
        client.batch_execute(&setting).await.unwrap();
    }
    spread(client).await
}

async fn spread(client: &Client) -> Vec<String> {
    let mut found = Vec::new();
    for statement in all_statements() {
        let plan = plan_of(client, statement.sql()).await.join("\n");
        if plan.contains("Gather") {
            found.push(format!("{}\n{plan}", statement.sql()));
        }
    }
    found
}

/// Steps that read all of an index although they look for something: what they ask about its first column is left out,
/// because the condition of a partial index says the same.
async fn entered_late(client: &Client) -> Vec<String> {
    let first = "SELECT name || ' ' || first FROM (
            SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid, 1, true) AS first,
                pg_get_expr(indpred, indrelid) AS condition FROM pg_index) indexes
        WHERE strpos(condition, first) > 0";
    let first = rows(client, first).await;
    let first: HashMap<_, _> = first.iter().filter_map(|it| it.split_once(' ')).collect();
    let mut faults = Vec::new();
    for statement in all_statements().filter(|statement| !is_allowed(statement.sql())) {
        let plan = plan_of(client, statement.sql()).await;
        for (step, next) in plan.iter().zip(&plan[1..]) {
            let mut words = step
                .split(' ')
                .skip_while(|word| !["using", "on"].contains(word));
            let index = words.nth(1).unwrap_or_default();
            let Some(column) = first.get(index) else {
                continue;
            };
            if next.trim().starts_with("Index Cond:") && !next.contains(*column) {
                faults.push(format!("{step}: {}\n{}", statement.sql(), plan.join("\n")));
            }
        }
    }
    faults
}

async fn plan_of(client: &Client, sql: &str) -> Vec<String> {
    let count = placeholders(sql);
    let sql = (1..=count).rev().fold(sql.to_owned(), |sql, number| {
        sql.replace(&format!("?{number}"), &format!("${number}"))
    });
    let values = match count {
        0 => String::new(),
        _ => format!("({})", vec!["NULL"; count].join(", ")),
    };
    let prepare = format!("PREPARE explained AS {sql}");
    client.batch_execute(&prepare).await.unwrap();
    let explain = format!("EXPLAIN (COSTS OFF) EXECUTE explained{values}");
    let plan = rows(client, &explain).await;
    client.batch_execute("DEALLOCATE explained").await.unwrap();
    plan
}

async fn faults_of(client: &Client, reported: impl Fn(&str) -> bool, sorts: bool) -> Vec<String> {
    let mut faults = Vec::new();
    for statement in all_statements().filter(|statement| !is_allowed(statement.sql())) {
        let sql = statement.sql();
        let plan = plan_of(client, sql).await;
        for step in &plan {
            let step = step.trim().trim_start_matches("->").trim();
            let table = step.split_once("Seq Scan on ").map(|(_, rest)| rest);
            let table = table.and_then(|rest| rest.split(' ').next());
            let sorted = sorts && (step == "Sort" || step == "Incremental Sort");
            let scans = table.is_some_and(&reported) && (sorts || !deletes_a_batch(sql));
            if scans || sorted && !of_small_table(sql) {
                faults.push(format!("{step}: {sql}\n{}", plan.join("\n")));
            }
        }
    }
    faults
}

async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap();
    let text = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.into_iter().filter_map(text).collect()
}

fn placeholders(sql: &str) -> usize {
    let numbers = sql.split('?').skip(1).map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    });
    numbers.max().unwrap_or(0)
}

fn is_allowed(sql: &str) -> bool {
    MAY.iter().any(|(text, _)| says(sql, text))
}

/// A semicolon in the text stands for the end of the statement.
fn says(sql: &str, text: &str) -> bool {
    format!("{sql};").contains(text)
}

/// Deletes a batch. A table that is hardly larger than the batch is read as a whole.
fn deletes_a_batch(sql: &str) -> bool {
    sql.starts_with("DELETE") && sql.contains("LIMIT 500)")
}

/// Sorting a few rows costs nothing.
fn of_small_table(sql: &str) -> bool {
    let table = sql.split_once("FROM ").map_or("", |(_, rest)| rest);
    let table = table.split([' ', '\n']).next().unwrap_or_default();
    SMALL.contains(&table)
}

/// A database with tasks, and a store on it.
async fn filled(engine: Engine) -> (Database, Store) {
    let database = Database::migrated(engine);
    let now = noon();
    let script = match engine {
        Engine::Sqlite => format!("BEGIN; {} COMMIT;", seed::for_sqlite(TASKS, now)),
        Engine::Postgres => seed::for_postgres(TASKS, now),
    };
    database.execute(&script).await;
    let store = database.open().await;
    (database, store)
}

fn noon() -> i64 {
    use legwork::domain::Timestamp;
    Timestamp::RULE.check(TestApp::NOON).unwrap().as_millis()
}

on_both_engines!(a_filled_database_is_right, a_deep_page_is_the_right_one);

async fn a_filled_database_is_right(app: TestApp) {
    let (_database, store) = filled(app.database.engine).await;
    let sandbox = legwork::payments::Sandbox::new(store.clone(), app.clock.clone(), String::new());
    let report = usecases::verify_ledger(&store, &sandbox, app.clock.now())
        .await
        .unwrap();
    assert!(report.is_right(), "{:?}", report.differences);
    assert_eq!(report.tasks, TASKS as u64);
    assert_eq!((report.owed, report.in_flight), (0, 0));
}

/// Pages of the largest account, found by the ranges, are what skipping finds: before the ranges are
/// counted, when they are, and when tasks have moved since.
async fn a_deep_page_is_the_right_one(app: TestApp) {
    let (database, store) = filled(app.database.engine).await;
    let largest = store
        .snapshot(|tx| tx.owners_with_ranges(None, 10))
        .await
        .unwrap();
    let owner = *largest.first().unwrap();
    let before = pages(&store, owner).await;
    assert!(before.len() > 10);
    advance_ranges(&store, None).await.unwrap();
    assert_eq!(pages(&store, owner).await, before);
    let ranges = "SELECT CAST(SUM(tasks) AS TEXT) FROM task_ranges WHERE level = 0";
    let counted: i64 = database.column(ranges).await[0].parse().unwrap();
    assert!(counted >= 4_096, "{counted}");

    // The newest, the oldest and one in the middle move.
    let disputed = ids(&store, owner, Status::Completed).await;
    for id in [
        disputed[0],
        disputed[disputed.len() / 2],
        disputed[disputed.len() - 1],
    ] {
        move_by_hand(&database, owner, &id.to_string()).await;
    }
    let expected = ids(&store, owner, Status::Completed).await;
    assert_eq!(expected.len(), disputed.len() - 3);
    assert_eq!(joined(&pages(&store, owner).await), expected);
    // Worked in, it is the same.
    advance_ranges(&store, None).await.unwrap();
    assert_eq!(joined(&pages(&store, owner).await), expected);
}

type Ids = Vec<legwork::domain::TaskId>;

fn joined(pages: &[Ids]) -> Ids {
    pages.concat()
}

/// All pages of the completed tasks of an owner.
async fn pages(store: &Store, owner: Owner) -> Vec<Ids> {
    let mut pages = Vec::new();
    loop {
        let offset = 100 * pages.len() as i64;
        let page =
            store.snapshot(move |tx| tx.tasks_of(owner, Some(Status::Completed), 100, offset));
        let page = page.await.unwrap();
        if page.tasks.is_empty() {
            return pages;
        }
        pages.push(page.tasks.iter().map(|task| task.id).collect());
    }
}

/// In the order of the list, by another way.
async fn ids(store: &Store, owner: Owner, status: Status) -> Ids {
    let filter = legwork::store::TaskFilter {
        account: Some(owner.account),
        environment: None,
        status: Some(status),
    };
    let all = store.snapshot(move |tx| tx.tasks_before(filter, None, 1_000_000));
    let all: Vec<legwork::domain::Task> = all.await.unwrap();
    let own = all.iter().filter(|task| task.owner == owner);
    own.map(|task| task.id).collect()
}

/// From completed to cancelled, which no use case does: all that the counts look at.
async fn move_by_hand(database: &Database, owner: Owner, task: &str) {
    let (account, environment) = (owner.account, owner.environment);
    let of_owner = format!("account_id = '{account}' AND environment = '{environment}'");
    let number = format!("(SELECT last_event FROM task_totals WHERE {of_owner})");
    let sql = format!(
        "UPDATE task_totals SET last_event = last_event + 1, completed = completed - 1,
             cancelled = cancelled + 1 WHERE {of_owner};
         UPDATE tasks SET status = 'cancelled' WHERE id = '{task}';
         INSERT INTO events (id, account_id, environment, number, type, task_id, data, created_at)
         VALUES ('fff{rest}', '{account}', '{environment}', {number}, 'task.cancelled', '{task}', '{{}}', 0);
         INSERT INTO task_moves (task_id, number, from_status, to_status, made_by, made_at)
         VALUES ('{task}', {number}, 'completed', 'cancelled', 'system', 0);",
        rest = &task[3..],
    );
    database.execute(&sql).await;
}
