//! What a quote says, and when there is none.

use legwork::domain::Tier;
use legwork::domain::quotes::MAX_OPEN_QUOTES;
use serde_json::{Value, json};

use super::{quote, tasks};
use crate::support::{TestApp, on_both_engines, storefront};

on_both_engines!(
    a_quote_says_what_the_task_would_cost,
    a_quote_changes_nothing,
    a_quote_takes_what_a_task_takes,
    a_quote_is_refused_where_the_task_would_be,
    a_quote_can_be_read_by_its_owner,
    the_same_request_gets_the_same_quote,
    there_is_a_limit_of_open_quotes,
);

async fn a_quote_says_what_the_task_would_cost(app: TestApp) {
    let dev = app.developer().await;
    let quote = quote(&dev.test).await;
    let fields: Vec<_> = quote.as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "budget_cents",
        "platform_fee_cents",
        "worker_payout_cents",
        "mandate",
        "coverage",
        "expires_at",
    ];
    assert_eq!(fields, expected);
    assert_eq!(quote["budget_cents"], 2500);
    assert_eq!(quote["platform_fee_cents"], 400);
    assert_eq!(quote["worker_payout_cents"], 2100);
    assert_eq!(
        quote["mandate"],
        json!({"verdict": "allowed", "reasons": [], "left": null})
    );
    assert_eq!(quote["expires_at"], "2025-11-15T12:15:00.000Z");

    let enterprise = app.developer_on(Tier::Enterprise).await;
    let mut bounty = storefront();
    bounty["task_type"] = "bounty".into();
    let quoted = enterprise.live.post("/v1/quotes", &bounty).await;
    assert_eq!(quoted.expect(201)["platform_fee_cents"], 300);
    let quoted = dev.live.post("/v1/quotes", &bounty).await;
    assert_eq!(quoted.expect(201)["platform_fee_cents"], 500);
}

async fn a_quote_changes_nothing(app: TestApp) {
    let dev = app.developer().await;
    let state = async |of: &crate::support::Client| {
        let mut state: Vec<Value> = Vec::new();
        for path in ["/v1/tasks", "/v1/events", "/v1/account/usage"] {
            state.push(of.get(path).await.expect(200));
        }
        state
    };
    for client in [&dev.test, &dev.live] {
        let before = state(client).await;
        quote(client).await;
        assert_eq!(state(client).await, before);
    }
    let payments = "SELECT payment_id FROM sandbox_payments";
    assert_eq!(app.database.column(payments).await, Vec::<String>::new());
}

async fn a_quote_takes_what_a_task_takes(app: TestApp) {
    let dev = app.developer().await;
    for (field, value) in [
        ("title", json!("")),
        ("budget_cents", json!(499)),
        ("category", json!("gardening")),
        ("proof_types", json!([])),
        ("metadata", json!([])),
        ("quote_id", json!("019a8574b2d07c2e9d1b3a5f60718293")),
    ] {
        let mut body = storefront();
        body[field] = value;
        let reply = dev.test.post("/v1/quotes", &body).await;
        assert_eq!(reply.faulty_fields(), [field]);
    }
    let reply = dev.test.post("/v1/quotes", &json!({})).await;
    let of_task = dev.test.post("/v1/tasks", &json!({})).await;
    assert_eq!(reply.faulty_fields(), of_task.faulty_fields());
}

async fn a_quote_is_refused_where_the_task_would_be(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    for _ in 0..Tier::Free.tasks_per_month() {
        dev.create_task().await;
    }
    let reply = dev.test.post("/v1/quotes", &storefront()).await;
    reply.expect_error(403, "TASK_LIMIT_EXCEEDED");
    // The other environment has tasks of its own.
    quote(&dev.live).await;

    let fill = "UPDATE task_totals SET stored_bytes = 300000 WHERE environment = 'live'";
    app.database.execute(fill).await;
    let reply = dev.live.post("/v1/quotes", &storefront()).await;
    reply.expect_error(409, "STORAGE_FULL");

    let app = app.sending_mail().await;
    let claim = "UPDATE accounts SET claimed_email = 'ada@example.com'";
    app.database.execute(claim).await;
    let live = crate::support::Client::new(app.address, Some(&dev.live_key));
    let reply = live.post("/v1/quotes", &storefront()).await;
    reply.expect_error(403, "EMAIL_NOT_CONFIRMED");
}

async fn a_quote_can_be_read_by_its_owner(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let quote = quote(&dev.test).await;
    let path = format!("/v1/quotes/{}", quote["id"].as_str().unwrap());
    assert_eq!(dev.test.get(&path).await.expect(200), quote);
    app.set_time("2025-11-15T13:14:59.999Z");
    assert_eq!(dev.test.get(&path).await.expect(200), quote);
    for stranger in [&other.test, &dev.live] {
        let reply = stranger.get(&path).await;
        reply.expect_error(404, "QUOTE_NOT_FOUND");
    }
    let reply = dev.test.get("/v1/quotes/none").await;
    reply.expect_error(404, "QUOTE_NOT_FOUND");
}

async fn the_same_request_gets_the_same_quote(app: TestApp) {
    let dev = app.developer().await;
    let send = async |path: &str| {
        let headers = [("idempotency-key", "a")];
        dev.test.post_with(path, &headers, &storefront()).await
    };
    let first = send("/v1/quotes").await;
    app.set_time("2025-11-15T12:10:00.000Z");
    let again = send("/v1/quotes").await;
    assert_eq!(again.text, first.text);
    assert_eq!(again.header("idempotent-replayed"), "true");
    let other = send("/v1/tasks").await;
    other.expect_error(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(tasks(&dev.test).await, 0);
}

async fn there_is_a_limit_of_open_quotes(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let first = quote(&dev.test).await;
    app.set_time("2025-11-15T12:05:00.000Z");
    for _ in 1..MAX_OPEN_QUOTES {
        quote(&dev.test).await;
    }
    let refused = dev.test.post("/v1/quotes", &storefront()).await;
    assert_eq!(refused.header("retry-after"), "601");
    refused.expect_error(429, "TOO_MANY_QUOTES");
    quote(&dev.live).await;
    quote(&other.test).await;
    // One that is redeemed makes room for another, and so does one that has expired.
    super::redeem(&dev.test, &first).await.expect(201);
    quote(&dev.test).await;
    let refused = dev.test.post("/v1/quotes", &storefront()).await;
    refused.expect_error(429, "TOO_MANY_QUOTES");
    app.set_time("2025-11-15T12:20:00.000Z");
    quote(&dev.test).await;
}
