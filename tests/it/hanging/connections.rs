//! How many connections there are, and what the server does when it cannot have them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures_util::future::join_all;
use tokio_postgres::NoTls;

use super::cluster::ask;
use super::{NEVER, in_time, is_unavailable, serve};
use crate::support::{Database, Engine, eventually, key_in, runtime, storefront};

const CONNECTIONS: u32 = 4;

#[test]
fn statements_that_are_given_up_end_in_the_server_too() {
    let database = Database::migrated(Engine::Postgres);
    let url = database.url().unwrap();
    let server = serve(&database, &url, CONNECTIONS, 1);
    runtime().block_on(async {
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        // The server of all tests may be slow, and this program does not wait long.
        let created = async || client.post("/v1/tasks", &storefront()).await.status == 201;
        eventually("a task is created", created).await;
        let (locker, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let lock = "BEGIN; LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE";
        locker.batch_execute(lock).await.unwrap();
        let watched = Watched::start(&url);
        for _ in 0..4 {
            let task = storefront();
            let asked = (0..6).map(|_| client.post("/v1/tasks", &task));
            for reply in in_time(NEVER, join_all(asked)).await {
                is_unavailable(&reply);
            }
        }
        let stuck = "SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'legwork' AND datname = current_database()
              AND wait_event_type = 'Lock'";
        let ended = async || ask(&url, stuck).await == "0";
        eventually("nothing waits in the server any more", ended).await;
        locker.batch_execute("COMMIT").await.unwrap();
        eventually("a task is created again", created).await;
        // One more than configured may exist for a moment, to see whether the server answers.
        let most = watched.stop().await;
        assert!(most <= CONNECTIONS + 1, "{most} connections");
    });
}

/// However few processors there are: who waits for a lock needs none.
#[test]
fn reads_that_wait_for_a_lock_do_not_hold_up_others() {
    let database = Database::migrated(Engine::Postgres);
    let url = database.url().unwrap();
    let server = serve(&database, &url, 14, 30);
    runtime().block_on(async {
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        client.get("/v1/events").await.expect(200);
        let (locker, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let lock = "BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE";
        locker.batch_execute(lock).await.unwrap();
        let waiting = join_all((0..10).map(|_| client.get("/v1/events")));
        let passing = async {
            let stuck = "SELECT count(*) FROM pg_stat_activity
                WHERE application_name = 'legwork' AND datname = current_database()
                  AND wait_event_type = 'Lock'";
            let all_wait = async || ask(&url, stuck).await == "10";
            eventually("all wait for the lock", all_wait).await;
            for _ in 0..5 {
                client.get("/v1/tasks").await.expect(200);
            }
            assert_eq!(ask(&url, stuck).await, "10");
            locker.batch_execute("COMMIT").await.unwrap();
        };
        let done = futures_util::future::join(waiting, passing);
        for reply in in_time(NEVER, done).await.0 {
            reply.expect(200);
        }
    });
}

/// Counts the connections of the program all the time.
struct Watched {
    most: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
    watching: tokio::task::JoinHandle<()>,
}

impl Watched {
    fn start(url: &str) -> Self {
        let (most, stop) = (Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
        let (url, seen, stopped) = (url.to_owned(), most.clone(), stop.clone());
        let watching = tokio::spawn(async move {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            let count = "SELECT count(*) FROM pg_stat_activity
                WHERE application_name = 'legwork' AND datname = current_database()";
            let count = client.prepare(count).await.unwrap();
            while !stopped.load(Ordering::Relaxed) {
                let row = client.query_one(&count, &[]).await.unwrap();
                seen.fetch_max(row.get::<_, i64>(0) as u32, Ordering::Relaxed);
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        });
        Self {
            most,
            stop,
            watching,
        }
    }

    async fn stop(self) -> u32 {
        self.stop.store(true, Ordering::Relaxed);
        self.watching.await.unwrap();
        self.most.load(Ordering::Relaxed)
    }
}

#[test]
fn requests_are_served_by_the_connections_there_are() {
    let database = Database::migrated(Engine::Postgres);
    let url = database.url().unwrap();
    let random = u64::from_be_bytes(legwork::ambient::random());
    let role = format!("limited_{random:016x}");
    runtime().block_on(async {
        let made = format!(
            "CREATE ROLE {role} LOGIN CONNECTION LIMIT 3;
             GRANT ALL ON ALL TABLES IN SCHEMA public TO {role};
             GRANT ALL ON SCHEMA public TO {role}"
        );
        database.execute(&made).await;
        let (_, rest) = url.split_once('@').unwrap();
        let server = serve(&database, &format!("postgres://{role}@{rest}"), 12, 10);
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        for _ in 0..10 {
            let task = storefront();
            let asked = (0..30).map(|_| client.post("/v1/tasks", &task));
            for reply in in_time(NEVER, join_all(asked)).await {
                reply.expect(201);
            }
        }
        assert_eq!(server.terminate(), Some(0));
        let gone = format!("DROP OWNED BY {role}; DROP ROLE {role}");
        database.execute(&gone).await;
    });
}
