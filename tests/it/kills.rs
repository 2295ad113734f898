//! `kill -9` at moments that a seed chooses, while clients create with idempotency keys, charge and
//! cancel. Who got no answer asks again at the next server, with the same key.
//!
//! LEGWORK_TEST_KILLS says how many, LEGWORK_TEST_SEED when. docs/RELIABILITY.md has the long form.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use legwork::ambient::Clock;
use legwork::domain::Tier;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{
    Client, Command, Database, Developer, Engine, Server, TestApp, path, storefront,
};

/// In a plain run.
const KILLS: u64 = 3;
const SEED: u64 = 1;
/// What a database holds stays small enough to be looked through after each kill.
const KILLS_OF_A_DATABASE: u64 = 50;
const CLIENTS: u64 = 8;

#[test]
fn what_was_acknowledged_outlives_every_kill_on_sqlite() {
    kill_again_and_again(Engine::Sqlite);
}

#[test]
fn what_was_acknowledged_outlives_every_kill_on_postgres() {
    kill_again_and_again(Engine::Postgres);
}

fn number(name: &str, default: u64) -> u64 {
    let asked = std::env::var(name).ok();
    asked.map_or(default, |text| text.parse().unwrap())
}

fn kill_again_and_again(engine: Engine) {
    let mut seed = number("LEGWORK_TEST_SEED", SEED);
    let mut left = number("LEGWORK_TEST_KILLS", KILLS);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut all = Counts::default();
    while left > 0 {
        let kills = left.min(KILLS_OF_A_DATABASE);
        println!("{engine:?}: {kills} kills of LEGWORK_TEST_SEED={seed}");
        runtime.block_on(async {
            let mut story = Story::begin(engine, seed).await;
            for _ in 0..kills {
                story.round().await;
            }
            story.end(&mut all).await;
        });
        println!("{engine:?}: so far {all:?}");
        (left, seed) = (left - kills, seed + 1);
    }
}

/// What the run shows at its end.
#[derive(Debug, Default)]
#[allow(dead_code, reason = "printed")]
struct Counts {
    kills: u64,
    acknowledged: usize,
    cancelled: usize,
    sent_again: usize,
    /// Of those that were sent again: the server was killed between the commit and the answer.
    had_happened: usize,
}

/// One client's creations, of which the last one may have no answer.
#[derive(Default)]
struct Told {
    /// The task of each key.
    tasks: HashMap<String, String>,
    cancelled: Vec<String>,
    unanswered: Option<String>,
}

struct Story {
    app: TestApp,
    dev: Developer,
    database: Arc<Database>,
    seed: u64,
    kills: u64,
    clients: Vec<Told>,
    sent_again: usize,
    had_happened: usize,
}

impl Story {
    async fn begin(engine: Engine, seed: u64) -> Self {
        let database = Arc::new(Database::migrated(engine));
        let app = TestApp::start(&database).await;
        app.clock.move_to(Clock::system().now());
        let dev = app.developer_on(Tier::Enterprise).await;
        dev.charge_to("pm_card_visa").await;
        Self {
            app,
            dev,
            database,
            seed,
            kills: 0,
            clients: (0..CLIENTS).map(|_| Told::default()).collect(),
            sent_again: 0,
            had_happened: 0,
        }
    }

    /// A server, until it is killed after so many answers; then a look at what is there.
    async fn round(&mut self) {
        let listen = ["--listen", "127.0.0.1:0", "--log", "off"];
        let command = Command::new(&listen).on(&self.database);
        let server = Server::spawn(command.env("LEGWORK_RATE_LIMITS", "off"));
        let answers = Arc::new(Semaphore::new(0));
        let clients = std::mem::take(&mut self.clients).into_iter().zip(0..);
        let working = clients.map(|(told, number)| {
            // Half of the tasks are charged, by jobs.
            let keys = [&self.dev.test_key, &self.dev.live_key];
            let work = Work {
                client: server.client(keys[number as usize % 2]),
                name: format!("{}-{}-{number}", self.seed, self.kills),
                random: mix(self.seed ^ mix(self.kills ^ mix(number))),
                answers: answers.clone(),
            };
            work.until_the_server_is_gone(told)
        });
        let working = tokio::spawn(join_all(working.collect::<Vec<_>>()));
        let wanted = 5 + mix(self.seed ^ mix(self.kills)) % 40;
        // Never closed.
        answers.acquire_many(wanted as u32).await.unwrap().forget();
        server.kill();
        self.clients = working.await.unwrap();
        self.kills += 1;
        self.look().await;
    }

    /// All that was acknowledged is there, nothing is there twice, and the ledger adds up.
    async fn look(&mut self) {
        let at = format!(
            "after kill {} of LEGWORK_TEST_SEED={}",
            self.kills, self.seed
        );
        let (found, told) = self.read(&at).await;
        for told in &self.clients {
            for (key, task) in &told.tasks {
                let there = found.get(key).map(|(id, _)| id);
                assert_eq!(there, Some(task), "{at}: {key} was acknowledged");
            }
            for key in &told.cancelled {
                assert_eq!(found[key].1, "cancelled", "{at}: {key}");
            }
            let unanswered = told.unanswered.iter();
            self.sent_again += unanswered.len();
            self.had_happened += unanswered.filter(|key| found.contains_key(*key)).count();
        }
        let mut tasks: Vec<_> = found.into_values().map(|(id, _)| id).collect();
        tasks.sort();
        assert_eq!(told, tasks, "{at}: each task has one event of its creation");
        let report = self.app.verify().await;
        assert_eq!(report.differences, Vec::<String>::new(), "{at}");
    }

    /// The task and the status of each key, and the tasks whose creation is an event, in order. All
    /// of one moment: PostgreSQL may still be at work for the server that was killed.
    async fn read(&self, at: &str) -> (HashMap<String, (String, String)>, Vec<String>) {
        let sql = "SELECT id || '|' || status || '|' || metadata FROM tasks
            UNION ALL SELECT task_id FROM events WHERE type = 'task.created'";
        let (mut found, mut told) = (HashMap::new(), Vec::new());
        for line in self.database.column(sql).await {
            let Some((id, rest)) = line.split_once('|') else {
                told.push(line);
                continue;
            };
            let (status, metadata) = rest.split_once('|').unwrap();
            let metadata: Value = serde_json::from_str(metadata).unwrap();
            let key = metadata["key"].as_str().unwrap().to_owned();
            let twice = found.insert(key, (id.to_owned(), status.to_owned()));
            assert!(twice.is_none(), "{at}: {metadata} was created twice");
        }
        told.sort();
        (found, told)
    }

    /// The jobs of the killed are done by another process, and no cent is left over.
    async fn end(self, all: &mut Counts) {
        self.database
            .execute("UPDATE jobs SET run_at = 0 WHERE run_at IS NOT NULL")
            .await;
        self.app.jobs.drain().await.unwrap();
        TestApp::expect_settled(&self.app.verify().await);
        let left = self.database.column("SELECT kind FROM jobs").await;
        assert_eq!(left, Vec::<String>::new());
        let count = |of: fn(&Told) -> usize| self.clients.iter().map(of).sum::<usize>();
        all.kills += self.kills;
        all.acknowledged += count(|told| told.tasks.len());
        all.cancelled += count(|told| told.cancelled.len());
        all.sent_again += self.sent_again;
        all.had_happened += self.had_happened;
    }
}

/// A client at one server.
struct Work {
    client: Client,
    /// Of its keys: no two are the same.
    name: String,
    random: u64,
    answers: Arc<Semaphore>,
}

impl Work {
    async fn until_the_server_is_gone(mut self, mut told: Told) -> Told {
        // What had no answer comes first.
        let mut next = told.unanswered.take();
        for number in 0.. {
            let key = next
                .take()
                .unwrap_or_else(|| format!("{}-{number}", self.name));
            let Some(task) = self.create(&key).await else {
                told.unanswered = Some(key);
                return told;
            };
            let id = task["id"].as_str().unwrap().to_owned();
            told.tasks.insert(key.clone(), id);
            self.random = mix(self.random);
            if self.random.is_multiple_of(3) {
                let cancel = format!("{}/cancel", path(&task));
                let Some(cancelled) = self.client.try_post(&cancel, &json!({})).await else {
                    return told;
                };
                cancelled.expect(200);
                told.cancelled.push(key);
            }
        }
        told
    }

    async fn create(&self, key: &str) -> Option<Value> {
        let mut body = storefront();
        body["metadata"] = json!({"key": key});
        let headers = [("idempotency-key", key)];
        let reply = self
            .client
            .try_post_with("/v1/tasks", &headers, &body)
            .await?;
        self.answers.add_permits(1);
        Some(reply.expect(201))
    }
}

/// One number after the other, each unlike the last.
fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
