//! More requests than the database can serve. It stands still here, so that they pile up.

use std::time::Duration;

use legwork::api::Timeouts;
use legwork::store::{StoreError, Tx};
use tokio::task::JoinSet;

use super::disk::Gate;
use super::{NEVER, in_time, is_unavailable};
use crate::support::{Client, Developer, Engine, Reply, TestApp, on_both_engines, storefront};

/// More than may wait for long.
const MANY: usize = 200;
/// 128 may wait for however long. A few of them are not requests, but work in the background.
const FEW: usize = 100;
/// Connections of the store to PostgreSQL, without the two that only look up rows.
const CONNECTIONS: usize = 6;

on_both_engines!(
    a_full_queue_refuses_at_once_and_serves_what_it_admitted,
    work_outside_of_requests_is_never_refused,
    a_few_wait_for_a_database_that_pauses,
);

/// A store that stands still until the gate opens.
struct Standstill(Gate);

impl Standstill {
    fn of(app: &TestApp) -> Self {
        let standstill = Self(Gate::default());
        let gate = &standstill.0;
        let held = match app.database.engine {
            Engine::Sqlite => 1,
            Engine::Postgres => CONNECTIONS,
        };
        // One after the other: a connection is opened when all others are busy.
        for held in 1..=held {
            let (store, passes, engine) = (app.store.clone(), gate.clone(), app.database.engine);
            tokio::spawn(async move {
                match engine {
                    Engine::Sqlite => store.write(move |_: &mut Tx<'_>| passes.pass()).await,
                    Engine::Postgres => store.snapshot(move |_: &mut Tx<'_>| passes.pass()).await,
                }
            });
            assert!(tokio::task::block_in_place(|| gate.holds(held)));
        }
        standstill
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Its requests wait as long as the test needs.
async fn patient(app: &TestApp) -> (TestApp, Developer) {
    let timeouts = Timeouts {
        request: NEVER,
        ..Timeouts::default()
    };
    let app = TestApp::start_with(app.store.clone(), &app.database, timeouts).await;
    let developer = app.developer().await;
    (app, developer)
}

async fn create(client: Client) -> Reply {
    client.post("/v1/tasks", &storefront()).await
}

/// Sends more and more until one is answered. All others wait.
async fn overload(client: &Client) -> (JoinSet<Reply>, Reply) {
    let mut requests = JoinSet::new();
    for _ in 0..MANY {
        requests.spawn(create(client.clone()));
    }
    loop {
        let answered = tokio::time::timeout(Duration::from_millis(20), requests.join_next()).await;
        if let Ok(Some(reply)) = answered {
            return (requests, reply.unwrap());
        }
        requests.spawn(create(client.clone()));
    }
}

async fn a_full_queue_refuses_at_once_and_serves_what_it_admitted(app: TestApp) {
    let (app, dev) = patient(&app).await;
    let standstill = Standstill::of(&app);
    let (waiting, first) = in_time(NEVER, overload(&dev.test)).await;
    is_unavailable(&first);
    // None of these would be answered if it waited.
    for _ in 0..50 {
        is_unavailable(&in_time(NEVER, create(dev.test.clone())).await);
    }
    let healthy = in_time(NEVER, app.client().get("/healthz")).await;
    let metrics = in_time(NEVER, app.client().get("/metrics")).await;
    assert_eq!(
        (healthy.status.as_u16(), metrics.status.as_u16()),
        (200, 200)
    );
    assert!(metrics.text.contains("\nlegwork_overload_refusals_total "));
    drop(standstill);
    let replies = in_time(NEVER, waiting.join_all()).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|reply| reply.status == 201);
    refused.iter().for_each(is_unavailable);
    assert!(created.len() >= FEW, "{} were served", created.len());
    create(dev.test.clone()).await.expect(201);
    let list = dev.test.get("/v1/tasks").await.expect(200);
    assert_eq!(list["meta"]["total"], created.len() + 1);
}

async fn work_outside_of_requests_is_never_refused(app: TestApp) {
    let (app, dev) = patient(&app).await;
    let standstill = Standstill::of(&app);
    let (waiting, first) = in_time(NEVER, overload(&dev.test)).await;
    is_unavailable(&first);
    let store = app.store.clone();
    let background = tokio::spawn(async move {
        let nothing = |_: &mut Tx<'_>| Ok::<_, StoreError>(());
        store.write(nothing).await?;
        store.snapshot(nothing).await
    });
    drop(standstill);
    in_time(NEVER, background).await.unwrap().unwrap();
    in_time(NEVER, waiting.join_all()).await;
}

async fn a_few_wait_for_a_database_that_pauses(app: TestApp) {
    let (app, dev) = patient(&app).await;
    let standstill = Standstill::of(&app);
    let mut requests = JoinSet::new();
    for _ in 0..20 {
        requests.spawn(create(dev.test.clone()));
    }
    // Longer than a full queue would be tolerated.
    let answered = tokio::time::timeout(Duration::from_millis(500), requests.join_next()).await;
    assert!(answered.is_err(), "{answered:?}");
    drop(standstill);
    for reply in in_time(NEVER, requests.join_all()).await {
        reply.expect(201);
    }
}
