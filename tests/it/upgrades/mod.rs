//! Upgrades while servers run: the previous version of the program beside this one, on one database.
//! Those that build the previous version are long. CONTRIBUTING.md has the commands.

mod indexes;
mod previous;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use previous::Previous;
use serde_json::{Value, json};

use crate::support::{
    Client, Command, Database, Engine, Server, key_in, path, runtime, storefront,
};

/// For an account that may create this many, this fast.
const MANY_TASKS: &str = "UPDATE accounts SET tier = 'enterprise'";

/// A task of the test environment from its creation to the approval of its proof. Each step goes to
/// the next server, round and round.
async fn take_turns(servers: &[Client]) -> Value {
    let mut next = servers.iter().cycle();
    let mut server = || next.next().unwrap();
    let key = unused_key();
    let keyed = [("Idempotency-Key", key.as_str())];
    let task = storefront();
    let made = server()
        .post_with("/v1/tasks", &keyed, &task)
        .await
        .expect(201);
    // The other server replays the answer.
    let again = server()
        .post_with("/v1/tasks", &keyed, &task)
        .await
        .expect(201);
    assert_eq!(made["id"], again["id"]);
    let id = made["id"].as_str().unwrap();
    let helpers = format!("/v1/test_helpers/tasks/{id}");
    let to = json!({"to": "in_progress"});
    let moved = server().post(&format!("{helpers}/advance"), &to).await;
    moved.expect(200);
    let place = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595});
    let sent = server().post(&format!("{helpers}/proofs"), &place).await;
    let sent = sent.expect(201);
    let proof = sent["data"][0]["id"].as_str().unwrap();
    let approve = format!("{}/proofs/{proof}/approve", path(&made));
    server().post(&approve, &json!({})).await.expect(200);
    let list = server().get("/v1/tasks?status=completed&limit=1").await;
    list.expect(200);
    let events = format!("/v1/events?task_id={id}");
    let events = server().get(&events).await.expect(200);
    assert!(events["data"].as_array().unwrap().len() >= 5);
    server().get(&path(&made)).await.expect(200)
}

fn unused_key() -> String {
    let random: [u8; 8] = legwork::ambient::random();
    format!("{:016x}", u64::from_be_bytes(random))
}

/// Many at once.
async fn mixed_calls(servers: &[Client]) -> Vec<Value> {
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.extend(join_all((0..8).map(|_| take_turns(servers))).await);
    }
    assert!(tasks.iter().all(|task| task["status"] == "completed"));
    tasks
}

fn serve(database: &Database) -> Server {
    Server::start(database)
}

#[test]
#[ignore = "builds the previous version; CONTRIBUTING.md has the command"]
fn the_previous_version_works_beside_this_one_until_all_are_upgraded() {
    let previous = Previous::build();
    runtime().block_on(async {
        let database = Database::create(Engine::Postgres);
        let old = [previous.serve(&database), previous.serve(&database)];
        let key = key_in(&old[0].greeting, "svc_test_");
        database.execute(MANY_TASKS).await;
        let both = [old[0].client(&key), old[1].client(&key)];
        let mut tasks = mixed_calls(&both).await;
        // The first new server migrates the database under those that run.
        let calls = tokio::spawn({
            let both = both.clone();
            async move { mixed_calls(&both).await }
        });
        let new = serve(&database);
        tasks.extend(calls.await.unwrap());
        let three = [both[0].clone(), new.client(&key), both[1].clone()];
        tasks.extend(mixed_calls(&three).await);
        // What was stopped does not start again: it does not know the schema.
        if is_newer(&database, &previous).await {
            let said = previous.command(&["--listen", "127.0.0.1:0"], &database);
            let said = said.fail();
            assert!(said.contains("migrated by a newer legwork"), "{said}");
        }
        let [first, second] = old;
        assert_eq!(first.terminate(), Some(0));
        let last = serve(&database);
        let three = [both[1].clone(), new.client(&key), last.client(&key)];
        tasks.extend(mixed_calls(&three).await);
        assert_eq!(second.terminate(), Some(0));
        let new_ones = [new.client(&key), last.client(&key)];
        tasks.extend(mixed_calls(&new_ones).await);
        for task in &tasks {
            let found = new_ones[0].get(&path(task)).await.expect(200);
            assert_eq!(found["status"], "completed");
        }
        let list = new_ones[1].get("/v1/tasks?limit=1").await.expect(200);
        assert_eq!(list["meta"]["total"], tasks.len());
        for command in [["ledger", "verify"], ["audit", "verify"]] {
            Command::new(&command).on(&database).succeed();
        }
    });
}

/// Whether this version has migrations that the previous one does not know.
async fn is_newer(database: &Database, previous: &Previous) -> bool {
    let count = "SELECT count(*)::text FROM migrations";
    let now = database.column(count).await;
    let before = Database::create(Engine::Postgres);
    previous.command(&["migrate"], &before).succeed();
    before.column(count).await != now
}

/// How long requests wait while the database is migrated. With 10 million tasks it takes more than half an
/// hour and 35 GB.
#[test]
#[ignore = "fills a database; CONTRIBUTING.md has the command"]
fn migrations_hold_nobody_up_for_long() {
    let previous = Previous::build();
    let tasks = std::env::var("LEGWORK_TEST_TASKS").map_or(10_000_000, |n| n.parse().unwrap());
    runtime().block_on(async {
        let database = Arc::new(Database::create(Engine::Postgres));
        let old = previous.serve(&database);
        let client = old.client(&key_in(&old.greeting, "svc_test_"));
        database.execute(MANY_TASKS).await;
        client.post("/v1/tasks", &storefront()).await.expect(201);
        fill(&database, tasks).await;
        let quiet = longest_wait(&client, async {
            tokio::time::sleep(Duration::from_secs(5)).await;
        })
        .await;
        let begun = Instant::now();
        let busy = longest_wait(&client, async {
            let database = database.clone();
            let migrate = move || Command::new(&["migrate"]).on(&database).succeed();
            tokio::task::spawn_blocking(migrate).await.unwrap();
        })
        .await;
        println!(
            "{tasks} tasks: migrated in {:.1?}; longest request meanwhile {busy:.1?}, before {quiet:.1?}",
            begun.elapsed()
        );
        assert!(busy < Duration::from_secs(5), "{busy:?}");
    });
}

/// Copies of the one task and of its events, each under a number of its own.
async fn fill(database: &Database, tasks: u64) {
    for table in ["tasks", "events"] {
        let columns = format!(
            "SELECT string_agg(quote_ident(column_name), ',' ORDER BY ordinal_position)
             FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name = '{table}'"
        );
        let columns = database.column(&columns).await.remove(0);
        let values = columns.split(',').map(|column| match column {
            "id" => "md5(g.n::text || t.id)".to_owned(),
            "number" => "1000000 + g.n * 4 + t.number".to_owned(),
            other => format!("t.{other}"),
        });
        let values = values.collect::<Vec<_>>().join(",");
        let insert = format!(
            "INSERT INTO {table} ({columns}) SELECT {values}
             FROM {table} t CROSS JOIN generate_series(1, {tasks}) AS g (n);
             ANALYZE {table};"
        );
        database.execute(&insert).await;
    }
}

/// The longest time that a request took while something else happened.
async fn longest_wait(client: &Client, work: impl Future<Output = ()>) -> Duration {
    let done = Arc::new(AtomicBool::new(false));
    let clients = (0..4).map(|_| {
        let (client, done) = (client.clone(), done.clone());
        tokio::spawn(async move {
            let mut longest = Duration::ZERO;
            while !done.load(Ordering::Relaxed) {
                let begun = Instant::now();
                client.post("/v1/tasks", &storefront()).await.expect(201);
                longest = longest.max(begun.elapsed());
            }
            longest
        })
    });
    let clients: Vec<_> = clients.collect();
    work.await;
    done.store(true, Ordering::Relaxed);
    let longest = join_all(clients).await;
    longest.into_iter().map(Result::unwrap).max().unwrap()
}
