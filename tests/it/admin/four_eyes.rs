//! Above a limit, write-offs and payouts by dispute need a second admin.

use std::time::Duration;

use legwork::domain::AdminRole;
use serde_json::{Value, json};

use super::{disputed_task, ids};
use crate::support::{Client, Developer, TestApp, Worker, on_both_engines, path};

on_both_engines!(
    a_large_payout_waits_for_a_second_admin,
    what_stays_below_the_limit_needs_nobody_else,
    another_decision_is_refused_until_the_proposal_is_withdrawn,
    of_two_admins_at_once_one_proposes_and_one_confirms,
    a_proposal_holds_up_no_deadline,
    a_proposal_of_a_revoked_key_does_not_count,
    a_large_write_off_waits_for_a_second_owner,
    an_owner_with_a_second_key_is_no_second_admin,
);

/// The payout of the tasks here is 2,100 cents.
const LIMIT: i64 = 2_000;

fn decide(task: &Value) -> String {
    format!("/v1/admin/disputes/{}/decide", task["id"].as_str().unwrap())
}

fn proposal(task: &Value) -> String {
    format!(
        "/v1/admin/disputes/{}/proposal",
        task["id"].as_str().unwrap()
    )
}

async fn item(admin: &Client, kind: &str) -> Value {
    let queue = admin.get(&format!("/v1/admin/queue?kind={kind}")).await;
    let id = ids(&queue.expect(200))[0].to_owned();
    admin
        .get(&format!("/v1/admin/queue/{id}"))
        .await
        .expect(200)
}

async fn actions(admin: &Client, task: &Value) -> Vec<Value> {
    let id = task["id"].as_str().unwrap();
    let lines = admin.get(&format!("/v1/admin/audit?subject_id={id}")).await;
    let lines = lines.expect(200)["data"].as_array().unwrap().clone();
    lines
        .into_iter()
        .map(|line| line["action"].clone())
        .collect()
}

async fn people(app: &TestApp) -> (Developer, Worker) {
    (app.developer().await, app.ready_worker().await)
}

async fn a_large_payout_waits_for_a_second_admin(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = people(&app).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let task = disputed_task(&app, &dev, &worker).await;
    let open = item(&ada, "dispute").await;
    let claim = format!("/v1/admin/queue/{}/claim", open["id"].as_str().unwrap());
    ada.post(&claim, &json!({})).await.expect(200);
    let pay = json!({"decision": "pay", "note": "It is there."});
    let proposed = ada.post(&decide(&task), &pay).await.expect(202);
    assert_eq!(proposed["status"], "proposed");
    assert_eq!(proposed["proposal"], json!({"decision": "pay"}));
    assert_eq!(proposed["note"], pay["note"]);
    // Nothing has happened yet, also when it is said twice.
    assert_eq!(ada.post(&decide(&task), &pay).await.expect(202), proposed);
    let now = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(now["status"], "disputed");
    // Another admin sees who proposed what, and the item is free.
    let seen = item(&eve, "dispute").await;
    assert_eq!(seen["proposal"], proposed);
    assert_eq!(seen["claimed_by"], Value::Null);
    let decided = eve.post(&decide(&task), &pay).await.expect(200);
    assert_eq!(decided["status"], "completed");
    assert_eq!(eve.post(&decide(&task), &pay).await.expect(200), decided);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
    assert_eq!(
        actions(&ada, &task).await,
        ["dispute.decided", "dispute.proposed"]
    );
    let line = ada.get("/v1/admin/audit?action=dispute.decided").await;
    let line = &line.expect(200)["data"][0];
    assert_eq!(line["details"]["proposed_by"], proposed["proposed_by"]);
    assert_ne!(line["by"]["id"], proposed["proposed_by"]);
}

async fn what_stays_below_the_limit_needs_nobody_else(app: TestApp) {
    let (dev, worker) = people(&app).await;
    let admin = app.admin().await;
    // The worker gets 2,000 of the 2,381: not more than the limit.
    let split = json!({"decision": "split", "paid_cents": 2_381});
    let limited = app.with_four_eyes(LIMIT).await;
    for (app, body) in [
        (&app, json!({"decision": "pay"})),
        (&limited, json!({"decision": "refund"})),
        (&limited, split),
    ] {
        let task = disputed_task(app, &dev, &worker).await;
        let admin = Client::new(app.address, Some(admin.key()));
        admin.post(&decide(&task), &body).await.expect(200);
    }
}

async fn another_decision_is_refused_until_the_proposal_is_withdrawn(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = people(&app).await;
    let operator = app.admin_with(AdminRole::Operator).await;
    let (other, owner) = (app.admin_with(AdminRole::Operator).await, app.admin().await);
    let task = disputed_task(&app, &dev, &worker).await;
    let none = owner.delete(&proposal(&task)).await;
    none.expect_error(404, "PROPOSAL_NOT_FOUND");
    let pay = json!({"decision": "pay", "note": "It is there."});
    operator.post(&decide(&task), &pay).await.expect(202);
    for different in [
        json!({"decision": "pay"}),
        json!({"decision": "pay", "note": "It is not."}),
        json!({"decision": "refund", "note": "It is there."}),
        json!({"decision": "split", "paid_cents": 1, "note": "It is there."}),
    ] {
        for admin in [&other, &operator] {
            let refused = admin.post(&decide(&task), &different).await;
            let refused = refused.expect_error(409, "PROPOSAL_PENDING");
            let message = refused.body["error"]["message"].as_str().unwrap();
            assert!(message.contains("pay"), "{message}");
        }
    }
    let refused = other.delete(&proposal(&task)).await;
    refused.expect_error(403, "FORBIDDEN");
    operator.delete(&proposal(&task)).await.expect(200);
    assert_eq!(item(&other, "dispute").await.get("proposal"), None);
    // An owner may, too.
    operator.post(&decide(&task), &pay).await.expect(202);
    owner.delete(&proposal(&task)).await.expect(200);
    let refund = json!({"decision": "refund"});
    other.post(&decide(&task), &refund).await.expect(200);
    let late = operator.post(&decide(&task), &pay).await;
    late.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(
        actions(&owner, &task).await,
        [
            "dispute.decided",
            "dispute.proposal_withdrawn",
            "dispute.proposed",
            "dispute.proposal_withdrawn",
            "dispute.proposed",
        ]
    );
}

async fn of_two_admins_at_once_one_proposes_and_one_confirms(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = people(&app).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    for (one, two, expected) in [
        (
            json!({"decision": "pay"}),
            json!({"decision": "pay"}),
            [200, 202],
        ),
        (
            json!({"decision": "pay"}),
            json!({"decision": "pay", "note": "Yes."}),
            [202, 409],
        ),
    ] {
        for _ in 0..3 {
            let task = disputed_task(&app, &dev, &worker).await;
            let decide = decide(&task);
            let (one, two) = tokio::join!(ada.post(&decide, &one), eve.post(&decide, &two));
            let mut statuses = [one.status.as_u16(), two.status.as_u16()];
            statuses.sort_unstable();
            assert_eq!(statuses, expected);
            app.jobs.drain().await.unwrap();
            TestApp::expect_settled(&app.verify().await);
        }
    }
}

async fn a_proposal_holds_up_no_deadline(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = people(&app).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let task = disputed_task(&app, &dev, &worker).await;
    let pay = json!({"decision": "pay"});
    ada.post(&decide(&task), &pay).await.expect(202);
    app.advance(Duration::from_secs(31 * 24 * 60 * 60));
    app.scheduler.catch_up().await.unwrap();
    let now = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(now["status"], "refunded");
    let late = eve.post(&decide(&task), &pay).await;
    late.expect_error(409, "INVALID_TASK_STATE");
    let gone = ada.delete(&proposal(&task)).await;
    gone.expect_error(404, "PROPOSAL_NOT_FOUND");
}

async fn a_proposal_of_a_revoked_key_does_not_count(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = people(&app).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let task = disputed_task(&app, &dev, &worker).await;
    let pay = json!({"decision": "pay"});
    let first = ada.post(&decide(&task), &pay).await.expect(202);
    let key = first["proposed_by"].as_str().unwrap();
    eve.delete(&format!("/v1/admin/keys/{key}"))
        .await
        .expect(200);
    let second = eve.post(&decide(&task), &pay).await.expect(202);
    assert_ne!(second["proposed_by"], first["proposed_by"]);
    let third = app.admin().await;
    third.post(&decide(&task), &pay).await.expect(200);
}

async fn a_large_write_off_waits_for_a_second_owner(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    worker.become_ready(&app).await;
    worker.onboard_as(&app, "payouts_refused").await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let task = dev.create_paid_task().await;
        worker.begin(&task).await;
        let proof = worker.prove(&task, task["id"].as_str().unwrap()).await;
        dev.review(&task, &proof, "approve").await.expect(200);
        tasks.push(task);
    }
    app.jobs.drain().await.unwrap();
    let payout = |task: &Value, what: &str| {
        format!("/v1/admin/payouts/{}/{what}", task["id"].as_str().unwrap())
    };
    let write_off = payout(&tasks[0], "write_off");
    let proposed = ada.post(&write_off, &json!({})).await.expect(202);
    assert_eq!(proposed["proposal"], json!({"amount_cents": 2100}));
    assert_eq!(ada.post(&write_off, &json!({})).await.expect(202), proposed);
    assert_eq!(app.verify().await.differences, Vec::<String>::new());
    eve.post(&write_off, &json!({})).await.expect(200);
    // Trying again is no write-off: it takes the proposal with it.
    let write_off = payout(&tasks[1], "write_off");
    ada.post(&write_off, &json!({})).await.expect(202);
    let shown = item(&eve, "failed_payout").await;
    assert_eq!(shown["proposal"]["kind"], "write_off");
    eve.post(&payout(&tasks[1], "retry"), &json!({}))
        .await
        .expect(200);
    app.jobs.drain().await.unwrap();
    let fresh = eve.post(&write_off, &json!({})).await.expect(202);
    assert_ne!(fresh["proposed_by"], proposed["proposed_by"]);
    let withdrawn = eve.delete(&payout(&tasks[1], "proposal")).await.expect(200);
    assert_eq!(withdrawn["kind"], "write_off");
    worker.onboard_as(&app, "ready").await;
    eve.post(&payout(&tasks[1], "retry"), &json!({}))
        .await
        .expect(200);
    app.jobs.drain().await.unwrap();
    TestApp::expect_settled(&app.verify().await);
}

async fn an_owner_with_a_second_key_is_no_second_admin(app: TestApp) {
    let app = app.with_four_eyes(LIMIT).await;
    let (dev, worker) = people(&app).await;
    let (ada, eve) = (app.admin().await, app.admin().await);
    let create = async |by: &Client| {
        let body = json!({"name": "Second key", "role": "owner"});
        let key = by.post("/v1/admin/keys", &body).await.expect(201);
        Client::new(app.address, key["key"].as_str())
    };
    let second = create(&ada).await;
    let third = create(&second).await;
    let task = disputed_task(&app, &dev, &worker).await;
    let pay = json!({"decision": "pay"});
    let proposed = second.post(&decide(&task), &pay).await.expect(202);
    // All these keys stem from the one that the operator gave to Ada.
    for same in [&ada, &second, &third] {
        assert_eq!(same.post(&decide(&task), &pay).await.expect(202), proposed);
    }
    let keys = ada.get("/v1/admin/keys").await.expect(200);
    let creators = keys["data"].as_array().unwrap().iter();
    let creators: Vec<_> = creators.map(|key| &key["created_by"]).collect();
    let ids = ids(&keys);
    let created = creators.iter().filter(|creator| !creator.is_null());
    let created: Vec<_> = created.map(|creator| creator.as_str().unwrap()).collect();
    assert_eq!(created.len(), 2);
    assert!(created.iter().all(|creator| ids.contains(creator)));
    let decided = create(&eve).await.post(&decide(&task), &pay).await;
    assert_eq!(decided.expect(200)["status"], "completed");
}
