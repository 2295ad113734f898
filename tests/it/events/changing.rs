//! Webhooks and deliveries that somebody changes while something is in flight.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::events::concurrency::Running;
use crate::support::{
    Client, Developer, Gate, Received, Receiver, Response, TestApp, eventually, on_both_engines,
};

on_both_engines!(
    a_late_answer_of_the_old_url_says_nothing_about_the_new_one,
    an_endpoint_that_is_enabled_again_goes_on,
    what_is_in_flight_when_the_endpoint_is_gone_is_recorded,
    an_endpoint_that_is_deleted_and_set_again_is_another_one,
    no_attempt_is_missing_when_somebody_asks_again,
);

const LIST: &str = "/v1/account/webhook/deliveries";
const WEBHOOK: &str = "/v1/account/webhook";

/// The ids of the deliveries with that status.
async fn ids(dev: &Developer, status: &str) -> BTreeSet<String> {
    let page = format!("{LIST}?limit=100&status={status}");
    let page = dev.test.get(&page).await.expect(200);
    let listed = page["data"].as_array().unwrap().iter();
    listed
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

async fn has(dev: &Developer, status: &str, count: usize) {
    eventually("the deliveries are there", || async {
        ids(dev, status).await.len() == count
    })
    .await;
}

async fn is_enabled(dev: &Developer) -> bool {
    dev.test.get(WEBHOOK).await.expect(200)["enabled"] == json!(true)
}

fn at<'a>(received: &'a [Received], path: &str) -> Vec<&'a str> {
    let there = received.iter().filter(|one| one.path == path);
    there.map(|one| one.header("webhook-id").unwrap()).collect()
}

/// 410, or the last failure of three days.
async fn a_late_answer_of_the_old_url_says_nothing_about_the_new_one(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let other = TestApp::start(&app.database).await;
    let days = Duration::from_secs(4 * 24 * 60 * 60);
    for (status, later) in [(410, Duration::ZERO), (500, days)] {
        let dev = app.developer().await;
        let subscribe = json!(["task.funded"]);
        dev.put_webhook(&receiver.url("/old"), subscribe.clone())
            .await;
        receiver.answer(|_| Response::status(500));
        dev.create_task().await;
        app.webhooks.drain().await.unwrap();
        app.advance(later);
        let gate = Gate::default();
        let handle = gate.handle();
        receiver.answer(move |request| match request.path.as_str() {
            "/old" => Response::status(status).behind(&handle),
            _ => Response::status(200),
        });
        let before = receiver.received().len();
        dev.create_task().await;
        let running = Running::start(&app);
        receiver.until(before + 1).await;
        // Another server, so that nobody is told.
        let elsewhere = Client::new(other.address, Some(&dev.test_key));
        let body = json!({"url": receiver.url("/new"), "events": subscribe}).to_string();
        elsewhere.send("PUT", WEBHOOK, &[], body).await.expect(200);
        gate.open();
        eventually("the answer is recorded", || async {
            let page = dev.test.get(&format!("{LIST}?limit=100")).await.expect(200);
            let listed = page["data"].as_array().unwrap().clone();
            listed.iter().any(|one| one["status_code"] == json!(status))
        })
        .await;
        assert!(is_enabled(&dev).await, "{status}");
        let state = dev.test.get(WEBHOOK).await.expect(200);
        assert_eq!(state["failing_since"], json!(null));
        dev.create_task().await;
        eventually("the new URL gets events", || async {
            !at(&receiver.received(), "/new").is_empty()
        })
        .await;
        assert!(app.notices().await.is_empty());
        running.stop().await;
        dev.test.delete(WEBHOOK).await.expect(200);
    }
}

/// One delivery that is taken, then `count` more, of which eight are in flight: one answers 410, the
/// others wait for the gate.
async fn gone_while_others_are_in_flight(
    receiver: &Receiver,
    dev: &Developer,
    count: usize,
) -> Gate {
    let gate = Gate::default();
    let (handle, mut seen) = (gate.handle(), 0);
    receiver.answer(move |_| {
        seen += 1;
        match seen {
            1 => Response::status(200),
            2..=8 => Response::status(200).behind(&handle),
            9 => Response::status(410),
            _ => Response::status(200),
        }
    });
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    for _ in 0..=count {
        dev.create_task().await;
    }
    gate
}

async fn an_endpoint_that_is_enabled_again_goes_on(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let gate = gone_while_others_are_in_flight(&receiver, &dev, 12).await;
    let running = Running::start(&app);
    eventually("it is disabled", || async { !is_enabled(&dev).await }).await;
    assert_eq!(receiver.received().len(), 9, "nothing after the 410");
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    gate.open();
    dev.create_task().await;
    // Nobody has given up those that waited.
    has(&dev, "delivered", 13).await;
    has(&dev, "failed", 1).await;
    let received = receiver.received();
    let distinct: BTreeSet<_> = at(&received, "/").into_iter().collect();
    assert_eq!((received.len(), distinct.len()), (14, 14));
    running.stop().await;
}

async fn what_is_in_flight_when_the_endpoint_is_gone_is_recorded(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let gate = gone_while_others_are_in_flight(&receiver, &dev, 12).await;
    let running = Running::start(&app);
    eventually("it is disabled", || async { !is_enabled(&dev).await }).await;
    app.jobs.drain().await.unwrap();
    assert!(ids(&dev, "pending").await.is_empty(), "they are given up");
    gate.open();
    has(&dev, "delivered", 8).await;
    assert_eq!(ids(&dev, "failed").await.len(), 5);
    running.stop().await;
}

async fn an_endpoint_that_is_deleted_and_set_again_is_another_one(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    let subscribe = json!(["task.funded"]);
    let gate = Gate::default();
    let (handle, mut first) = (gate.handle(), true);
    receiver.answer(move |request| {
        let taken = request.path == "/new" || std::mem::take(&mut first);
        match taken {
            true => Response::status(200),
            false => Response::status(200).behind(&handle),
        }
    });
    dev.put_webhook(&receiver.url("/old"), subscribe.clone())
        .await;
    for _ in 0..20 {
        dev.create_task().await;
    }
    let running = Running::start(&app);
    receiver.until(1 + 8).await;
    dev.test.delete(WEBHOOK).await.expect(200);
    app.jobs.drain().await.unwrap();
    dev.put_webhook(&receiver.url("/new"), subscribe).await;
    for _ in 0..5 {
        dev.create_task().await;
    }
    has(&dev, "delivered", 1 + 5).await;
    gate.open();
    eventually("the endpoint is released", || async {
        let kept = "SELECT account_id FROM webhook_endpoints WHERE claim IS NOT NULL";
        app.database.column(kept).await.is_empty()
    })
    .await;
    let received = receiver.received();
    let new = at(&received, "/new");
    let distinct: BTreeSet<_> = new.iter().copied().collect();
    assert_eq!((new.len(), distinct.len()), (5, 5), "each once");
    assert_eq!(at(&received, "/old").len(), 9);
    assert_eq!(ids(&dev, "failed").await.len(), 19, "dropped");
    running.stop().await;
}

async fn no_attempt_is_missing_when_somebody_asks_again(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    let gate = Gate::default();
    receiver.queue([
        Response::status(500),
        Response::status(202).behind(&gate.handle()),
    ]);
    dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    app.advance(Duration::from_secs(2 * 60));
    let running = Running::start(&app);
    receiver.until(2).await;
    let id = ids(&dev, "pending").await.pop_first().unwrap();
    let redeliver = format!("{LIST}/{id}/redeliver");
    dev.test.post(&redeliver, &json!({})).await.expect(200);
    gate.open();
    receiver.until(3).await;
    has(&dev, "delivered", 1).await;
    let whole = dev.test.get(&format!("{LIST}/{id}")).await.expect(200);
    let attempts = whole["attempts"].as_array().unwrap().iter();
    let statuses: Vec<&Value> = attempts.map(|one| &one["status_code"]).collect();
    assert_eq!(statuses, [500, 202, 200]);
    running.stop().await;
}
