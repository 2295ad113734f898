//! One task that can be accepted, and what a worker earned in a month.

use serde_json::{Value, json};

use crate::support::{TestApp, Worker, on_both_engines, storefront};

on_both_engines!(
    a_worker_reads_one_task_and_whether_it_can_be_accepted,
    payouts_are_listed_by_month_with_the_day_they_were_sent,
);

async fn offered(worker: &Worker, task: &Value, query: &str) -> Value {
    let id = task["id"].as_str().unwrap();
    let path = format!("/v1/worker/available_tasks/{id}{query}");
    worker.client.get(&path).await.expect(200)
}

async fn a_worker_reads_one_task_and_whether_it_can_be_accepted(app: TestApp) {
    let dev = app.developer().await;
    let mut wanted = storefront();
    wanted["required_skills"] = json!(["driving"]);
    wanted["instructions"] = json!("The key is under the mat.");
    dev.charge_to("pm_card_visa").await;
    let task = dev.live.post("/v1/tasks", &wanted).await.expect(201);
    app.jobs.drain().await.unwrap();
    let worker = app.sign_up(&[]).await;
    let reason = async |worker: &Worker| {
        let found = offered(worker, &task, "").await;
        assert_eq!(found["eligible"], found["ineligible_reason"].is_null());
        found["ineligible_reason"].clone()
    };
    let listed = worker.client.get("/v1/worker/available_tasks").await;
    assert_eq!(listed.expect(200)["data"], json!([]), "a skill is missing");
    assert_eq!(reason(&worker).await, "not_verified");
    worker.become_ready(&app).await;
    assert_eq!(reason(&worker).await, "lacks_skill");
    let skills = json!({"skills": ["driving"]}).to_string();
    let edited = worker.client.send("PATCH", "/v1/worker", &[], skills).await;
    edited.expect(200);
    assert_eq!(reason(&worker).await, Value::Null);
    // The same as in the list, and no more of the place.
    let found = offered(&worker, &task, "?latitude=40.9&longitude=-73.9").await;
    let listed = worker
        .client
        .get("/v1/worker/available_tasks?latitude=40.9&longitude=-73.9")
        .await
        .expect(200);
    for (name, value) in listed["data"][0].as_object().unwrap() {
        assert_eq!(&found[name], value, "{name}");
    }
    assert_eq!(found["location_latitude"], 40.72);
    assert!(!found.to_string().contains("mat"), "{found}");
    let path = format!(
        "/v1/worker/available_tasks/{}",
        task["id"].as_str().unwrap()
    );
    let half = worker.client.get(&format!("{path}?latitude=40.9")).await;
    half.expect_error(400, "VALIDATION_ERROR");
    worker.act(&task, "accept").await.expect(200);
    let taken = worker.client.get(&path).await;
    taken.expect_error(404, "TASK_NOT_FOUND");
    // A test task is nobody's offer.
    let test = dev.create_task().await;
    let path = format!(
        "/v1/worker/available_tasks/{}",
        test["id"].as_str().unwrap()
    );
    let hidden = worker.client.get(&path).await;
    hidden.expect_error(404, "TASK_NOT_FOUND");
}

async fn payouts_are_listed_by_month_with_the_day_they_were_sent(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let month = app.clock.now().to_string()[..7].to_owned();
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "one").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    let earnings = async |query: &str| {
        let path = format!("/v1/worker/earnings{query}");
        worker.client.get(&path).await.expect(200)
    };
    let before = earnings("").await;
    assert_eq!(before["payouts"][0]["paid_at"], Value::Null);
    app.jobs.drain().await.unwrap();
    let after = earnings(&format!("?month={month}")).await;
    let payout = &after["payouts"][0];
    assert_eq!(payout["title"], "Photograph a storefront");
    assert_eq!(payout["status"], "paid");
    assert!(payout["paid_at"].is_string(), "{payout}");
    assert_eq!(after, earnings("").await);
    let other = earnings("?month=2020-01").await;
    assert_eq!(other["payouts"], json!([]));
    assert_eq!(other["paid_cents"], 2100, "totals are of all time");
    let bad = worker.client.get("/v1/worker/earnings?month=13").await;
    bad.expect_error(400, "VALIDATION_ERROR");
    // A worker's own task tells of the developer, once there is enough to tell.
    let own = format!("/v1/worker/tasks/{}", task["id"].as_str().unwrap());
    let own = worker.client.get(&own).await.expect(200);
    assert_eq!(own["developer"], Value::Null);
}
