//! What happens is told, once, in order, and only if it happened.

use std::collections::BTreeSet;
use std::time::Duration;

use legwork::domain::{Action, EventType};
use serde_json::{Value, json};

use super::{all_events, told_of, types};
use crate::support::{Client, Developer, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    every_type_has_a_cause,
    an_event_carries_the_task_as_it_stood,
    proof_events_carry_the_proof,
    a_payment_that_fails_is_told_once_for_each_reason,
    a_refund_is_told_when_the_money_has_left,
    what_is_refused_is_not_told,
    numbers_have_no_gaps_and_readers_see_none,
    a_verified_worker_is_told_to_those_who_wait,
    old_events_are_forgotten_a_few_at_a_time,
);

/// A live task, paid for, with proof sent.
async fn proven(app: &TestApp, dev: &Developer) -> (Value, crate::support::Worker, Value) {
    let task = dev.create_paid_task().await;
    let worker = app.ready_worker().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "first").await;
    (task, worker, proof)
}

async fn every_type_has_a_cause(app: TestApp) {
    let dev = app.developer().await;
    let (done, _, proof) = proven(&app, &dev).await;
    dev.review(&done, &proof, "approve").await.expect(200);
    let up_to_proof = [
        "task.created",
        "task.funded",
        "task.posted",
        "task.assigned",
        "task.started",
        "task.proof_submitted",
    ];
    let told = |more: &[&'static str]| [&up_to_proof[..], more].concat();
    assert_eq!(told_of(&dev.live, &done).await, told(&["task.completed"]));

    let (disputed, worker, proof) = proven(&app, &dev).await;
    dev.review(&disputed, &proof, "reject").await.expect(200);
    worker.act(&disputed, "dispute").await.expect(200);
    let contested = told(&["task.proof_rejected", "task.disputed"]);
    assert_eq!(told_of(&dev.live, &disputed).await, contested);

    let (refunded, worker, mut proof) = proven(&app, &dev).await;
    for attempt in ["second", "third", "none"] {
        dev.review(&refunded, &proof, "reject").await.expect(200);
        if attempt != "none" {
            proof = worker.prove(&refunded, attempt).await;
        }
    }
    let again = ["task.proof_rejected", "task.proof_submitted"];
    let end = ["task.proof_rejected", "task.refunded"];
    let expected = told(&[&again[..], &again[..], &end[..]].concat());
    assert_eq!(told_of(&dev.live, &refunded).await, expected);

    let cancelled = dev.create_live_task().await;
    let cancel = format!("{}/cancel", path(&cancelled));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    assert_eq!(
        told_of(&dev.live, &cancelled).await,
        ["task.created", "task.cancelled"]
    );

    let expired = dev.create_live_task().await;
    app.act(&dev, &expired, &[Action::LeaveUnpaid]).await;
    assert_eq!(
        told_of(&dev.live, &expired).await,
        ["task.created", "task.expired"]
    );

    let waiting = dev.create_paid_task().await;
    app.ready_worker().await;
    app.jobs.drain().await.unwrap();
    assert_eq!(told_of(&dev.live, &waiting).await.len(), 3);

    let paid_back = ["task.refund_paid"];
    let expected = [&expected[..], &paid_back].concat();
    assert_eq!(told_of(&dev.live, &refunded).await, expected);
    dev.charge_to("pm_card_chargeDeclined").await;
    let declined = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    app.jobs.drain().await.unwrap();
    let told = told_of(&dev.live, &declined).await;
    assert_eq!(told, ["task.created", "task.payment_failed"]);

    let mandate = json!({"permissions": ["create"], "approval_above_cents": 100});
    let limited = json!({"name": "Agent", "environment": "live", "mandate": mandate});
    let limited = dev
        .live
        .post("/v1/account/keys", &limited)
        .await
        .expect(201);
    let limited = Client::new(app.address, limited["key"].as_str());
    let asked = limited.post("/v1/tasks", &storefront()).await.expect(201);
    let told = told_of(&dev.live, &asked).await;
    assert_eq!(told, ["task.created", "task.approval_required"]);

    let events = all_events(&dev.live).await;
    let seen: BTreeSet<_> = types(&events).into_iter().collect();
    let all: BTreeSet<_> = EventType::ALL.iter().map(|event| event.as_str()).collect();
    assert_eq!(seen, all);
}

async fn an_event_carries_the_task_as_it_stood(app: TestApp) {
    let dev = app.developer().await;
    let mut body = storefront();
    body["instructions"] = "Ring twice.".into();
    body["metadata"] = json!({"order": "4711", "deep": {"a": [1, 2.5, null]}});
    let task = dev.test.post("/v1/tasks", &body).await.expect(201);
    app.advance(Duration::from_secs(60));
    let cancel = format!("{}/cancel", path(&task));
    dev.test.post(&cancel, &json!({})).await.expect(200);
    let events = all_events(&dev.test).await;
    assert_eq!(
        types(&events),
        ["task.created", "task.funded", "task.cancelled"]
    );
    let mut funded = task.clone();
    funded.as_object_mut().unwrap().remove("instructions");
    assert_eq!(events[1]["data"], funded);
    let mut created = funded.clone();
    created["status"] = "pending".into();
    assert_eq!(events[0]["data"], created);
    let mut cancelled = dev.test.get(&path(&task)).await.expect(200);
    cancelled.as_object_mut().unwrap().remove("instructions");
    cancelled["refund"] = json!({"amount_cents": 2500, "paid_cents": 0});
    cancelled["payout"] = json!({"amount_cents": 0, "paid_cents": 0, "platform_fee_cents": 0});
    assert_eq!(events[2]["data"], cancelled);
    assert_eq!(events[2]["created_at"], cancelled["updated_at"]);
    assert!(
        all_events(&dev.live).await.is_empty(),
        "another environment"
    );
}

async fn a_payment_that_fails_is_told_once_for_each_reason(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_chargeDeclined").await;
    let task = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    app.jobs.drain().await.unwrap();
    let payment = dev.live.get(&format!("{}/payment", path(&task))).await;
    let payment = payment.expect(200);
    let secret = payment["payment_client_secret"].as_str().unwrap();
    let [declined, insufficient] = ["4000000000000002", "4000000000009995"];
    for card in [declined, insufficient, insufficient, declined] {
        assert_eq!(app.client().pay(secret, card).await.status, 402);
    }
    let events = all_events(&dev.live).await;
    let failed: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "task.payment_failed")
        .map(|event| event["data"]["failure"]["code"].clone())
        .collect();
    assert_eq!(
        failed,
        ["card_declined", "insufficient_funds", "card_declined"]
    );
    let mut shown = dev.live.get(&path(&task)).await.expect(200);
    shown.as_object_mut().unwrap().remove("instructions");
    shown["failure"] = payment["failure"].clone();
    assert_eq!(events[1]["data"], shown, "the task, and why");
    // A decline that is heard of after the task is over is no news.
    let cancel = format!("{}/cancel", path(&task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    let history = dev.live.get(&format!("{}/history", path(&task))).await;
    assert_eq!(history.expect(200)["meta"]["total"], 2, "no moves");
}

async fn a_refund_is_told_when_the_money_has_left(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_paid_task().await;
    let worker = app.ready_worker().await;
    worker.act(&task, "accept").await.expect(200);
    let cancel = format!("{}/cancel", path(&task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    let promised = all_events(&dev.live).await;
    assert_eq!(promised.last().unwrap()["event"], "task.cancelled");
    app.jobs.drain().await.unwrap();
    let events = all_events(&dev.live).await;
    assert_eq!(events.len(), promised.len() + 1);
    let paid = events.last().unwrap();
    assert_eq!(paid["event"], "task.refund_paid");
    let mut shown = dev.live.get(&path(&task)).await.expect(200);
    shown.as_object_mut().unwrap().remove("instructions");
    shown["refund"] = json!({"amount_cents": 1250, "paid_cents": 1250});
    assert_eq!(paid["data"], shown);
}

async fn proof_events_carry_the_proof(app: TestApp) {
    let dev = app.developer().await;
    let (task, _, proof) = proven(&app, &dev).await;
    dev.review(&task, &proof, "reject").await.expect(200);
    let events = all_events(&dev.live).await;
    let of = |wanted: &str| {
        events
            .iter()
            .find(|event| event["event"] == wanted)
            .unwrap()
    };
    let submitted = &of("task.proof_submitted")["data"]["proof"];
    let mut expected = proof.clone();
    expected.as_object_mut().unwrap().remove("file_url");
    assert_eq!(*submitted, expected);
    let rejected = &of("task.proof_rejected")["data"];
    assert_eq!(rejected["status"], "proof_rejected");
    assert_eq!(rejected["proof"]["status"], "rejected");
    assert_eq!(rejected["proof"]["rejection_reason"], "Too dark.");
    assert!(of("task.started")["data"].get("proof").is_none());
}

async fn what_is_refused_is_not_told(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.test.post(&cancel, &json!({})).await.expect(200);
    let before = all_events(&dev.test).await.len();
    dev.test
        .post(&cancel, &json!({}))
        .await
        .expect_error(409, "INVALID_TASK_STATE");
    dev.create_with("title", json!(""))
        .await
        .expect_error(400, "VALIDATION_ERROR");
    let other = app.developer().await;
    other
        .test
        .post(&cancel, &json!({}))
        .await
        .expect_error(404, "TASK_NOT_FOUND");
    assert_eq!(all_events(&dev.test).await.len(), before);
    assert!(all_events(&other.test).await.is_empty());
    // The same request again is the same answer, and no second event.
    let key = [("idempotency-key", "once")];
    for _ in 0..2 {
        let reply = dev.test.post_with("/v1/tasks", &key, &storefront()).await;
        reply.expect(201);
    }
    assert_eq!(all_events(&dev.test).await.len(), before + 2);
}

async fn numbers_have_no_gaps_and_readers_see_none(app: TestApp) {
    const WRITERS: usize = 8;
    const TASKS: usize = 15;
    let dev = app.developer().await;
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let dev = dev.clone();
        writers.spawn(async move {
            for _ in 0..TASKS {
                let task = dev.create_task().await;
                let cancel = format!("{}/cancel", path(&task));
                dev.test.post(&cancel, &json!({})).await.expect(200);
            }
        });
    }
    // Whoever reads meanwhile sees a beginning of what there will be: no number is skipped.
    let (mut seen, all) = (0, (WRITERS * TASKS * 3) as u64);
    while seen < all {
        let page = dev.test.get("/v1/events?limit=100").await.expect(200);
        let numbers = page["data"].as_array().unwrap().iter();
        let numbers: Vec<_> = numbers
            .map(|event| event["number"].as_u64().unwrap())
            .collect();
        let newest = numbers.first().copied().unwrap_or(0);
        let expected: Vec<_> = (1..=newest).rev().take(100).collect();
        assert_eq!(numbers, expected);
        assert!(newest >= seen);
        seen = newest;
    }
    writers.join_all().await;
    let events = all_events(&dev.test).await;
    let times: Vec<_> = events
        .iter()
        .map(|event| event["created_at"].as_str())
        .collect();
    assert!(times.is_sorted());
}

async fn a_verified_worker_is_told_to_those_who_wait(app: TestApp) {
    let (waiting, skilled, idle) = (
        app.developer().await,
        app.developer().await,
        app.developer().await,
    );
    waiting.create_paid_task().await;
    let mut needs_notary = storefront();
    needs_notary["required_skills"] = json!(["notary"]);
    let task = skilled
        .live
        .post("/v1/tasks", &needs_notary)
        .await
        .expect(201);
    let secret = task["payment_client_secret"].as_str().unwrap();
    skilled.live.pay(secret, crate::support::GOOD_CARD).await;
    idle.create_live_task().await;
    let worker = app.ready_worker().await;
    app.jobs.drain().await.unwrap();
    let told = all_events(&waiting.live).await;
    let told = told.last().unwrap();
    assert_eq!(told["event"], "worker.verified");
    let expected = json!({"id": worker.id, "skills": [], "verified_at": TestApp::NOON});
    assert_eq!(told["data"], expected);
    for other in [&skilled, &idle] {
        assert!(!types(&all_events(&other.live).await).contains(&"worker.verified"));
    }
    let notary = app.sign_up(&["notary"]).await;
    notary.confirm(&app, &["notary"]).await;
    notary.become_ready(&app).await;
    app.jobs.drain().await.unwrap();
    for dev in [&waiting, &skilled] {
        let events = all_events(&dev.live).await;
        assert_eq!(events.last().unwrap()["data"]["skills"], json!(["notary"]));
    }
}

async fn old_events_are_forgotten_a_few_at_a_time(app: TestApp) {
    let dev = app.developer().await;
    let old = dev.create_task().await;
    let day = Duration::from_secs(24 * 60 * 60);
    app.advance(day * 29);
    let new = dev.create_task().await;
    let forget = || legwork::maintenance::prune(&app.store, app.clock.now());
    forget().await.unwrap();
    assert_eq!(all_events(&dev.test).await.len(), 4);
    app.advance(day + Duration::from_millis(1));
    forget().await.unwrap();
    assert!(told_of(&dev.test, &old).await.is_empty());
    let events = all_events(&dev.test).await;
    assert_eq!(
        told_of(&dev.test, &new).await,
        ["task.created", "task.funded"]
    );
    assert_eq!(events[0]["number"], 3, "numbers go on");
}
