//! What a quote tells of the workers and tasks around its place.

use std::time::Duration;

use legwork::domain::CheckedSkills;
use legwork::maintenance::count_workers;
use serde_json::{Value, json};

use super::quote;
use crate::support::{Developer, GOOD_CARD, TestApp, Worker, on_both_engines, storefront};

on_both_engines!(
    in_test_there_is_the_simulated_worker,
    workers_who_can_accept_the_task_are_counted,
    workers_are_told_in_steps,
    a_worker_counts_where_they_go,
    a_worker_counts_with_the_skills_that_count,
    a_worker_who_moves_or_leaves_is_counted_anew,
    all_workers_are_counted_after_an_upgrade,
    other_skills_to_confirm_change_the_totals,
    two_servers_count_each_worker_once,
    how_soon_tasks_were_accepted_is_told,
    a_region_tells_what_a_district_cannot,
);

async fn count(app: &TestApp) {
    let (checked, now) = (CheckedSkills::default(), app.clock.now());
    count_workers(&app.store, &checked, now).await.unwrap();
}

async fn coverage_with(dev: &Developer, field: &str, value: Value) -> Value {
    let mut task = storefront();
    task[field] = value;
    let quoted = dev.live.post("/v1/quotes", &task).await.expect(201);
    quoted["coverage"].clone()
}

async fn workers_with_skills(dev: &Developer, skills: Value) -> Value {
    coverage_with(dev, "required_skills", skills).await["workers"].clone()
}

async fn workers_at(dev: &Developer, latitude: f64, longitude: f64) -> Value {
    let place = json!({"city": "A", "state": "NY", "latitude": latitude, "longitude": longitude});
    coverage_with(dev, "location", place).await["workers"].clone()
}

async fn edit(worker: &Worker, body: Value) {
    worker.client.patch("/v1/worker", &body).await.expect(200);
}

async fn in_test_there_is_the_simulated_worker(app: TestApp) {
    let dev = app.developer().await;
    let coverage =
        json!({"workers": "1-5", "hours_to_accept": null, "suggested_budget_cents": null});
    assert_eq!(quote(&dev.test).await["coverage"], coverage);
    // Live knows nobody.
    let coverage = json!({"workers": "0", "hours_to_accept": null, "suggested_budget_cents": null});
    assert_eq!(quote(&dev.live).await["coverage"], coverage);
}

async fn workers_who_can_accept_the_task_are_counted(app: TestApp) {
    let dev = app.developer().await;
    let told = async || {
        count(&app).await;
        quote(&dev.live).await["coverage"]["workers"].clone()
    };
    let worker = app.sign_up(&[]).await;
    assert_eq!(told().await, "0");
    let verify = format!("/v1/admin/workers/{}/verify", worker.id);
    let admin = app.admin().await;
    admin.post(&verify, &json!({})).await.expect(200);
    // Nobody would pay this worker.
    assert_eq!(told().await, "0");
    worker.onboard(&app).await;
    assert_eq!(quote(&dev.live).await["coverage"]["workers"], "0");
    assert_eq!(told().await, "1-5");
    for (decision, workers) in [("suspend", "0"), ("restore", "1-5")] {
        let path = format!("/v1/admin/workers/{}/{decision}", worker.id);
        let body = json!({"note": "Looked into it."});
        admin.post(&path, &body).await.expect(200);
        assert_eq!(told().await, workers, "{decision}");
    }
}

async fn workers_are_told_in_steps(app: TestApp) {
    let dev = app.developer().await;
    app.ready_worker().await;
    count(&app).await;
    for (workers, told) in [(5, "1-5"), (6, "6-20"), (20, "6-20"), (21, "20+")] {
        let set = format!("UPDATE worker_totals SET workers = {workers}");
        app.database.execute(&set).await;
        assert_eq!(quote(&dev.live).await["coverage"]["workers"], told);
    }
}

async fn a_worker_counts_where_they_go(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    // Kilometres to go, to the north of the home, and whether that is near enough.
    for (radius, within, beyond) in [(5.0, 2.0, 60.0), (25.0, 20.0, 60.0), (200.0, 180.0, 260.0)] {
        edit(&worker, json!({"radius_km": radius})).await;
        count(&app).await;
        for (km, told) in [(within, "1-5"), (beyond, "0")] {
            let there = 40.7163 + km / 111.2;
            let workers = workers_at(&dev, there, -73.9595).await;
            assert_eq!(workers, told, "{radius} km, {km} km away");
        }
    }
    // Across the antimeridian.
    let home = json!({"home_latitude": -17.0, "home_longitude": 179.99, "radius_km": 50});
    edit(&worker, home).await;
    count(&app).await;
    assert_eq!(workers_at(&dev, -17.0, -179.99).await, "1-5");
    assert_eq!(workers_at(&dev, -17.0, -178.0).await, "0");
    assert_eq!(quote(&dev.live).await["coverage"]["workers"], "0");
}

async fn a_worker_counts_with_the_skills_that_count(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&["photography", "notary"]).await;
    worker.become_ready(&app).await;
    count(&app).await;
    let told = async |skills: &[&str]| workers_with_skills(&dev, json!(skills)).await;
    assert_eq!(told(&[]).await, "1-5");
    assert_eq!(told(&["photography"]).await, "1-5");
    assert_eq!(told(&["driving"]).await, "0");
    assert_eq!(told(&["photography", "driving"]).await, "0");
    assert_eq!(told(&["notary"]).await, "0", "not confirmed");
    worker.confirm(&app, &["notary"]).await;
    count(&app).await;
    assert_eq!(told(&["photography", "notary"]).await, "1-5");
    edit(&worker, json!({"skills": ["driving"]})).await;
    count(&app).await;
    assert_eq!(told(&["photography"]).await, "0");
    assert_eq!(told(&["driving"]).await, "1-5");
}

/// What is counted, without what was counted once.
async fn totals(app: &TestApp) -> Vec<String> {
    let sql =
        "SELECT skill || ' ' || reach_km || ' ' || map_row || ' ' || map_column || ' ' || workers
        FROM worker_totals WHERE workers <> 0 ORDER BY skill, reach_km, map_row, map_column";
    app.database.column(sql).await
}

async fn a_worker_who_moves_or_leaves_is_counted_anew(app: TestApp) {
    let dev = app.developer().await;
    let (one, two) = (app.ready_worker().await, app.ready_worker().await);
    edit(&one, json!({"skills": ["driving", "delivery"]})).await;
    count(&app).await;
    edit(
        &one,
        json!({"home_latitude": 34.05, "home_longitude": -118.24}),
    )
    .await;
    count(&app).await;
    assert_eq!(workers_at(&dev, 34.05, -118.24).await, "1-5");
    assert_eq!(quote(&dev.live).await["coverage"]["workers"], "1-5");
    // Changes that do not matter change nothing.
    let before = totals(&app).await;
    assert_eq!(before.len(), 4);
    edit(&one, json!({"name": "Grace", "phone": "+1 718 555 0100"})).await;
    count(&app).await;
    assert_eq!(totals(&app).await, before);
    for worker in [one, two] {
        let body = json!({"password": crate::support::PASSWORD}).to_string();
        let gone = worker.client.send("DELETE", "/v1/worker", &[], body).await;
        assert!(gone.status.is_success(), "{}", gone.text);
    }
    count(&app).await;
    assert_eq!(totals(&app).await, Vec::<String>::new());
    let left = "SELECT worker_id FROM counted_workers";
    assert_eq!(app.database.column(left).await, Vec::<String>::new());
}

async fn all_workers_are_counted_after_an_upgrade(app: TestApp) {
    for _ in 0..3 {
        app.ready_worker().await;
    }
    count(&app).await;
    let counted = totals(&app).await;
    assert_eq!(counted.len(), 1);
    assert!(counted[0].ends_with(" 3"), "{counted:?}");
    for table in ["worker_totals", "counted_workers", "workers_to_count"] {
        app.database.execute(&format!("DELETE FROM {table}")).await;
    }
    count(&app).await;
    assert_eq!(totals(&app).await, Vec::<String>::new(), "it was done");
    let never = "UPDATE worker_count_walk SET checked_skills = '-', last_worker = ''";
    app.database.execute(never).await;
    count(&app).await;
    assert_eq!(totals(&app).await, counted);
}

async fn other_skills_to_confirm_change_the_totals(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&["notary"]).await;
    worker.become_ready(&app).await;
    count(&app).await;
    assert_eq!(workers_with_skills(&dev, json!(["notary"])).await, "0");
    let nothing = CheckedSkills::rule("").unwrap();
    let now = app.clock.now();
    count_workers(&app.store, &nothing, now).await.unwrap();
    assert_eq!(workers_with_skills(&dev, json!(["notary"])).await, "1-5");
}

async fn two_servers_count_each_worker_once(app: TestApp) {
    let other = TestApp::start(&app.database).await;
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(app.ready_worker().await);
    }
    for _ in 0..10 {
        let edits = workers.iter().enumerate().map(|(place, worker)| {
            edit(
                worker,
                json!({"radius_km": 1 + place, "skills": ["driving"]}),
            )
        });
        let edits = futures_util::future::join_all(edits);
        tokio::join!(count(&app), count(&other), edits);
        tokio::join!(count(&app), count(&other));
    }
    count(&app).await;
    let counted = totals(&app).await;
    assert_eq!(counted.len(), 2, "{counted:?}");
    assert!(
        counted.iter().all(|total| total.ends_with(" 4")),
        "{counted:?}"
    );
}

/// Posts a task that is accepted after so many minutes.
async fn accepted_after(app: &TestApp, dev: &Developer, task: &Value, minutes: u64) {
    let task = dev.live.post("/v1/tasks", task).await.expect(201);
    let secret = task["payment_client_secret"].as_str().unwrap();
    assert_eq!(dev.live.pay(secret, GOOD_CARD).await.status, 200);
    let worker = app.ready_worker().await;
    app.advance(Duration::from_secs(minutes * 60));
    worker.act(&task, "accept").await.expect(200);
}

async fn how_soon_tasks_were_accepted_is_told(app: TestApp) {
    let dev = app.developer().await;
    let mut task = storefront();
    for (number, minutes) in [10, 20, 90, 100, 600].into_iter().enumerate() {
        let coverage = quote(&dev.live).await["coverage"].clone();
        assert_eq!(coverage["hours_to_accept"], Value::Null, "{number}");
        assert_eq!(coverage["suggested_budget_cents"], Value::Null, "{number}");
        task["budget_cents"] = (1_200 + 1_000 * number).into();
        accepted_after(&app, &dev, &task, minutes).await;
    }
    let coverage = quote(&dev.live).await["coverage"].clone();
    assert_eq!(coverage["hours_to_accept"], json!({"p50": 2, "p90": 12}));
    assert_eq!(coverage["suggested_budget_cents"], 4_000);
    let other = coverage_with(&dev, "category", "delivery".into()).await;
    assert_eq!(other["hours_to_accept"], Value::Null);
    TestApp::expect_settled(&app.verify().await);
}

async fn a_region_tells_what_a_district_cannot(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..5 {
        accepted_after(&app, &dev, &storefront(), 30).await;
    }
    let at = async |latitude: f64| {
        let place =
            json!({"city": "A", "state": "NY", "latitude": latitude, "longitude": -73.9595});
        coverage_with(&dev, "location", place).await["hours_to_accept"].clone()
    };
    assert_eq!(at(40.7163).await, json!({"p50": 1, "p90": 1}));
    assert_eq!(at(40.5).await, json!({"p50": 1, "p90": 1}));
    assert_eq!(at(44.0).await, Value::Null);
}
