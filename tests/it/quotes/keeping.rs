//! How long quotes are kept.

use std::time::Duration;

use legwork::maintenance::prune;
use serde_json::json;

use super::{quote, redeem};
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    quotes_are_deleted_in_time,
    a_test_clock_does_not_keep_quotes,
    quotes_of_a_time_to_come_end_when_the_clock_is_set_back,
);

async fn kept(app: &TestApp) -> usize {
    app.database.column("SELECT id FROM quotes").await.len()
}

async fn quotes_are_deleted_in_time(app: TestApp) {
    let dev = app.developer().await;
    let (one, two) = (quote(&dev.test).await, quote(&dev.test).await);
    redeem(&dev.test, &one).await.expect(201);
    app.set_time("2025-11-15T13:14:59.999Z");
    prune(&app.store, app.clock.now()).await.unwrap();
    assert_eq!(kept(&app).await, 2);
    app.set_time("2025-11-15T13:15:00.000Z");
    prune(&app.store, app.clock.now()).await.unwrap();
    assert_eq!(kept(&app).await, 1);
    let gone = redeem(&dev.test, &two).await;
    gone.expect_error(404, "QUOTE_NOT_FOUND");
    redeem(&dev.test, &one).await.expect(201);
    app.set_time("2025-11-16T12:00:00.000Z");
    prune(&app.store, app.clock.now()).await.unwrap();
    assert_eq!(kept(&app).await, 0);
    let gone = redeem(&dev.test, &one).await;
    gone.expect_error(404, "QUOTE_NOT_FOUND");
}

async fn quotes_of_a_time_to_come_end_when_the_clock_is_set_back(app: TestApp) {
    let dev = app.developer().await;
    let clock = "/v1/test_helpers/clock";
    let open = async || {
        let now = app.clock.now().as_millis();
        let open = format!("SELECT CAST(COUNT(*) AS TEXT) FROM quotes WHERE expires_at > {now}");
        app.database.column(&open).await
    };
    quote(&dev.test).await;
    let ahead = json!({"advance_seconds": 864_000});
    dev.test.post(clock, &ahead).await.expect(200);
    quote(&dev.test).await;
    assert_eq!(open().await, ["2"]);
    dev.test.delete(clock).await.expect(200);
    assert_eq!(open().await, ["1"]);
}

async fn a_test_clock_does_not_keep_quotes(app: TestApp) {
    let dev = app.developer().await;
    let ahead = json!({"advance_seconds": 864_000});
    let clock = "/v1/test_helpers/clock";
    dev.test.post(clock, &ahead).await.expect(200);
    quote(&dev.test).await;
    app.advance(Duration::from_secs(75 * 60));
    prune(&app.store, app.clock.now()).await.unwrap();
    assert_eq!(kept(&app).await, 0);
}
