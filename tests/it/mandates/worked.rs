//! The mandates of docs/guides/agents.md do what the guide says.

use serde_json::{Value, json};

use super::{Limited, refused_by, task};
use crate::docs::markdown::{blocks, read};
use crate::support::{Reply, TestApp, on_both_engines, path};

on_both_engines!(
    the_research_bot,
    the_store_audit_bot,
    the_courier_dispatcher,
    ci,
    the_read_only_dashboard,
);

/// The mandate under this heading of the guide.
fn worked(heading: &str) -> Value {
    let guide = read("docs/guides/agents.md");
    let (_, section) = guide.split_once(&format!("\n## {heading}\n")).unwrap();
    let block = blocks(section).into_iter().next().unwrap();
    assert_eq!(block.info, "json example");
    serde_json::from_str(&block.text).unwrap()
}

fn a_task(category: &str, budget_cents: i64) -> Value {
    let mut task = task(budget_cents);
    task["category"] = category.into();
    task
}

async fn create(agent: &Limited, task: &Value) -> Reply {
    agent.client.post("/v1/tasks", task).await
}

async fn the_research_bot(app: TestApp) {
    let dev = app.developer().await;
    let bot = Limited::in_test(&app, &dev, worked("Research bot")).await;
    create(&bot, &a_task("survey", 3_000)).await.expect(201);
    refused_by(
        &create(&bot, &a_task("survey", 3_001)).await,
        "max_task_cents",
    );
    refused_by(&create(&bot, &a_task("notary", 500)).await, "categories");
    create(&bot, &a_task("photography", 3_000))
        .await
        .expect(201);
    create(&bot, &a_task("photography", 3_000))
        .await
        .expect(201);
    let fourth = create(&bot, &a_task("photography", 1_001)).await;
    refused_by(&fourth, "spending_limits.day");
    let made = create(&bot, &a_task("photography", 500)).await.expect(201);
    create(&bot, &a_task("photography", 500)).await.expect(201);
    refused_by(
        &create(&bot, &a_task("photography", 500)).await,
        "spending_limits.day",
    );
    let approve = format!("{}/proofs/{}/approve", path(&made), "0".repeat(32));
    let review = bot.client.post(&approve, &json!({})).await;
    review.expect_error(403, "PERMISSION_DENIED");
}

async fn the_store_audit_bot(app: TestApp) {
    let dev = app.developer().await;
    let bot = Limited::in_test(&app, &dev, worked("Store-audit bot")).await;
    let mut elsewhere = a_task("retail_audit", 2_000);
    elsewhere["location"]["state"] = "CA".into();
    refused_by(&create(&bot, &elsewhere).await, "states");
    for (budget, allowed) in [(2_000, true), (2_001, false)] {
        let made = create(&bot, &a_task("retail_audit", budget))
            .await
            .expect(201);
        let id = made["id"].as_str().unwrap();
        let advance = format!("/v1/test_helpers/tasks/{id}/advance");
        let to = json!({"to": "proof_submitted"});
        dev.test.post(&advance, &to).await.expect(200);
        let proofs = format!("{}/proofs", path(&made));
        let proof = bot.client.get(&proofs).await.expect(200)["data"][0]["id"].clone();
        let approve = format!("{proofs}/{}/approve", proof.as_str().unwrap());
        let reviewed = bot.client.post(&approve, &json!({})).await;
        match allowed {
            true => drop(reviewed.expect(200)),
            false => refused_by(&reviewed, "review_up_to_cents"),
        }
    }
}

async fn the_courier_dispatcher(app: TestApp) {
    let dev = app.developer().await;
    let bot = Limited::in_test(&app, &dev, worked("Courier dispatcher")).await;
    let made = create(&bot, &a_task("delivery", 5_000)).await.expect(201);
    assert_eq!(made["status"], "funded");
    let waits = create(&bot, &a_task("delivery", 5_001)).await.expect(201);
    assert_eq!(waits["status"], "pending");
    let mut far = a_task("delivery", 1_000);
    far["location"]["latitude"] = 41.5.into();
    refused_by(&create(&bot, &far).await, "area");
    let mut bounty = a_task("delivery", 1_000);
    bounty["task_type"] = "bounty".into();
    refused_by(&create(&bot, &bounty).await, "task_types");
    let approve = format!("{}/approval/approve", path(&waits));
    dev.test.post(&approve, &json!({})).await.expect(200);
}

async fn ci(app: TestApp) {
    let dev = app.developer().await;
    let ci = Limited::in_test(&app, &dev, worked("CI")).await;
    let made = ci.create(2_500).await.expect(201);
    let id = made["id"].as_str().unwrap();
    let advance = format!("/v1/test_helpers/tasks/{id}/advance");
    let done = ci.client.post(&advance, &json!({"to": "completed"})).await;
    assert_eq!(done.expect(200)["status"], "completed");
    let keys = ci.client.get("/v1/account/keys").await;
    keys.expect_error(403, "PERMISSION_DENIED");
}

async fn the_read_only_dashboard(app: TestApp) {
    let dev = app.developer().await;
    let made = dev.create_task().await;
    let dashboard = Limited::in_test(&app, &dev, worked("Read-only dashboard")).await;
    for read in ["/v1/tasks", "/v1/events", path(&made).as_str()] {
        dashboard.client.get(read).await.expect(200);
    }
    let cancel = format!("{}/cancel", path(&made));
    for refused in [
        dashboard.create(500).await,
        dashboard.client.post(&cancel, &json!({})).await,
        dashboard
            .client
            .patch(&path(&made), &json!({"title": "Other"}))
            .await,
    ] {
        refused.expect_error(403, "PERMISSION_DENIED");
    }
}
