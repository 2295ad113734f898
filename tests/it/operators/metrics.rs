//! What Prometheus reads at /metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use legwork::domain::{JobKind, JobName};
use legwork::monitoring::METRICS;
use legwork::store::all_statements;
use serde_json::json;
use tokio_postgres::NoTls;

use crate::support::{Database, Engine, Server, TestApp, on_both_engines, tell};

on_both_engines!(
    figures_are_read_when_scraped,
    everything_is_described,
    figures_are_found_by_indexes,
);

/// The samples of a scrape, by name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let split = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    lines.map(split).collect()
}

async fn scrape(app: &TestApp) -> BTreeMap<String, f64> {
    let reply = app.client().get("/metrics").await;
    assert_eq!(reply.status, 200);
    samples(&reply.text)
}

async fn figures_are_read_when_scraped(app: TestApp) {
    let dev = app.developer().await;
    let hook = json!({"url": "https://127.0.0.1:9/hook"}).to_string();
    let set = dev.test.send("PUT", "/v1/account/webhook", &[], hook).await;
    set.expect(200);
    let noon = app.clock.now();
    app.store
        .write(move |tx| {
            for (kind, subject) in [
                (JobKind::Mail, "one"),
                (JobKind::Mail, "two"),
                (JobKind::Push, "three"),
                (JobKind::Post, "four"),
                (JobKind::Post, "dead"),
            ] {
                tx.add_job(&JobName::new(kind, subject), noon)?;
            }
            let later = noon.plus(Duration::from_secs(3_600));
            tx.add_job_at(&JobName::new(JobKind::Mail, "later"), later, noon)
        })
        .await
        .unwrap();
    app.database
        .execute("UPDATE jobs SET run_at = NULL WHERE subject = 'dead'")
        .await;
    app.clock.move_to(noon.plus(Duration::from_secs(60)));
    dev.create_task().await;
    app.clock.move_to(noon.plus(Duration::from_secs(90)));
    let found = scrape(&app).await;
    for (name, value) in [
        ("legwork_database_up", 1.0),
        ("legwork_jobs_due{lane=\"notifications\"}", 3.0),
        ("legwork_jobs_due{lane=\"rest\"}", 1.0),
        (
            "legwork_jobs_oldest_due_seconds{lane=\"notifications\"}",
            90.0,
        ),
        ("legwork_jobs_oldest_due_seconds{lane=\"rest\"}", 90.0),
        ("legwork_jobs_dead", 1.0),
        ("legwork_mails_waiting", 3.0),
        ("legwork_deliveries_pending", 2.0),
        ("legwork_deliveries_oldest_seconds", 30.0),
        ("legwork_delivery_lag_seconds", 30.0),
        ("legwork_build_info{version=\"0.1.0\"}", 1.0),
    ] {
        assert_eq!(found.get(name), Some(&value), "{name}");
    }
    let lag = found["legwork_scheduler_lag_seconds"];
    assert!((0.0..60.0).contains(&lag), "{lag}");
    assert!(found["legwork_disk_free_bytes"] > 0.0);
    assert!(found["process_open_fds"] > 3.0);
}

/// Every sample is of a metric of the table, with its kind and its meaning.
async fn everything_is_described(app: TestApp) {
    app.client().get("/healthz").await;
    let text = app.client().get("/metrics").await.text;
    let described = |what: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(what));
        let pairs = lines.map(|line| line.trim().split_once(' ').unwrap());
        let pairs: Vec<_> = pairs
            .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
            .collect();
        let map: BTreeMap<_, _> = pairs.iter().cloned().collect();
        assert_eq!(map.len(), pairs.len(), "{what}: something twice");
        map
    };
    let (help, kinds) = (described("# HELP "), described("# TYPE "));
    let mut seen = BTreeSet::new();
    for sample in samples(&text).keys() {
        let name = sample.split('{').next().unwrap();
        let metric = METRICS
            .iter()
            .find(|metric| {
                let rest = name.strip_prefix(metric.name);
                matches!(rest, Some("" | "_bucket" | "_sum" | "_count"))
            })
            .unwrap_or_else(|| panic!("{name} is not in the table"));
        assert_eq!(help.get(metric.name), Some(&metric.help()), "{name}");
        assert_eq!(
            kinds.get(metric.name).map(String::as_str),
            Some(metric.kind.as_str())
        );
        seen.insert(metric.name);
    }
    for name in [
        "legwork_requests_total",
        "legwork_database_up",
        "process_max_fds",
    ] {
        assert!(seen.contains(name), "{name}");
    }
}

/// However long the history is, a scrape reads only what waits.
async fn figures_are_found_by_indexes(app: TestApp) {
    // Due jobs are two figures: one for each lane.
    let ends = [") due", ") dead", ") mails", ") pending"];
    let read = |sql: &&str| ends.iter().any(|end| sql.ends_with(end));
    let statements: Vec<_> = all_statements().map(|one| one.sql()).filter(read).collect();
    assert_eq!(statements.len(), ends.len() + 1);
    for sql in statements {
        let plan = plan(&app.database, sql).await;
        let scan = plan.iter().find(|step| {
            let table = ["jobs", "deliveries"]
                .iter()
                .any(|name| step.contains(name));
            table && !step.to_lowercase().contains("index")
        });
        assert_eq!(scan, None, "{sql}\n{plan:#?}");
    }
}

async fn plan(database: &Database, sql: &str) -> Vec<String> {
    let sql = sql.replace("?1", "100").replace("?2", "100");
    let Some(url) = database.url() else {
        let connection = rusqlite::Connection::open(database.file()).unwrap();
        let mut explained = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let steps = explained.query_map([], |row| row.get(3)).unwrap();
        return steps.map(Result::unwrap).collect();
    };
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    // The tables are empty, so that reading all of one would be cheapest.
    client
        .batch_execute("SET enable_seqscan = off")
        .await
        .unwrap();
    let steps = client.query(&format!("EXPLAIN {sql}"), &[]).await.unwrap();
    let steps = steps.iter().map(|row| row.get::<_, String>(0));
    // "Bitmap Heap Scan" follows the index below it.
    steps
        .filter(|step| step.contains("Scan") && !step.contains("Heap Scan"))
        .collect()
}

/// The program itself: nothing is set before there is somebody who keeps it.
#[test]
fn the_connections_to_postgres_are_told() {
    let database = Arc::new(Database::migrated(Engine::Postgres));
    let server = Server::start(&database);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let text = runtime.block_on(server.client("none").get("/metrics")).text;
    let connections = samples(&text).get("legwork_pool_connections").copied();
    assert!(connections.is_some_and(|number| number >= 1.0), "{text}");
}

#[test]
fn a_database_that_hangs_does_not_hang_the_metrics() {
    tell(Engine::Postgres, async |app: TestApp| {
        let url = app.database.url().unwrap();
        let (locker, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let lock = "BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE";
        locker.batch_execute(lock).await.unwrap();
        let scrapes = futures_util::future::join_all((0..10).map(|_| scrape(&app)));
        for found in scrapes.await {
            assert_eq!(found["legwork_database_up"], 0.0);
            assert!(!found.contains_key("legwork_jobs_dead"));
            assert!(!found.contains_key("legwork_jobs_due{lane=\"rest\"}"));
            assert!(found.contains_key("process_open_fds"));
        }
        let waiting = "SELECT COUNT(*)::text FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        assert_eq!(
            app.database.column(waiting).await,
            ["1"],
            "one asks for all"
        );
        locker.batch_execute("ROLLBACK").await.unwrap();
        let found = scrape(&app).await;
        assert_eq!(found["legwork_database_up"], 1.0);
        assert_eq!(found["legwork_jobs_dead"], 0.0);
    });
}
