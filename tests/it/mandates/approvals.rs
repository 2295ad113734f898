//! Tasks that wait for a person's yes.

use std::time::Duration;

use legwork::usecases::{AskedApproval, Funding};
use serde_json::{Value, json};

use super::terms::{create, terms};
use super::{Limited, everything, with};
use crate::support::{GOOD_CARD, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    a_task_above_the_limit_waits,
    a_limited_key_never_decides_nor_changes_what_waits,
    a_limited_key_does_not_change_what_a_person_has_agreed_to,
    another_deadline_is_another_end_of_an_approval,
    a_refused_task_is_cancelled_and_gives_back,
    nobody_deciding_is_a_refusal,
    cancelling_ends_the_wait,
    a_wait_ends_with_its_task_though_the_mandate_was_lifted,
    an_approved_live_task_is_charged_as_at_creation,
    an_approved_live_task_without_a_method_is_paid_by_hand,
    a_live_task_that_nobody_approves_expires_uncharged,
    approvals_are_listed_to_their_owner,
    the_owner_is_told_once_in_a_while,
);

const ADVANCE: &str = "/v1/test_helpers/tasks";

fn approving() -> Value {
    let mut mandate = with("approval_above_cents", json!(2_000));
    mandate["spending_limits"] = json!([{"interval": "total", "cents": 100_000}]);
    mandate
}

fn approval(task: &Value) -> String {
    format!("{}/approval", path(task))
}

fn decide(task: &Value, decision: &str) -> String {
    format!("{}/{decision}", approval(task))
}

async fn a_task_above_the_limit_waits(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, approving()).await;
    let small = agent.create(2_000).await.expect(201);
    assert_eq!(small["status"], "funded");
    let none = agent.client.get(&approval(&small)).await;
    none.expect_error(404, "APPROVAL_NOT_FOUND");
    let large = agent.create(2_001).await.expect(201);
    assert_eq!(large["status"], "pending");
    let waits = agent.client.get(&approval(&large)).await.expect(200);
    assert_eq!(waits["status"], "waiting");
    assert_eq!(waits["key_id"], agent.id.as_str());
    assert_eq!(waits["expires_at"], "2025-11-16T12:00:00.000Z");
    assert!(
        waits["url"]
            .as_str()
            .unwrap()
            .ends_with("/dashboard/test/approvals")
    );
    // It counts from now on.
    assert_eq!(agent.used("spending_limits.total").await, 4_001);
    let events = agent.client.get("/v1/events?limit=1").await.expect(200);
    assert_eq!(events["data"][0]["event"], "task.approval_required");
    assert_eq!(events["data"][0]["data"]["id"], large["id"]);
    assert_eq!(events["data"][0]["data"]["approval"], waits);
    let agreed = dev.test.post(&decide(&large, "approve"), &json!({})).await;
    let agreed = agreed.expect(200);
    assert_eq!(agreed["status"], "approved");
    assert_eq!(agreed["decided_by"]["type"], "developer");
    let task = agent.client.get(&path(&large)).await.expect(200);
    assert_eq!(task["status"], "funded");
    let again = dev.test.post(&decide(&large, "refuse"), &json!({})).await;
    again.expect_error(409, "APPROVAL_DECIDED");
    assert_eq!(agent.used("spending_limits.total").await, 4_001);
}

async fn a_limited_key_never_decides_nor_changes_what_waits(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, approving()).await;
    let other = Limited::in_test(&app, &dev, everything()).await;
    let task = agent.create(2_500).await.expect(201);
    for decision in ["approve", "refuse"] {
        for key in [&agent, &other] {
            let refused = key.client.post(&decide(&task, decision), &json!({})).await;
            refused.expect_error(403, "PERMISSION_DENIED");
        }
    }
    let id = task["id"].as_str().unwrap();
    for to in [
        json!({}),
        json!({"to": "posted"}),
        json!({"to": "completed"}),
    ] {
        let advance = format!("{ADVANCE}/{id}/advance");
        let refused = agent.client.post(&advance, &to).await;
        refused.expect_error(409, "INVALID_TASK_STATE");
    }
    let title = json!({"title": "Something else"});
    let changed = agent.client.patch(&path(&task), &title).await;
    changed.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(agent.client.get(&path(&task)).await.expect(200), task);
    dev.test.patch(&path(&task), &title).await.expect(200);
    // Of another environment and another account, nobody finds it.
    let stranger = app.developer().await;
    for client in [&dev.live, &stranger.test] {
        let unknown = client.post(&decide(&task, "approve"), &json!({})).await;
        unknown.expect_error(404, "TASK_NOT_FOUND");
        let unknown = client.get(&approval(&task)).await;
        unknown.expect_error(404, "TASK_NOT_FOUND");
    }
}

async fn a_limited_key_does_not_change_what_a_person_has_agreed_to(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let agent = Limited::new(&app, &dev, "live", approving()).await;
    let other = Limited::new(&app, &dev, "live", everything()).await;
    let task = agent.create(2_500).await.expect(201);
    let agreed = dev.live.post(&decide(&task, "approve"), &json!({})).await;
    agreed.expect(200);
    // Nobody is charged yet, so the task could still be edited.
    let title = json!({"title": "Something else"});
    let changed = agent.client.patch(&path(&task), &title).await;
    changed.expect_error(409, "INVALID_TASK_STATE");
    let changed = other.client.patch(&path(&task), &title).await;
    changed.expect_error(403, "PERMISSION_DENIED");
    assert_eq!(dev.live.get(&path(&task)).await.expect(200), task);
    // The person who agrees may: no mandate limits the key.
    dev.live.patch(&path(&task), &title).await.expect(200);
    // What nobody had to agree to is as editable as ever.
    let small = agent.create(2_000).await.expect(201);
    agent.client.patch(&path(&small), &title).await.expect(200);
    // By the key that created it: what others have pending is not its own to change.
    let owners = dev.live.post("/v1/tasks", &storefront()).await.expect(201);
    for task in [&small, &owners] {
        let before = dev.live.get(&path(task)).await.expect(200);
        let past = json!({"title": "Mine", "deadline": "2020-01-01T00:00:00Z"});
        let changed = other.client.patch(&path(task), &past).await;
        changed.expect_error(403, "PERMISSION_DENIED");
        assert_eq!(dev.live.get(&path(task)).await.expect(200), before);
    }
}

async fn another_deadline_is_another_end_of_an_approval(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, approving()).await;
    let task = agent.create(2_500).await.expect(201);
    for (deadline, ends) in [
        (json!("2025-11-15T18:00:00Z"), "2025-11-15T18:00:00.000Z"),
        (json!(null), "2025-11-16T12:00:00.000Z"),
        (json!("2025-11-30T18:00:00Z"), "2025-11-16T12:00:00.000Z"),
    ] {
        let deadline = json!({ "deadline": deadline });
        dev.test.patch(&path(&task), &deadline).await.expect(200);
        let waits = dev.test.get(&approval(&task)).await.expect(200);
        assert_eq!(waits["expires_at"], ends);
    }
}

async fn a_refused_task_is_cancelled_and_gives_back(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, approving()).await;
    let task = agent.create(2_500).await.expect(201);
    let refused = dev.test.post(&decide(&task, "refuse"), &json!({})).await;
    assert_eq!(refused.expect(200)["status"], "refused");
    let after = agent.client.get(&path(&task)).await.expect(200);
    assert_eq!(after["status"], "cancelled");
    assert_eq!(agent.used("spending_limits.total").await, 0);
    let history = agent.client.get(&format!("{}/history", path(&task))).await;
    let history = history.expect(200);
    assert_eq!(history["data"][1]["reason"], "approval refused");
    let late = dev.test.post(&decide(&task, "approve"), &json!({})).await;
    late.expect_error(409, "APPROVAL_DECIDED");
}

async fn nobody_deciding_is_a_refusal(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, approving()).await;
    let task = agent.create(2_500).await.expect(201);
    let day = json!({"advance_seconds": 24 * 60 * 60});
    dev.test
        .post("/v1/test_helpers/clock", &day)
        .await
        .expect(200);
    let after = agent.client.get(&path(&task)).await.expect(200);
    assert_eq!(after["status"], "expired");
    let ended = agent.client.get(&approval(&task)).await.expect(200);
    assert_eq!(ended["status"], "expired");
    assert_eq!(ended["decided_by"], json!(null));
    assert_eq!(agent.used("spending_limits.total").await, 0);
    let late = dev.test.post(&decide(&task, "approve"), &json!({})).await;
    late.expect_error(409, "APPROVAL_DECIDED");
}

async fn cancelling_ends_the_wait(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, approving()).await;
    let task = agent.create(2_500).await.expect(201);
    let cancel = format!("{}/cancel", path(&task));
    agent.client.post(&cancel, &json!({})).await.expect(200);
    let ended = agent.client.get(&approval(&task)).await.expect(200);
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(agent.used("spending_limits.total").await, 0);
}

async fn a_wait_ends_with_its_task_though_the_mandate_was_lifted(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let agent = Limited::new(&app, &dev, "live", approving()).await;
    let asked = AskedApproval {
        processor: app.payments.processor.name(),
        windows: *app.scheduler.windows(),
        url: "https://legwork.example.com".to_owned(),
    };
    let terms = terms(&app, &agent, Funding::AfterApproval(Box::new(asked))).await;
    // After the server has read the mandate, and before it creates the task.
    dev.live.delete(&agent.path()).await.expect(200);
    let task = create(&app, terms, 2_500, app.clock.now()).await.unwrap();
    assert_eq!(task.mandate_key, None);
    let task = json!({"id": task.id.to_string()});
    let waits = dev.live.get(&approval(&task)).await.expect(200);
    assert_eq!(waits["status"], "waiting");
    let cancel = format!("{}/cancel", path(&task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    let ended = dev.live.get(&approval(&task)).await.expect(200);
    assert_eq!(ended["status"], "cancelled");
    let late = dev.live.post(&decide(&task, "approve"), &json!({})).await;
    late.expect_error(409, "APPROVAL_DECIDED");
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}

async fn an_approved_live_task_is_charged_as_at_creation(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let agent = Limited::new(&app, &dev, "live", approving()).await;
    let task = agent.create(2_500).await.expect(201);
    assert!(task.get("payment_client_secret").is_none());
    app.jobs.drain().await.unwrap();
    let waits = agent.client.get(&path(&task)).await.expect(200);
    assert_eq!(waits["status"], "pending");
    let payment = agent.client.get(&format!("{}/payment", path(&task))).await;
    let payment = payment.expect(200);
    assert_eq!(payment["status"], "requires_payment");
    assert_eq!(payment["payment_client_secret"], json!(null));
    let agreed = dev.live.post(&decide(&task, "approve"), &json!({})).await;
    agreed.expect(200);
    app.jobs.drain().await.unwrap();
    let posted = agent.client.get(&path(&task)).await.expect(200);
    assert_eq!(posted["status"], "posted");
    TestApp::expect_settled(&app.verify().await);
}

async fn an_approved_live_task_without_a_method_is_paid_by_hand(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::new(&app, &dev, "live", approving()).await;
    let task = agent.create(2_500).await.expect(201);
    let agreed = dev.live.post(&decide(&task, "approve"), &json!({})).await;
    agreed.expect(200);
    app.jobs.drain().await.unwrap();
    let payment = format!("{}/payment", path(&task));
    let payment = dev.live.get(&payment).await.expect(200);
    let secret = payment["payment_client_secret"].as_str().unwrap();
    assert_eq!(dev.live.pay(secret, GOOD_CARD).await.status, 200);
    let posted = agent.client.get(&path(&task)).await.expect(200);
    assert_eq!(posted["status"], "posted");
    TestApp::expect_settled(&app.verify().await);
}

async fn a_live_task_that_nobody_approves_expires_uncharged(app: TestApp) {
    let dev = app.developer().await;
    dev.charge_to("pm_card_visa").await;
    let agent = Limited::new(&app, &dev, "live", approving()).await;
    let task = agent.create(2_500).await.expect(201);
    app.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(app.scheduler.catch_up().await.unwrap(), 1);
    app.jobs.drain().await.unwrap();
    let after = agent.client.get(&path(&task)).await.expect(200);
    assert_eq!(after["status"], "expired");
    assert_eq!(agent.used("spending_limits.total").await, 0);
    TestApp::expect_settled(&app.verify().await);
    let ledger = agent.client.get(&format!("{}/ledger", path(&task))).await;
    assert_eq!(ledger.expect(200)["data"], json!([]));
}

async fn approvals_are_listed_to_their_owner(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, approving()).await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(agent.create(2_500).await.expect(201));
        // The id of a task tells when it was created.
        app.advance(Duration::from_secs(1));
    }
    dev.test
        .post(&decide(&tasks[0], "refuse"), &json!({}))
        .await
        .expect(200);
    let first = dev.test.get("/v1/approvals?limit=2").await.expect(200);
    assert_eq!(first["data"][0]["task_id"], tasks[2]["id"]);
    let cursor = first["meta"]["next_cursor"].as_str().unwrap();
    let second = format!("/v1/approvals?limit=2&cursor={cursor}");
    let second = dev.test.get(&second).await.expect(200);
    assert_eq!(second["data"][0]["status"], "refused");
    assert_eq!(second["meta"]["next_cursor"], json!(null));
    let waiting = agent.client.get("/v1/approvals?status=waiting").await;
    let waiting = waiting.expect(200);
    assert_eq!(waiting["data"].as_array().unwrap().len(), 2);
    let unknown = dev.test.get("/v1/approvals?status=maybe").await;
    unknown.expect_error(400, "VALIDATION_ERROR");
    for client in [&dev.live, &app.developer().await.test] {
        assert_eq!(
            client.get("/v1/approvals").await.expect(200)["data"],
            json!([])
        );
    }
}

async fn the_owner_is_told_once_in_a_while(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::new(&app, &dev, "live", approving()).await;
    let told = async || {
        let admin = app.admin().await;
        let list = admin.get("/v1/admin/notices").await.expect(200);
        let list = list["data"].as_array().unwrap().clone();
        let about = list
            .iter()
            .filter(|told| told["kind"] == "approval_required");
        about.cloned().collect::<Vec<_>>()
    };
    for _ in 0..5 {
        agent.create(2_500).await.expect(201);
    }
    let first = told().await;
    assert_eq!(first.len(), 1);
    let link = "SELECT link FROM notices WHERE kind = 'approval_required'";
    let link = app.database.column(link).await;
    assert_eq!(link, ["/dashboard/live/approvals"]);
    assert_eq!(
        first[0]["subject"],
        "Approve $25.00? Photograph a storefront"
    );
    app.advance(Duration::from_secs(10 * 60));
    agent.create(2_500).await.expect(201);
    assert_eq!(told().await.len(), 2);
}
