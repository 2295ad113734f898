//! Quotes of keys with a mandate.

use futures_util::future::join_all;
use legwork::domain::quotes::MAX_OPEN_QUOTES;
use serde_json::{Value, json};

use super::{quote, redeem, tasks};
use crate::mandates::{Limited, everything, refused_by, task, with};
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_quote_tells_what_the_mandate_says,
    a_quote_reserves_nothing_and_redeeming_does,
    a_quote_of_a_limited_key_belongs_to_it,
    a_limited_key_redeems_under_its_own_mandate,
    the_mandate_is_asked_again,
    quotes_that_race_do_not_exceed_a_mandate,
    a_key_in_a_loop_leaves_quotes_for_the_others,
);

async fn quote_of(key: &Limited, budget_cents: i64) -> Value {
    let quoted = key.client.post("/v1/quotes", &task(budget_cents)).await;
    quoted.expect(201)
}

fn day(cents: i64) -> Value {
    let limits = json!([{"interval": "day", "cents": cents}]);
    with("spending_limits", limits)
}

async fn a_quote_tells_what_the_mandate_says(app: TestApp) {
    let dev = app.developer().await;
    let key = Limited::in_test(&app, &dev, day(3_000)).await;
    let allowed = quote_of(&key, 2_500).await;
    let left = json!([{"field": "spending_limits.day", "limit": 3_000, "used": 0, "left": 3_000,
        "resets_at": "2025-11-16T00:00:00.000Z"}]);
    let expected = json!({"verdict": "allowed", "reasons": [], "left": left.clone()});
    assert_eq!(allowed["mandate"], expected);
    assert_eq!(allowed["mandate"]["left"], key.mandate().await["usage"]);

    redeem(&key.client, &allowed).await.expect(201);
    let denied = quote_of(&key, 2_500).await;
    assert_eq!(denied["mandate"]["verdict"], "denied");
    let reasons = json!(["spending_limits.day: 500 of 3000 are left"]);
    assert_eq!(denied["mandate"]["reasons"], reasons);
    assert_eq!(denied["mandate"]["left"][0]["left"], 500);
    let refused = redeem(&key.client, &denied).await;
    refused_by(&refused, "spending_limits.day");

    // Above what the key may spend alone, the quote says that a person will be asked; and so it is.
    let mut mandate = day(3_000);
    mandate["approval_above_cents"] = 2_000.into();
    let asking = Limited::in_test(&app, &dev, mandate).await;
    assert_eq!(
        quote_of(&asking, 2_000).await["mandate"]["verdict"],
        "allowed"
    );
    let required = quote_of(&asking, 2_001).await;
    let reasons = ["approval_above_cents: a person agrees to tasks above 2000 cents"];
    let expected = json!({"verdict": "approval_required", "reasons": reasons, "left": left});
    assert_eq!(required["mandate"], expected);
    let waits = redeem(&asking.client, &required).await.expect(201);
    assert_eq!(waits["status"], "pending");
    let approval = format!("/v1/tasks/{}/approval", waits["id"].as_str().unwrap());
    let approval = asking.client.get(&approval).await.expect(200);
    assert_eq!(approval["status"], "waiting");
    // What is denied is denied, whoever would be asked.
    let denied = quote_of(&asking, 2_001).await;
    assert_eq!(denied["mandate"]["verdict"], "denied");
    let reasons = json!(["spending_limits.day: 999 of 3000 are left"]);
    assert_eq!(denied["mandate"]["reasons"], reasons);
    assert_eq!(denied["mandate"]["left"][0]["left"], 999);

    let categories = with("categories", json!(["delivery"]));
    let courier = Limited::in_test(&app, &dev, categories).await;
    let denied = quote_of(&courier, 2_500).await;
    let reasons = json!(["categories: this key may not create tasks of category photography"]);
    assert_eq!(denied["mandate"]["reasons"], reasons);
    assert_eq!(denied["mandate"]["left"], json!([]));

    // Whoever may not create tasks has no use for a quote.
    let reader = Limited::in_test(&app, &dev, json!({"permissions": ["read"]})).await;
    let refused = reader.client.post("/v1/quotes", &task(2_500)).await;
    refused.expect_error(403, "PERMISSION_DENIED");
}

async fn a_quote_reserves_nothing_and_redeeming_does(app: TestApp) {
    let dev = app.developer().await;
    let key = Limited::in_test(&app, &dev, day(5_000)).await;
    let (one, two) = (quote_of(&key, 2_500).await, quote_of(&key, 2_500).await);
    let three = quote_of(&key, 2_500).await;
    assert_eq!(key.used("spending_limits.day").await, 0);
    redeem(&key.client, &one).await.expect(201);
    assert_eq!(key.used("spending_limits.day").await, 2_500);
    // Again: the same task, which counts once.
    redeem(&key.client, &one).await.expect(201);
    assert_eq!(key.used("spending_limits.day").await, 2_500);
    redeem(&key.client, &two).await.expect(201);
    refused_by(&redeem(&key.client, &three).await, "spending_limits.day");
    // What was redeemed is answered even where nothing is left.
    redeem(&key.client, &one).await.expect(201);
    assert_eq!(tasks(&dev.test).await, 2);
}

async fn a_quote_of_a_limited_key_belongs_to_it(app: TestApp) {
    let dev = app.developer().await;
    let key = Limited::in_test(&app, &dev, everything()).await;
    let other = Limited::in_test(&app, &dev, everything()).await;
    let quoted = quote_of(&key, 2_500).await;
    let path = format!("/v1/quotes/{}", quoted["id"].as_str().unwrap());
    for stranger in [&other.client, &dev.test] {
        let refused = redeem(stranger, &quoted).await;
        refused.expect_error(404, "QUOTE_NOT_FOUND");
        let refused = stranger.get(&path).await;
        refused.expect_error(404, "QUOTE_NOT_FOUND");
    }
    redeem(&key.client, &quoted).await.expect(201);
    let refused = redeem(&other.client, &quoted).await;
    refused.expect_error(404, "QUOTE_NOT_FOUND");
    assert_eq!(tasks(&dev.test).await, 1);
}

async fn a_limited_key_redeems_under_its_own_mandate(app: TestApp) {
    let dev = app.developer().await;
    let key = Limited::in_test(&app, &dev, day(2_500)).await;
    let (one, two) = (quote(&dev.test).await, quote(&dev.test).await);
    redeem(&key.client, &one).await.expect(201);
    assert_eq!(key.used("spending_limits.day").await, 2_500);
    refused_by(&redeem(&key.client, &two).await, "spending_limits.day");
    redeem(&dev.test, &two).await.expect(201);
}

async fn the_mandate_is_asked_again(app: TestApp) {
    let dev = app.developer().await;
    let key = Limited::in_test(&app, &dev, everything()).await;
    let quoted = quote_of(&key, 2_500).await;
    let narrower = with("max_task_cents", 2_000.into()).to_string();
    let put = dev.live.send("PUT", &key.path(), &[], narrower).await;
    put.expect(200);
    refused_by(&redeem(&key.client, &quoted).await, "max_task_cents");
    let wider = everything().to_string();
    let put = dev.live.send("PUT", &key.path(), &[], wider).await;
    put.expect(200);
    redeem(&key.client, &quoted).await.expect(201);
}

async fn quotes_that_race_do_not_exceed_a_mandate(app: TestApp) {
    let other = TestApp::start(&app.database).await;
    let dev = app.developer().await;
    let key = Limited::in_test(&app, &dev, day(12_500)).await;
    let mut quotes = Vec::new();
    for _ in 0..20 {
        quotes.push(quote_of(&key, 2_500).await);
    }
    let elsewhere = crate::support::Client::new(other.address, Some(&key.key));
    let clients = [&key.client, &elsewhere];
    let sent = quotes.iter().enumerate().flat_map(|(place, quote)| {
        [place, place + 1].map(|server| redeem(clients[server % 2], quote))
    });
    let replies = join_all(sent).await;
    for twice in replies.chunks(2) {
        assert_eq!(twice[0].status, twice[1].status, "{}", twice[1].text);
    }
    let created = replies.iter().filter(|reply| reply.status == 201);
    let mut ids: Vec<_> = created.map(|reply| reply.body["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    assert_eq!(key.used("spending_limits.day").await, 12_500);
    assert_eq!(tasks(&dev.test).await, 5);
}

async fn a_key_in_a_loop_leaves_quotes_for_the_others(app: TestApp) {
    let dev = app.developer().await;
    let looping = Limited::in_test(&app, &dev, day(500)).await;
    for _ in 0..MAX_OPEN_QUOTES {
        quote_of(&looping, 2_500).await;
    }
    let refused = looping.client.post("/v1/quotes", &task(2_500)).await;
    refused.expect_error(429, "TOO_MANY_QUOTES");
    quote(&dev.test).await;
    let other = Limited::in_test(&app, &dev, day(3_000)).await;
    quote_of(&other, 2_500).await;
}
