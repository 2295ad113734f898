//! POST /v1/tasks with the ID of a quote.

use legwork::domain::{AccountId, Actor, Tier};
use legwork::usecases;
use serde_json::{Value, json};

use super::{quote, redeem, tasks};
use crate::support::{Client, GOOD_CARD, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    a_quote_becomes_its_task,
    a_live_quote_is_paid_for_like_any_task,
    a_redeemed_quote_answers_the_same_task,
    another_idempotency_key_makes_no_other_task,
    what_was_quoted_is_charged,
    a_quote_has_a_quarter_of_an_hour,
    a_test_clock_that_is_ahead_ends_a_quote,
    a_quote_belongs_to_an_account_and_an_environment,
    a_quote_comes_alone,
    a_field_that_is_null_is_left_out,
    the_limit_of_the_month_holds,
    a_batch_takes_no_quotes,
);

fn without_secret(mut task: Value) -> Value {
    task.as_object_mut()
        .unwrap()
        .remove("payment_client_secret");
    task
}

async fn a_quote_becomes_its_task(app: TestApp) {
    let dev = app.developer().await;
    let asked = json!({
        "title": "Měření šířky výlohy 📐",
        "description": "Line one\nline two",
        "instructions": "Ring twice.",
        "category": "retail_audit",
        "required_skills": ["price_checking"],
        "location": {"address": "240 Bedford Ave", "city": "Brooklyn", "state": "NY",
            "latitude": 40.716_3, "longitude": -73.959_5},
        "budget_cents": 12_345,
        "priority": "urgent",
        "task_type": "bounty",
        "deadline": "2025-11-20T18:00:00Z",
        "proof_types": ["signature", "photo"],
        "metadata": {"order": "4711", "nested": {"b": [1, 2.5, null]}},
    });
    let quoted = dev.test.post("/v1/quotes", &asked).await.expect(201);
    let redeemed = redeem(&dev.test, &quoted).await;
    assert!(redeemed.headers.get("idempotent-replayed").is_none());
    let redeemed = redeemed.expect(201);
    let plain = dev.test.post("/v1/tasks", &asked).await.expect(201);
    for (field, value) in plain.as_object().unwrap() {
        if field != "id" {
            assert_eq!(redeemed[field], *value, "{field}");
        }
    }
    assert_eq!(redeemed["platform_fee_cents"], quoted["platform_fee_cents"]);
    assert_eq!(dev.test.get(&path(&redeemed)).await.expect(200), redeemed);
    let found = dev.test.get("/v1/tasks/search?metadata.order=4711").await;
    assert_eq!(found.expect(200)["data"].as_array().unwrap().len(), 2);
}

async fn a_live_quote_is_paid_for_like_any_task(app: TestApp) {
    let dev = app.developer().await;
    let task = redeem(&dev.live, &quote(&dev.live).await).await;
    let task = task.expect(201);
    assert_eq!(task["status"], "pending");
    let secret = task["payment_client_secret"].as_str().unwrap();
    assert_eq!(dev.live.pay(secret, GOOD_CARD).await.status, 200);
    let read = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(read["status"], "posted");

    dev.charge_to("pm_card_visa").await;
    let task = redeem(&dev.live, &quote(&dev.live).await).await;
    let task = task.expect(201);
    assert_eq!(task["payment_client_secret"], Value::Null);
    app.jobs.drain().await.unwrap();
    let read = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(read["status"], "posted");
    TestApp::expect_settled(&app.verify().await);
}

/// Whatever became of the task, whichever key asks, and as long as responses are kept.
async fn a_redeemed_quote_answers_the_same_task(app: TestApp) {
    let dev = app.developer().await;
    for (client, environment) in [(&dev.test, "test"), (&dev.live, "live")] {
        let quote = quote(client).await;
        let first = redeem(client, &quote).await;
        let new = json!({"name": "Another", "environment": environment});
        let key = dev.live.post("/v1/account/keys", &new).await.expect(201);
        let other = Client::new(app.address, key["key"].as_str());
        let cancel = format!("{}/cancel", path(&first.body));
        client.post(&cancel, &json!({})).await.expect(200);
        app.set_time("2025-11-16T11:59:59.999Z");
        for client in [client, &other] {
            let again = redeem(client, &quote).await;
            assert_eq!(again.header("idempotent-replayed"), "true");
            assert_eq!(again.status, 201);
            assert_eq!(again.text, first.text);
        }
        assert_eq!(tasks(client).await, 1);
        let live = environment == "live";
        assert_eq!(first.body["payment_client_secret"].is_string(), live);
        app.set_time(TestApp::NOON);
    }
    let quoted = quote(&dev.live).await;
    dev.charge_to("pm_card_chargeDeclined").await;
    let first = redeem(&dev.live, &quoted).await;
    app.jobs.drain().await.unwrap();
    // The payment has a secret now. The first answer had none.
    let again = redeem(&dev.live, &quoted).await;
    assert_eq!(again.text, first.text);
}

async fn another_idempotency_key_makes_no_other_task(app: TestApp) {
    let dev = app.developer().await;
    let (quote, other) = (quote(&dev.live).await, quote(&dev.live).await);
    let body = json!({"quote_id": quote["id"]});
    let send = async |key: &str, body: &Value| {
        let headers = [("idempotency-key", key)];
        dev.live.post_with("/v1/tasks", &headers, body).await
    };
    let first = send("a", &body).await;
    assert!(first.headers.get("idempotent-replayed").is_none());
    for key in ["a", "b", "b"] {
        let again = send(key, &body).await;
        assert_eq!(again.text, first.text);
        assert_eq!(again.header("idempotent-replayed"), "true", "{key}");
    }
    let body = json!({"quote_id": other["id"]});
    send("a", &body)
        .await
        .expect_error(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(tasks(&dev.live).await, 1);
}

async fn what_was_quoted_is_charged(app: TestApp) {
    let dev = app.developer().await;
    let quoted = quote(&dev.live).await;
    let account = AccountId::parse(&dev.account_id).unwrap();
    let by = Actor::COMMAND_LINE;
    let now = app.clock.now();
    let change = move |tx: &mut legwork::store::Tx<'_>| {
        usecases::set_tier(tx, account, Tier::Enterprise, &by, now)
    };
    app.store.write(change).await.unwrap();
    assert_eq!(quote(&dev.live).await["platform_fee_cents"], 300);
    let task = redeem(&dev.live, &quoted).await.expect(201);
    assert_eq!(task["platform_fee_cents"], 400);
    assert_eq!(task["worker_payout_cents"], 2100);
    let read = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(read, without_secret(task));
}

async fn a_quote_has_a_quarter_of_an_hour(app: TestApp) {
    let dev = app.developer().await;
    let (one, two) = (quote(&dev.live).await, quote(&dev.live).await);
    app.set_time("2025-11-15T12:14:59.999Z");
    redeem(&dev.live, &one).await.expect(201);
    app.set_time("2025-11-15T12:15:00.000Z");
    let late = redeem(&dev.live, &two).await;
    late.expect_error(410, "QUOTE_EXPIRED");
    // One that was redeemed in time is answered all the same.
    redeem(&dev.live, &one).await.expect(201);
    assert_eq!(tasks(&dev.live).await, 1);
}

async fn a_test_clock_that_is_ahead_ends_a_quote(app: TestApp) {
    let dev = app.developer().await;
    let quoted = quote(&dev.test).await;
    let live = quote(&dev.live).await;
    let ahead = json!({"advance_seconds": 900});
    let clock = "/v1/test_helpers/clock";
    dev.test.post(clock, &ahead).await.expect(200);
    let late = redeem(&dev.test, &quoted).await;
    late.expect_error(410, "QUOTE_EXPIRED");
    redeem(&dev.live, &live).await.expect(201);
    let quoted = quote(&dev.test).await;
    assert_eq!(quoted["expires_at"], "2025-11-15T12:30:00.000Z");
    redeem(&dev.test, &quoted).await.expect(201);
}

async fn a_quote_belongs_to_an_account_and_an_environment(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let quoted = quote(&dev.test).await;
    for stranger in [&other.test, &other.live, &dev.live] {
        let reply = redeem(stranger, &quoted).await;
        reply.expect_error(404, "QUOTE_NOT_FOUND");
        assert_eq!(tasks(stranger).await, 0);
    }
    redeem(&dev.test, &quoted).await.expect(201);
    let reply = redeem(&other.test, &quoted).await;
    reply.expect_error(404, "QUOTE_NOT_FOUND");
    let unknown = json!({"quote_id": "019a8574b2d07c2e9d1b3a5f60718293"});
    let reply = dev.test.post("/v1/tasks", &unknown).await;
    reply.expect_error(404, "QUOTE_NOT_FOUND");
}

async fn a_quote_comes_alone(app: TestApp) {
    let dev = app.developer().await;
    let quoted = quote(&dev.test).await;
    let mut both = storefront();
    both["quote_id"] = quoted["id"].clone();
    let reply = dev.test.post("/v1/tasks", &both).await;
    let mut others: Vec<_> = storefront().as_object().unwrap().keys().cloned().collect();
    others.sort();
    let mut faulty = reply.faulty_fields();
    faulty.sort();
    assert_eq!(faulty, others);
    for malformed in [json!(7), json!(""), json!("nonsense"), json!([])] {
        let body = json!({"quote_id": malformed});
        let reply = dev.test.post("/v1/tasks", &body).await;
        assert_eq!(reply.faulty_fields(), ["quote_id"]);
    }
    assert_eq!(tasks(&dev.test).await, 0);
    redeem(&dev.test, &quoted).await.expect(201);
}

async fn the_limit_of_the_month_holds(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    let (one, two) = (quote(&dev.test).await, quote(&dev.test).await);
    for _ in 1..Tier::Free.tasks_per_month() {
        dev.create_task().await;
    }
    redeem(&dev.test, &one).await.expect(201);
    let refused = redeem(&dev.test, &two).await;
    refused.expect_error(403, "TASK_LIMIT_EXCEEDED");
    // The refused one was not used up.
    app.set_time("2025-11-30T23:50:00.000Z");
    redeem(&dev.test, &two)
        .await
        .expect_error(410, "QUOTE_EXPIRED");
}

async fn a_batch_takes_no_quotes(app: TestApp) {
    let dev = app.developer().await;
    let quoted = quote(&dev.test).await;
    let body = json!({"tasks": [{"quote_id": quoted["id"]}]});
    let reply = dev.test.post("/v1/tasks/batch", &body).await.expect(200);
    assert_eq!(reply["data"][0]["status"], 400);
    assert_eq!(tasks(&dev.test).await, 0);
}

/// Clients write null for what they leave out.
async fn a_field_that_is_null_is_left_out(app: TestApp) {
    let dev = app.developer().await;
    let mut plain = storefront();
    plain["quote_id"] = Value::Null;
    let made = dev.test.post("/v1/tasks", &plain).await.expect(201);
    assert_eq!(made["status"], "funded");
    let quote = quote(&dev.test).await;
    let body = json!({"quote_id": quote["id"], "title": null, "deadline": null});
    let redeemed = dev.test.post("/v1/tasks", &body).await.expect(201);
    assert_eq!(redeemed["title"], storefront()["title"]);
    let nothing = json!({"quote_id": null});
    let faulty = dev.test.post("/v1/tasks", &nothing).await.faulty_fields();
    assert!(faulty.contains(&"title".to_owned()), "{faulty:?}");
}
