//! Real processes: killed at any moment, and two of them on one database.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream;
use legwork::ambient::Clock;
use legwork::domain::{Action, LedgerAccount, Tier};
use serde_json::{Value, json};

use crate::support::{
    Client, Command, Database, Developer, Engine, GOOD_CARD, Server, TestApp, balance, path,
    storefront,
};

fn serve(database: &Database) -> Server {
    let listen = ["--listen", "127.0.0.1:0", "--log", "off"];
    Server::spawn(
        Command::new(&listen)
            .on(database)
            .env("LEGWORK_RATE_LIMITS", "off"),
    )
}

/// A developer who creates and cancels in turns, until the server is gone.
async fn create_and_cancel(client: Client) {
    loop {
        let Some(created) = client.try_post("/v1/tasks", &storefront()).await else {
            return;
        };
        let task = created.expect(201);
        let cancel = format!("{}/cancel", path(&task));
        if client.try_post(&cancel, &json!({})).await.is_none() {
            return;
        }
    }
}

/// Servers are killed while they create, charge, cancel and refund.
fn is_killed_again_and_again(engine: Engine) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let database = Arc::new(Database::migrated(engine));
        let app = TestApp::start(&database).await;
        app.clock.move_to(Clock::system().now());
        let dev = app.developer_on(Tier::Enterprise).await;
        dev.charge_to("pm_card_visa").await;
        for round in 0..6u64 {
            let server = serve(&database);
            let clients = (0..8).map(|_| create_and_cancel(server.client(&dev.live_key)));
            let working = tokio::spawn(join_all(clients.collect::<Vec<_>>()));
            // Killed when so many tasks more are there: no two rounds at the same point.
            let before = count(&app, "tasks").await;
            while count(&app, "tasks").await < before + 20 + round as usize * 7 {
                tokio::task::yield_now().await;
            }
            server.kill();
            working.await.unwrap();
            let report = verify(&app).await;
            assert_eq!(report, Vec::<String>::new(), "round {round}");
        }
        // What the killed had claimed is free when its lease ends.
        app.database
            .execute("UPDATE jobs SET run_at = 0 WHERE run_at IS NOT NULL")
            .await;
        app.jobs.drain().await.unwrap();
        let report = app.verify().await;
        TestApp::expect_settled(&report);
        assert_eq!(count(&app, "jobs").await, 0);
        assert!(report.tasks >= 120, "{} tasks", report.tasks);
    });
}

async fn count(app: &TestApp, table: &str) -> usize {
    let count = format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}");
    app.database.column(&count).await[0].parse().unwrap()
}

async fn verify(app: &TestApp) -> Vec<String> {
    app.verify().await.differences
}

#[test]
fn a_server_killed_at_any_moment_loses_no_cent_on_sqlite() {
    is_killed_again_and_again(Engine::Sqlite);
}

#[test]
fn a_server_killed_at_any_moment_loses_no_cent_on_postgres() {
    is_killed_again_and_again(Engine::Postgres);
}

const DEVELOPERS: usize = 10;
const TASKS: usize = 500;
/// 12 % of the budget.
const ENTERPRISE_FEE: i64 = 300;

/// Ten thousand payments, cancels, approvals and rejections at once, on two servers and a third
/// process that shares their database.
#[test]
fn two_servers_on_one_database_are_exact() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let database = Arc::new(Database::migrated(Engine::Postgres));
        let app = TestApp::start(&database).await;
        // Jobs that this process leaves are due for the others.
        app.clock.move_to(Clock::system().now());
        let servers = [serve(&database), serve(&database)];
        let owners = owners(&app, &servers).await;
        let unpaid = create(&owners).await;
        let proven = create(&owners).await;
        prove(&app, &proven).await;
        let outcomes = race(&app, &unpaid, &proven).await;
        assert_eq!(outcomes.len(), 10_000);
        for task in &unpaid {
            assert_eq!(won(&outcomes, task, "cancel"), 1);
        }
        let mut completed = 0;
        for task in &proven {
            let approved = won(&outcomes, task, "approve");
            assert_eq!(approved + won(&outcomes, task, "reject"), 1);
            assert_eq!(won(&outcomes, task, "cancel"), 0);
            completed += approved as i64;
        }
        let tasks = TASKS as i64;
        assert!((1..tasks).contains(&completed), "one rival won all");
        settle(&app).await;
        let report = app.verify().await;
        TestApp::expect_settled(&report);
        assert_eq!(
            balance(&report, LedgerAccount::PlatformFees),
            ENTERPRISE_FEE * completed
        );
        assert_eq!(
            balance(&report, LedgerAccount::Escrow),
            (tasks - completed) * 2500
        );
        for server in servers {
            assert_eq!(server.terminate(), Some(0));
        }
    });
}

/// A developer, at both servers.
struct Owner {
    dev: Developer,
    clients: [Client; 2],
}

struct Task<'a> {
    task: Value,
    secret: String,
    owner: &'a Owner,
}

type Outcome = (String, &'static str, bool);

impl Task<'_> {
    fn outcome(&self, what: &'static str, won: bool) -> Outcome {
        (self.task["id"].as_str().unwrap().to_owned(), what, won)
    }

    async fn pay(&self, server: usize) -> Outcome {
        let paid = self.owner.clients[server]
            .pay(&self.secret, GOOD_CARD)
            .await;
        let status = paid.status.as_u16();
        assert!([200, 409].contains(&status), "{}", paid.text);
        self.outcome("pay", status == 200)
    }

    async fn cancel(&self, server: usize) -> Outcome {
        let cancel = format!("{}/cancel", path(&self.task));
        let cancelled = self.owner.clients[server].post(&cancel, &json!({})).await;
        let status = cancelled.status.as_u16();
        assert!([200, 409].contains(&status), "{}", cancelled.text);
        self.outcome("cancel", status == 200)
    }

    async fn act(&self, app: &TestApp, what: &'static str, action: Action) -> Outcome {
        let moved = app.try_act(&self.owner.dev, &self.task, action).await;
        self.outcome(what, moved.is_ok())
    }
}

fn won(outcomes: &[Outcome], task: &Task<'_>, what: &str) -> usize {
    let id = task.task["id"].as_str().unwrap();
    let wins = outcomes
        .iter()
        .filter(|(task, did, won)| task == id && *did == what && *won);
    wins.count()
}

async fn at_once<T>(work: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    stream::iter(work).buffer_unordered(100).collect().await
}

async fn owners(app: &TestApp, servers: &[Server; 2]) -> Vec<Owner> {
    let mut owners = Vec::new();
    for _ in 0..DEVELOPERS {
        let dev = app.developer_on(Tier::Enterprise).await;
        let clients = [0, 1].map(|server| servers[server].client(&dev.live_key));
        owners.push(Owner { dev, clients });
    }
    owners
}

async fn create(owners: &[Owner]) -> Vec<Task<'_>> {
    let creations = (0..TASKS).map(|number| -> BoxFuture<'_, _> {
        let owner = &owners[number % DEVELOPERS];
        Box::pin(async move {
            let client = &owner.clients[number % 2];
            let task = client.post("/v1/tasks", &storefront()).await.expect(201);
            let secret = task["payment_client_secret"].as_str().unwrap().to_owned();
            Task {
                task,
                secret,
                owner,
            }
        })
    });
    at_once(creations.collect()).await
}

async fn prove(app: &TestApp, tasks: &[Task<'_>]) {
    let worker = app.payable_worker().await;
    let steps = [
        Action::Accept { worker },
        Action::Start,
        Action::SubmitProof,
    ];
    let work = tasks.iter().map(|task| -> BoxFuture<'_, _> {
        Box::pin(async move {
            assert!(task.pay(0).await.2);
            app.act(&task.owner.dev, &task.task, &steps).await;
        })
    });
    at_once(work.collect()).await;
}

/// For each unpaid task five payments and five cancels, for each proven one four approvals, three
/// rejections and three cancels; mixed so that the rivals of a task meet, each task beginning with
/// another one.
async fn race(app: &TestApp, unpaid: &[Task<'_>], proven: &[Task<'_>]) -> Vec<Outcome> {
    let mut work: Vec<BoxFuture<'_, Outcome>> = Vec::new();
    for (number, (unpaid, proven)) in unpaid.iter().zip(proven).enumerate() {
        for turn in 0..10 {
            let (server, rival) = (turn % 2, (number + turn) % 10);
            work.push(match rival {
                0..5 => Box::pin(unpaid.pay(server)),
                _ => Box::pin(unpaid.cancel(server)),
            });
            work.push(match rival {
                0..4 => Box::pin(proven.act(app, "approve", Action::Approve)),
                4..7 => Box::pin(proven.act(app, "reject", Action::Reject)),
                _ => Box::pin(proven.cancel(server)),
            });
        }
    }
    at_once(work).await
}

/// Waits until the two servers have done all that is to be done.
async fn settle(app: &TestApp) {
    while count(app, "jobs").await > 0 {
        tokio::task::yield_now().await;
    }
}
