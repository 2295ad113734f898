//! Many deliveries at once: in order for each task, bounded for each endpoint, independent of others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use legwork::domain::Timestamp;
use legwork::store::{Heartbeat, StoreError};
use serde_json::json;

use crate::events::body;
use crate::support::{Client, Response, TestApp, eventually, on_both_engines, storefront};

on_both_engines!(
    events_of_a_task_arrive_in_order,
    an_endpoint_gets_eight_at_a_time,
    a_hanging_endpoint_delays_nobody_else,
    a_dead_process_leaves_its_endpoints_to_others,
    a_claim_of_a_process_that_nobody_knows_is_free,
    whoever_claims_is_known,
    what_another_process_writes_reaches_an_endpoint_that_is_kept,
);

/// A deliverer that runs as in a server.
pub(super) struct Running {
    stop: tokio::sync::watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    pub(super) fn start(app: &TestApp) -> Self {
        let (webhooks, stop) = (app.webhooks.clone(), tokio::sync::watch::Sender::new(false));
        let mut stopped = stop.subscribe();
        let task = tokio::spawn(async move {
            let stopped = async move { drop(stopped.wait_for(|stop| *stop).await) };
            webhooks.run(stopped).await;
        });
        Self { stop, task }
    }

    /// Does not wait for what hangs.
    pub(super) async fn stop(self) {
        self.stop.send_replace(true);
        self.task.abort();
        let _ = self.task.await;
    }
}

async fn events_of_a_task_arrive_in_order(app: TestApp) {
    const TASKS: usize = 30;
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.listen_at(&receiver).await;
    for _ in 0..TASKS {
        let task = dev.create_task().await;
        let advance = format!(
            "/v1/test_helpers/tasks/{}/advance",
            task["id"].as_str().unwrap()
        );
        dev.test
            .post(&advance, &json!({"to": "in_progress"}))
            .await
            .expect(200);
    }
    app.webhooks.drain().await.unwrap();
    let received = receiver.until(TASKS * 5).await;
    let mut by_task: HashMap<String, Vec<String>> = HashMap::new();
    let mut connections = Vec::new();
    for one in &received {
        let told = body(one);
        let events = by_task.entry(told["data"]["id"].to_string()).or_default();
        events.push(told["event"].as_str().unwrap().to_owned());
        connections.push(one.connection);
    }
    let order = [
        "task.created",
        "task.funded",
        "task.posted",
        "task.assigned",
        "task.started",
    ];
    assert_eq!(by_task.len(), TASKS);
    for events in by_task.values() {
        assert_eq!(*events, order);
    }
    connections.sort();
    connections.dedup();
    // Now and then a new one is opened before an old one is back.
    assert!(
        connections.len() <= TASKS,
        "connections are kept: {connections:?}"
    );
}

async fn an_endpoint_gets_eight_at_a_time(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let (dev, other) = (app.developer().await, app.developer().await);
    dev.put_webhook(&receiver.url("/slow"), json!(["task.funded"]))
        .await;
    other
        .put_webhook(&receiver.url("/prompt"), json!(["task.funded"]))
        .await;
    let mut first = true;
    receiver.answer(move |request| {
        let taken = request.path == "/prompt" || std::mem::take(&mut first);
        if taken {
            Response::status(200)
        } else {
            Response::hang("")
        }
    });
    for _ in 0..20 {
        dev.create_task().await;
    }
    let running = Running::start(&app);
    receiver.until(1 + 8).await;
    // While others are served, this one gets nothing more.
    for _ in 0..10 {
        other.create_task().await;
    }
    let received = receiver.until(1 + 8 + 10).await;
    assert_eq!(received.iter().filter(|one| one.path == "/slow").count(), 9);
    running.stop().await;
}

async fn a_hanging_endpoint_delays_nobody_else(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let (slow, prompt) = (app.developer().await, app.developer().await);
    slow.put_webhook(&receiver.url("/slow"), json!(null)).await;
    prompt
        .put_webhook(&receiver.url("/prompt"), json!(null))
        .await;
    let in_flight = Arc::new(AtomicUsize::new(0));
    let hanging = in_flight.clone();
    receiver.answer(move |request| {
        if request.path == "/prompt" {
            return Response::status(200);
        }
        hanging.fetch_add(1, Ordering::SeqCst);
        Response::hang("")
    });
    for _ in 0..10 {
        slow.create_task().await;
    }
    let running = Running::start(&app);
    receiver.until(1).await;
    for _ in 0..10 {
        prompt.create_task().await;
    }
    let received = receiver.until(21).await;
    assert_eq!(
        received.iter().filter(|one| one.path == "/prompt").count(),
        20
    );
    // One that has not taken anything yet gets one at a time.
    assert_eq!(in_flight.load(Ordering::SeqCst), 1);
    running.stop().await;
}

fn heartbeat(process: &str, now: Timestamp) -> Heartbeat {
    Heartbeat {
        process: process.to_owned(),
        alive_until: now.plus(Duration::from_secs(10)),
    }
}

/// Another process has claimed the endpoint and died.
async fn a_dead_process_leaves_its_endpoints_to_others(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.listen_at(&receiver).await;
    dev.create_task().await;
    let now = app.clock.now();
    let dead = heartbeat("dead", now);
    let claimed = app
        .store
        .write(move |tx| tx.claim_endpoints(&dead, now, 10));
    assert_eq!(claimed.await.unwrap().len(), 1);
    app.webhooks.drain().await.unwrap();
    assert!(receiver.received().is_empty(), "it is somebody else's");
    let beat = async |after: u64| {
        app.clock.move_to(now.plus(Duration::from_secs(after)));
        app.webhooks.beat().await.unwrap();
        app.webhooks.drain().await.unwrap();
        receiver.received().len()
    };
    assert_eq!(beat(10).await, 0, "it may live");
    assert_eq!(beat(11).await, 2);
}

/// Another process was taken for dead, claimed the endpoint all the same and died: no row tells of it.
async fn a_claim_of_a_process_that_nobody_knows_is_free(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.listen_at(&receiver).await;
    dev.create_task().await;
    let claim = "UPDATE webhook_endpoints SET claim = 'nobody'";
    app.database.execute(claim).await;
    app.webhooks.drain().await.unwrap();
    assert!(receiver.received().is_empty());
    app.webhooks.beat().await.unwrap();
    app.webhooks.drain().await.unwrap();
    assert_eq!(receiver.received().len(), 2);
}

/// A process that was cut off comes back and claims before its next heartbeat.
async fn whoever_claims_is_known(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.listen_at(&receiver).await;
    dev.create_task().await;
    let known = async || {
        let until = "SELECT CAST(alive_until AS TEXT) FROM processes WHERE id = 'back'";
        let expected = heartbeat("back", app.clock.now()).alive_until;
        app.database.column(until).await == [expected.as_millis().to_string()]
    };
    let claim = async || {
        let now = app.clock.now();
        let claim = app.store.write(move |tx| {
            let claimed = tx.claim_endpoints(&heartbeat("back", now), now, 10)?;
            tx.abandon_endpoint(claimed[0], "back", Some(now))?;
            Ok::<_, StoreError>(claimed[0])
        });
        claim.await.unwrap()
    };
    claim().await;
    assert!(known().await, "it was forgotten");
    app.advance(Duration::from_secs(60));
    assert!(!known().await);
    let account = claim().await;
    assert!(known().await, "its heartbeat was late");
    app.database.execute("DELETE FROM processes").await;
    let now = app.clock.now();
    let claim = app
        .store
        .write(move |tx| tx.claim_endpoint(account, &heartbeat("back", now), now));
    assert!(claim.await.unwrap());
    assert!(known().await, "it claims one");
}

/// An endpoint is kept for a moment after its last delivery. Another process cannot claim it then, and
/// this one is not woken by what that one writes.
async fn what_another_process_writes_reaches_an_endpoint_that_is_kept(app: TestApp) {
    const TURNS: usize = 5;
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.listen_at(&receiver).await;
    let other = TestApp::start(&app.database).await;
    let elsewhere = Client::new(other.address, Some(&dev.test_key));
    let running = Running::start(&app);
    for turn in 0..TURNS {
        dev.create_task().await;
        receiver.until(turn * 4 + 2).await;
        let created = elsewhere.post("/v1/tasks", &storefront()).await;
        created.expect(201);
        receiver.until(turn * 4 + 4).await;
    }
    // Nothing is left to do, so nobody keeps it.
    let kept = "SELECT account_id FROM webhook_endpoints WHERE claim IS NOT NULL";
    eventually("the endpoint is released", || async {
        app.database.column(kept).await.is_empty()
    })
    .await;
    running.stop().await;
}
