//! POST /v1/test_helpers/clock

use futures_util::future::join_all;
use legwork::domain::{AccountId, Timestamp, Windows};
use legwork::usecases;
use serde_json::{Value, json};

use super::{history, status};
use crate::support::{Developer, Reply, Response, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    a_wound_clock_tells_its_time,
    what_time_brings_about_happens_on_the_way,
    objects_and_events_carry_that_time,
    webhooks_are_tried_again_on_the_way,
    a_clock_goes_forward_only,
    a_clock_is_set_back_when_nothing_is_open,
    live_and_others_keep_their_time,
    nothing_happens_before_what_happened_last,
    the_first_moves_are_found,
    advances_at_once_add_up,
    a_repeat_goes_on_to_where_the_first_attempt_aimed,
    a_repeat_of_a_moment_that_has_passed_gets_its_answer,
);

const CLOCK: &str = "/v1/test_helpers/clock";
const HOUR: i64 = 60 * 60;

async fn wind(dev: &Developer, seconds: i64) -> Value {
    let body = json!({ "advance_seconds": seconds });
    dev.test.post(CLOCK, &body).await.expect(200)
}

async fn advance(dev: &Developer, task: &Value, to: &str) -> Reply {
    let path = format!(
        "/v1/test_helpers/tasks/{}/advance",
        task["id"].as_str().unwrap()
    );
    dev.test.post(&path, &json!({ "to": to })).await
}

async fn a_wound_clock_tells_its_time(app: TestApp) {
    let dev = app.developer().await;
    let real = json!({"now": TestApp::NOON, "ahead_seconds": 0});
    assert_eq!(dev.test.get(CLOCK).await.expect(200), real);
    let wound = json!({"now": "2025-11-15T13:00:00.000Z", "ahead_seconds": HOUR});
    assert_eq!(wind(&dev, HOUR).await, wound);
    assert_eq!(dev.test.get(CLOCK).await.expect(200), wound);
    let at = json!({"at": "2025-12-24T18:00:00Z"});
    let wound = dev.test.post(CLOCK, &at).await.expect(200);
    assert_eq!(wound["now"], "2025-12-24T18:00:00.000Z");
    let key = [("idempotency-key", "once")];
    let hour = json!({ "advance_seconds": HOUR });
    let first = dev.test.post_with(CLOCK, &key, &hour).await.expect(200);
    assert_eq!(
        dev.test.post_with(CLOCK, &key, &hour).await.expect(200),
        first
    );
    assert_eq!(
        dev.test.get(CLOCK).await.expect(200)["now"],
        "2025-12-24T19:00:00.000Z"
    );
}

async fn what_time_brings_about_happens_on_the_way(app: TestApp) {
    let dev = app.developer().await;
    let mut body = storefront();
    body["deadline"] = "2025-11-18T12:00:00Z".into();
    let mut tasks = Vec::new();
    for to in [
        "posted",
        "assigned",
        "in_progress",
        "proof_submitted",
        "proof_rejected",
        "disputed",
    ] {
        let task = dev.create_task().await;
        advance(&dev, &task, to).await.expect(200);
        tasks.push(task);
    }
    let due = dev.test.post("/v1/tasks", &body).await.expect(201);
    let now = async |hours: i64| {
        wind(&dev, hours * HOUR).await;
        let mut statuses = Vec::new();
        for task in tasks.iter().chain([&due]) {
            statuses.push(status(&dev.test, task).await);
        }
        statuses.join(" ")
    };
    let start = "posted posted in_progress proof_submitted proof_rejected disputed funded";
    assert_eq!(now(24).await, start, "not started");
    let third = "posted posted posted proof_submitted posted disputed expired";
    assert_eq!(now(48).await, third, "no proof, and a deadline");
    let week = "posted posted posted completed posted disputed expired";
    assert_eq!(now(4 * 24).await, week, "no review");
    let month = "expired expired expired completed expired refunded expired";
    assert_eq!(now(23 * 24).await, month, "thirty days");
    let moves = history(&dev.test, &tasks[1]).await;
    let last: Vec<_> = moves
        .iter()
        .rev()
        .take(2)
        .map(|made| (made.0.as_str(), made.1.as_str()))
        .collect();
    assert_eq!(last, [("expired", "clock"), ("posted", "clock")]);
    assert_eq!(app.verify().await.differences, Vec::<String>::new());
}

async fn objects_and_events_carry_that_time(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    advance(&dev, &task, "proof_submitted").await.expect(200);
    // Nine days on the way: the proof is approved after seven of them, not at the end.
    wind(&dev, 9 * 24 * HOUR).await;
    let done = dev.test.get(&path(&task)).await.expect(200);
    assert_eq!(done["completed_at"], "2025-11-22T12:00:00.000Z");
    let events = dev.test.get("/v1/events?limit=1").await.expect(200);
    assert_eq!(events["data"][0]["event"], "task.completed");
    assert_eq!(events["data"][0]["created_at"], "2025-11-22T12:00:00.000Z");
    let new = dev.create_task().await;
    assert_eq!(new["created_at"], "2025-11-24T12:00:00.000Z");
    let cancelled = dev
        .test
        .post(&format!("{}/cancel", path(&new)), &json!({}))
        .await
        .expect(200);
    assert_eq!(cancelled["cancelled_at"], "2025-11-24T12:00:00.000Z");
    wind(&dev, 10 * 24 * HOUR).await;
    // It is December there, but the month of real time goes on.
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(account["tasks_this_month"], 2);
    let december = dev.create_task().await;
    assert_eq!(december["created_at"], "2025-12-04T12:00:00.000Z");
    let usage = dev.test.get("/v1/account/usage").await.expect(200);
    assert_eq!(usage["tasks_this_month"], 3);
    app.set_time("2025-12-01T00:00:00.000Z");
    let usage = dev.test.get("/v1/account/usage").await.expect(200);
    assert_eq!(usage["tasks_this_month"], 0);
}

async fn webhooks_are_tried_again_on_the_way(app: TestApp) {
    let (app, receiver) = app.with_receiver().await;
    let dev = app.developer().await;
    receiver.answer(|_| Response::status(500));
    dev.put_webhook(&receiver.url("/"), json!(["task.funded"]))
        .await;
    dev.create_task().await;
    app.webhooks.drain().await.unwrap();
    assert_eq!(receiver.received().len(), 1);
    wind(&dev, 40).await;
    assert_eq!(receiver.received().len(), 1, "not yet");
    wind(&dev, 30).await;
    assert_eq!(receiver.received().len(), 2, "a minute");
    wind(&dev, 2 * HOUR).await;
    assert_eq!(receiver.received().len(), 4, "and all the rest");
    let failed = dev
        .test
        .get("/v1/account/webhook/deliveries?status=failed")
        .await
        .expect(200);
    assert_eq!(failed["meta"]["total"], 1);
    receiver.answer(|_| Response::status(200));
    dev.create_task().await;
    wind(&dev, 1).await;
    assert_eq!(
        receiver.received().len(),
        5,
        "what is due at once needs no time"
    );
    let stamp = receiver.received()[4]
        .header("webhook-timestamp")
        .unwrap()
        .to_owned();
    let real = Timestamp::RULE.check(TestApp::NOON).unwrap().as_millis() / 1_000;
    assert_eq!(
        stamp,
        real.to_string(),
        "receivers look at their own clocks"
    );
}

async fn a_clock_goes_forward_only(app: TestApp) {
    let dev = app.developer().await;
    wind(&dev, HOUR).await;
    for (body, field) in [
        (json!({"at": TestApp::NOON}), "at"),
        (json!({"at": "2046-01-01T00:00:00Z"}), "at"),
        (json!({"at": "tomorrow"}), "at"),
        (json!({"advance_seconds": 0}), "advance_seconds"),
        (json!({"advance_seconds": -5}), "advance_seconds"),
        (json!({"advance_seconds": 1.5}), "advance_seconds"),
        (
            json!({"advance_seconds": 9_999_999_999_i64}),
            "advance_seconds",
        ),
        (json!({}), "advance_seconds"),
        (
            json!({"advance_seconds": 1, "at": "2025-12-01T00:00:00Z"}),
            "at",
        ),
        (json!({"advance_seconds": 1, "back": true}), "back"),
    ] {
        let faulty = dev.test.post(CLOCK, &body).await.faulty_fields();
        assert_eq!(faulty, [field], "{body}");
    }
    for method in ["GET", "POST", "DELETE"] {
        let refused = dev.live.send(method, CLOCK, &[], "").await;
        refused.expect_error(403, "TEST_MODE_ONLY");
    }
    assert_eq!(dev.test.get(CLOCK).await.expect(200)["ahead_seconds"], HOUR);
}

async fn a_clock_is_set_back_when_nothing_is_open(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    wind(&dev, HOUR).await;
    dev.test.delete(CLOCK).await.expect_error(409, "TASKS_OPEN");
    dev.test
        .post(&format!("{}/cancel", path(&task)), &json!({}))
        .await
        .expect(200);
    let real = dev.test.delete(CLOCK).await.expect(200);
    assert_eq!(real, json!({"now": TestApp::NOON, "ahead_seconds": 0}));
    dev.create_task().await;
    let events = dev.test.get("/v1/events?limit=100").await.expect(200);
    assert_eq!(events["data"][0]["created_at"], TestApp::NOON);
    assert_eq!(events["data"][0]["number"], 5);
}

async fn live_and_others_keep_their_time(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let (live, theirs) = (dev.create_paid_task().await, other.create_task().await);
    wind(&dev, 100 * 24 * HOUR).await;
    assert_eq!(status(&dev.live, &live).await, "posted");
    assert_eq!(status(&other.test, &theirs).await, "funded");
    let new = dev.create_live_task().await;
    assert_eq!(new["created_at"], TestApp::NOON);
    assert_eq!(other.test.get(CLOCK).await.expect(200)["ahead_seconds"], 0);
}

/// A deadline can be in the past when a task is created, or pass while its proof is looked at.
async fn nothing_happens_before_what_happened_last(app: TestApp) {
    let dev = app.developer().await;
    let mut body = storefront();
    body["deadline"] = "2025-11-14T12:00:00Z".into();
    let late = dev.test.post("/v1/tasks", &body).await.expect(201);
    wind(&dev, HOUR).await;
    let expired = dev.test.get(&path(&late)).await.expect(200);
    assert_eq!(expired["status"], "expired");
    assert_eq!(expired["updated_at"], expired["created_at"]);
    let ledger = dev.test.get(&format!("{}/ledger", path(&late))).await;
    assert_eq!(ledger.expect(200)["data"][0]["type"], "payment");

    body["deadline"] = "2025-11-15T14:00:00Z".into();
    let rejected = dev.test.post("/v1/tasks", &body).await.expect(201);
    let submitted = advance(&dev, &rejected, "proof_submitted").await;
    submitted.expect(200);
    wind(&dev, 2 * HOUR).await;
    advance(&dev, &rejected, "proof_rejected").await.expect(200);
    wind(&dev, HOUR).await;
    let expired = dev.test.get(&path(&rejected)).await.expect(200);
    assert_eq!(expired["status"], "expired");
    assert_eq!(expired["updated_at"], "2025-11-15T15:00:00.000Z");
}

async fn the_first_moves_are_found(app: TestApp) {
    let dev = app.developer().await;
    let mut ids = Vec::new();
    for day in [20, 18, 19] {
        let mut body = storefront();
        body["deadline"] = format!("2025-11-{day}T12:00:00Z").into();
        let task = dev.test.post("/v1/tasks", &body).await.expect(201);
        ids.push(task["id"].as_str().unwrap().to_owned());
    }
    let (account, windows) = (
        AccountId::parse(&dev.account_id).unwrap(),
        Windows::default(),
    );
    let found = app.store.snapshot(move |tx| {
        let two = usecases::due_in_test(tx, account, &windows, 2)?;
        let all = usecases::due_in_test(tx, account, &windows, 9)?;
        Ok::<_, usecases::UseCaseError>((two, all))
    });
    let (two, all) = found.await.unwrap();
    let found: Vec<_> = all.iter().map(|(_, id)| id.to_string()).collect();
    assert_eq!(found, [&ids[1], &ids[2], &ids[0]].map(String::clone));
    assert_eq!(two, all[..2]);
}

async fn advances_at_once_add_up(app: TestApp) {
    let dev = app.developer().await;
    join_all((0..4).map(|_| wind(&dev, HOUR))).await;
    let clock = dev.test.get(CLOCK).await.expect(200);
    assert_eq!(clock["ahead_seconds"], 4 * HOUR);
}

async fn a_repeat_goes_on_to_where_the_first_attempt_aimed(app: TestApp) {
    let dev = app.developer().await;
    let key = [("idempotency-key", "once")];
    let hour = json!({ "advance_seconds": HOUR });
    let first = dev.test.post_with(CLOCK, &key, &hour).await.expect(200);
    // As if the server had been killed before it could store the answer.
    app.database
        .execute("DELETE FROM idempotency_keys WHERE idempotency_key = 'once'")
        .await;
    let other = json!({ "advance_seconds": 2 * HOUR });
    let other = dev.test.post_with(CLOCK, &key, &other).await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    let again = dev.test.post_with(CLOCK, &key, &hour).await;
    assert!(again.headers.get("idempotent-replayed").is_none());
    assert_eq!(again.expect(200), first);
    assert_eq!(dev.test.get(CLOCK).await.expect(200), first);
}

async fn a_repeat_of_a_moment_that_has_passed_gets_its_answer(app: TestApp) {
    let dev = app.developer().await;
    let key = [("idempotency-key", "once")];
    let at = json!({"at": "2025-12-24T18:00:00Z"});
    let first = dev.test.post_with(CLOCK, &key, &at).await.expect(200);
    app.set_time("2025-11-15T12:00:01.000Z");
    let again = dev.test.post_with(CLOCK, &key, &at).await.expect(200);
    assert_eq!(again, first);
}
