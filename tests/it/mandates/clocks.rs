//! Days and months of a limit, by clocks that differ and clocks that are set back.

use legwork::domain::{Task, Tier, Timestamp};
use legwork::usecases::{Funding, UseCaseError};
use serde_json::{Value, json};

use super::terms::{create, terms};
use super::{Limited, refused_by, with};
use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    two_clocks_around_midnight_share_a_day_and_a_month,
    two_clocks_around_midnight_share_the_tasks_of_a_month,
    what_ends_comes_back_to_the_day_it_was_counted_for,
    a_test_clock_that_is_set_back_begins_its_day_anew,
);

const BEFORE: &str = "2025-11-30T23:59:58.000Z";
const AFTER: &str = "2025-12-01T00:00:02.000Z";

fn at(text: &str) -> Timestamp {
    Timestamp::RULE.check(text).unwrap()
}

fn limits() -> Value {
    let limits = json!([
        {"interval": "day", "cents": 2_000}, {"interval": "month", "cents": 2_000},
    ]);
    let mut mandate = with("spending_limits", limits);
    mandate["max_tasks_per_day"] = json!(4);
    mandate
}

/// A creation by a server whose clock shows this time.
async fn created(app: &TestApp, agent: &Limited, when: &str) -> Result<Task, UseCaseError> {
    let terms = terms(app, agent, Funding::Simulated).await;
    create(app, terms, 500, at(when)).await
}

async fn counters(app: &TestApp) -> Vec<String> {
    let counters = "SELECT CAST(day_tasks AS TEXT) || ' ' || CAST(day_cents AS TEXT) || ' ' ||
        CAST(month_cents AS TEXT) || ' ' || CAST(month AS TEXT) FROM mandates";
    app.database.column(counters).await
}

async fn two_clocks_around_midnight_share_a_day_and_a_month(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, limits()).await;
    // The server that is behind has used up what was left of November.
    for _ in 0..4 {
        created(&app, &agent, BEFORE).await.unwrap();
    }
    assert_eq!(counters(&app).await, ["4 2000 2000 202511"]);
    for _ in 0..2 {
        for when in [AFTER, BEFORE] {
            created(&app, &agent, when).await.unwrap();
        }
    }
    // Both have begun December, and it has no more room by either clock.
    assert_eq!(counters(&app).await, ["4 2000 2000 202512"]);
    for when in [BEFORE, AFTER] {
        let refused = created(&app, &agent, when).await.unwrap_err();
        let UseCaseError::MandateExceeded(limits) = refused else {
            panic!("{refused}");
        };
        let names: Vec<_> = limits.iter().map(|refusal| refusal.limit).collect();
        let all = [
            "spending_limits.day",
            "spending_limits.month",
            "max_tasks_per_day",
        ];
        assert_eq!(names, all, "{when}");
    }
    // What a server is shown that is behind.
    app.set_time(BEFORE);
    assert_eq!(agent.used("spending_limits.day").await, 2_000);
}

async fn two_clocks_around_midnight_share_the_tasks_of_a_month(app: TestApp) {
    let dev = app.developer_on(Tier::Free).await;
    let agent = Limited::in_test(&app, &dev, with("max_open_tasks", json!(100))).await;
    for when in [BEFORE, AFTER, BEFORE] {
        created(&app, &agent, when).await.unwrap();
    }
    let totals = "SELECT CAST(month AS TEXT) || ' ' || CAST(month_tasks AS TEXT) FROM task_totals
        WHERE environment = 'test'";
    assert_eq!(app.database.column(totals).await, ["202512 2"]);
    let full = "UPDATE task_totals SET month_tasks = 100 WHERE environment = 'test'";
    app.database.execute(full).await;
    for when in [BEFORE, AFTER] {
        let refused = created(&app, &agent, when).await.unwrap_err();
        let reached = matches!(refused, UseCaseError::TaskLimitExceeded { limit: 100 });
        assert!(reached, "{when}: {refused}");
        app.set_time(when);
        let account = dev.test.get("/v1/account").await.expect(200);
        assert_eq!(account["tasks_this_month"], 100, "{when}");
    }
    created(&app, &agent, "2026-01-01T00:00:00Z").await.unwrap();
}

async fn what_ends_comes_back_to_the_day_it_was_counted_for(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, limits()).await;
    let first = created(&app, &agent, AFTER).await.unwrap();
    let late = created(&app, &agent, BEFORE).await.unwrap();
    for task in [late, first] {
        let cancel = format!("{}/cancel", path(&json!({"id": task.id.to_string()})));
        agent.client.post(&cancel, &json!({})).await.expect(200);
    }
    // The one that is dated before the day it was counted for does not come back: never too much.
    assert_eq!(counters(&app).await, ["2 500 500 202512"]);
}

async fn a_test_clock_that_is_set_back_begins_its_day_anew(app: TestApp) {
    const CLOCK: &str = "/v1/test_helpers/clock";
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, limits()).await;
    let live = Limited::new(&app, &dev, "live", limits()).await;
    live.create(500).await.expect(201);
    let month = json!({"advance_seconds": 40 * 24 * 60 * 60});
    dev.test.post(CLOCK, &month).await.expect(200);
    let task = agent.create(2_000).await.expect(201);
    refused_by(&agent.create(500).await, "spending_limits.day");
    let id = task["id"].as_str().unwrap();
    let end = format!("/v1/test_helpers/tasks/{id}/advance");
    let completed = json!({"to": "completed"});
    agent.client.post(&end, &completed).await.expect(200);
    dev.test.delete(CLOCK).await.expect(200);
    for field in [
        "spending_limits.day",
        "spending_limits.month",
        "max_tasks_per_day",
    ] {
        assert_eq!(agent.used(field).await, 0, "{field}");
    }
    agent.create(2_000).await.expect(201);
    refused_by(&agent.create(500).await, "spending_limits.day");
    // Setting a clock back that is not ahead of the day forgets nothing.
    let open = dev.test.get("/v1/tasks?status=funded").await.expect(200);
    let id = open["data"][0]["id"].as_str().unwrap().to_owned();
    let end = format!("/v1/test_helpers/tasks/{id}/advance");
    agent.client.post(&end, &completed).await.expect(200);
    dev.test.delete(CLOCK).await.expect(200);
    assert_eq!(agent.used("spending_limits.day").await, 2_000);
    assert_eq!(live.used("spending_limits.day").await, 500);
}
