//! What is spent under a mandate, and what comes back.

use legwork::domain::Action;
use serde_json::{Value, json};

use super::{Limited, refused_by, task, with};
use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    a_limit_tells_what_is_used_and_left,
    every_allow_list_holds,
    what_is_not_spent_comes_back,
    a_day_begins_anew_and_a_total_does_not,
    open_tasks_and_tasks_of_a_day_are_counted,
    a_live_task_counts_and_comes_back,
    a_replay_counts_once,
    a_batch_stops_at_the_limit,
    history_names_the_key_and_its_mandate,
);

fn limits(day: i64, total: i64) -> Value {
    let limits = json!([{"interval": "day", "cents": day}, {"interval": "total", "cents": total}]);
    with("spending_limits", limits)
}

async fn a_limit_tells_what_is_used_and_left(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, limits(5_000, 100_000)).await;
    agent.create(3_000).await.expect(201);
    let refused = agent.create(2_001).await;
    refused_by(&refused, "spending_limits.day");
    let detail = &refused.body["error"]["details"][0];
    assert_eq!(detail["limit"], 5_000);
    assert_eq!(detail["used"], 3_000);
    assert_eq!(detail["left"], 2_000);
    agent.create(2_000).await.expect(201);
    let mandate = agent.mandate().await;
    assert_eq!(mandate["usage"][0]["left"], 0);
    assert_eq!(mandate["usage"][1]["left"], 95_000);
    assert!(mandate["usage"][0]["resets_at"].is_string());
    assert_eq!(mandate["usage"][1]["resets_at"], json!(null));
}

async fn every_allow_list_holds(app: TestApp) {
    let dev = app.developer().await;
    let area = json!({"latitude": 40.7163, "longitude": -73.9595, "radius_km": 1});
    let cases = [
        ("categories", json!(["survey"]), json!(["photography"])),
        ("task_types", json!(["bounty"]), json!(["standard"])),
        ("states", json!(["NJ"]), json!(["NJ", "NY"])),
        (
            "area",
            json!({"latitude": 41, "longitude": -73.9595, "radius_km": 1}),
            area,
        ),
    ];
    for (field, without, including) in cases {
        let agent = Limited::in_test(&app, &dev, with(field, without)).await;
        refused_by(&agent.create(2_500).await, field);
        let agent = Limited::in_test(&app, &dev, with(field, including)).await;
        agent.create(2_500).await.expect(201);
    }
}

async fn what_is_not_spent_comes_back(app: TestApp) {
    let dev = app.developer().await;
    // Where a task ends, and what of 2,501 cents was spent.
    let ends: [(&[Value], i64); 6] = [
        (&[json!({"to": "posted"}), json!("cancel")], 0),
        // Half of an assigned task, rounded down, comes back.
        (&[json!({"to": "assigned"}), json!("cancel")], 1_251),
        (&[json!({"to": "completed"})], 2_501),
        (&[json!({"to": "expired"})], 0),
        (&[json!({"to": "refunded"})], 0),
        (&[json!({"to": "proof_submitted"})], 2_501),
    ];
    for (steps, spent) in ends {
        let agent = Limited::in_test(&app, &dev, limits(2_501, 2_501)).await;
        let made = agent.create(2_501).await.expect(201);
        refused_by(&agent.create(500).await, "spending_limits.day");
        for step in steps {
            let id = made["id"].as_str().unwrap();
            let (path, body) = match step.as_str() {
                Some(action) => (format!("{}/{action}", path(&made)), json!({})),
                None => (format!("/v1/test_helpers/tasks/{id}/advance"), step.clone()),
            };
            agent.client.post(&path, &body).await.expect(200);
        }
        for field in ["spending_limits.day", "spending_limits.total"] {
            assert_eq!(agent.used(field).await, spent, "{steps:?}");
        }
    }
}

async fn a_day_begins_anew_and_a_total_does_not(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, limits(2_500, 6_000)).await;
    let first = agent.create(2_500).await.expect(201);
    refused_by(&agent.create(500).await, "spending_limits.day");
    let day = json!({"advance_seconds": 24 * 60 * 60});
    let clock = "/v1/test_helpers/clock";
    agent.client.post(clock, &day).await.expect(200);
    agent.create(2_500).await.expect(201);
    assert_eq!(agent.used("spending_limits.total").await, 5_000);
    // Yesterday's money does not come back to today.
    let cancel = format!("{}/cancel", path(&first));
    agent.client.post(&cancel, &json!({})).await.expect(200);
    assert_eq!(agent.used("spending_limits.day").await, 2_500);
    assert_eq!(agent.used("spending_limits.total").await, 2_500);
    refused_by(&agent.create(500).await, "spending_limits.day");
}

async fn open_tasks_and_tasks_of_a_day_are_counted(app: TestApp) {
    let dev = app.developer().await;
    let mut mandate = with("max_open_tasks", json!(2));
    mandate["max_tasks_per_day"] = json!(3);
    let agent = Limited::in_test(&app, &dev, mandate).await;
    let first = agent.create(500).await.expect(201);
    agent.create(500).await.expect(201);
    refused_by(&agent.create(500).await, "max_open_tasks");
    let cancel = format!("{}/cancel", path(&first));
    agent.client.post(&cancel, &json!({})).await.expect(200);
    agent.create(500).await.expect(201);
    let refused = agent.create(500).await;
    refused_by(&refused, "max_open_tasks");
    assert_eq!(
        refused.body["error"]["details"][1]["field"],
        "max_tasks_per_day"
    );
    // Tasks of another key are not this one's.
    dev.create_task().await;
    assert_eq!(agent.used("max_open_tasks").await, 2);
}

async fn a_live_task_counts_and_comes_back(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let agent = Limited::new(&app, &dev, "live", limits(2_500, 2_500)).await;
    let made = agent.create(2_500).await.expect(201);
    refused_by(&agent.create(500).await, "spending_limits.day");
    app.jobs.drain().await.unwrap();
    app.try_act(&dev, &made, Action::Cancel).await.unwrap();
    assert_eq!(agent.used("spending_limits.total").await, 0);
    // A task that is never paid for is not spent either.
    dev.live
        .delete("/v1/account/payment_method")
        .await
        .expect(200);
    agent.create(2_500).await.expect(201);
    app.advance(std::time::Duration::from_secs(25 * 60 * 60));
    app.scheduler.catch_up().await.unwrap();
    assert_eq!(agent.used("spending_limits.total").await, 0);
}

async fn a_replay_counts_once(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, limits(2_500, 2_500)).await;
    let send = async || {
        let key = [("Idempotency-Key", "once")];
        let body = task(2_500).to_string();
        agent.client.send("POST", "/v1/tasks", &key, body).await
    };
    let first = send().await.expect(201);
    assert_eq!(send().await.expect(201), first);
    assert_eq!(agent.used("spending_limits.total").await, 2_500);
}

async fn a_batch_stops_at_the_limit(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, limits(3_500, 3_500)).await;
    let tasks: Vec<_> = (0..20).map(|_| task(500)).collect();
    let many = json!({ "tasks": tasks });
    let made = agent
        .client
        .post("/v1/tasks/batch", &many)
        .await
        .expect(200);
    let made = made["data"].as_array().unwrap().iter();
    let statuses: Vec<_> = made.map(|item| item["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 7);
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 13);
    assert_eq!(agent.used("spending_limits.total").await, 3_500);
}

async fn history_names_the_key_and_its_mandate(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, super::everything()).await;
    let made = agent.create(500).await.expect(201);
    let history = agent.client.get(&format!("{}/history", path(&made))).await;
    let first = history.expect(200)["data"][0].clone();
    assert_eq!(first["by"]["id"], agent.id.as_str());
    assert_eq!(first["reason"], "under version 1 of the key's mandate");
    let admin = app.admin().await;
    let audit = format!("/v1/admin/audit?subject_id={}", agent.id);
    let lines = admin.get(&audit).await.expect(200);
    assert_eq!(lines["data"][0]["details"]["mandate"]["version"], 1);
}
