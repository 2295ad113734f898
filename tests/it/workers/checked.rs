//! What an admin has checked of a worker: skills that have to be confirmed, and the name.

use serde_json::{Value, json};

use crate::support::{Developer, TestApp, Worker, on_both_engines, photo, storefront};

on_both_engines!(
    a_checked_skill_counts_when_it_is_confirmed,
    a_bounty_that_needs_a_checked_skill_is_told_to_who_has_it,
    an_admin_is_asked_to_confirm_a_skill,
    confirming_is_read_strictly_and_recorded,
    a_verified_name_changes_when_an_admin_agrees,
    a_name_that_is_refused_leaves_the_old_one,
    a_suspension_drops_a_pending_name,
    a_name_is_free_before_verification,
    the_name_stays_while_documents_are_in_review,
);

async fn notary_task(app: &TestApp, dev: &Developer, task_type: &str) -> Value {
    let mut body = storefront();
    body["required_skills"] = json!(["notary"]);
    body["task_type"] = json!(task_type);
    let task = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = task["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, crate::support::GOOD_CARD).await;
    task
}

async fn found(worker: &Worker) -> usize {
    let found = worker.client.get("/v1/worker/available_tasks").await;
    found.expect(200)["data"].as_array().unwrap().len()
}

async fn profile(worker: &Worker) -> Value {
    worker.client.get("/v1/worker").await.expect(200)
}

async fn items(app: &TestApp, kind: &str) -> Vec<Value> {
    let path = format!("/v1/admin/queue?kind={kind}");
    let queue = app.admin().await.get(&path).await.expect(200);
    queue["data"].as_array().unwrap().clone()
}

async fn a_checked_skill_counts_when_it_is_confirmed(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&["notary", "driving"]).await;
    worker.become_ready(&app).await;
    let task = notary_task(&app, &dev, "standard").await;
    assert_eq!(found(&worker).await, 0);
    let refused = worker.act(&task, "accept").await;
    assert!(refused.text.contains("not confirmed"), "{}", refused.text);
    refused.expect_error(403, "WORKER_NOT_ELIGIBLE");
    assert_eq!(profile(&worker).await["confirmed_skills"], json!([]));
    worker.confirm(&app, &["notary"]).await;
    assert_eq!(
        profile(&worker).await["confirmed_skills"],
        json!(["notary"])
    );
    assert_eq!(found(&worker).await, 1);
    // Taken back, and confirmed for who does not name it.
    worker.confirm(&app, &[]).await;
    assert_eq!(found(&worker).await, 0);
    let other = app.sign_up(&["driving"]).await;
    other.become_ready(&app).await;
    other.confirm(&app, &["notary"]).await;
    assert_eq!(found(&other).await, 0);
    let lacks = other.act(&task, "accept").await;
    assert!(lacks.text.contains("does not have all skills"));
    lacks.expect_error(403, "WORKER_NOT_ELIGIBLE");
    worker.confirm(&app, &["notary"]).await;
    worker.act(&task, "accept").await.expect(200);
}

async fn a_bounty_that_needs_a_checked_skill_is_told_to_who_has_it(app: TestApp) {
    let (claims, has) = (
        app.sign_up(&["notary"]).await,
        app.sign_up(&["notary"]).await,
    );
    has.confirm(&app, &["notary"]).await;
    for worker in [&claims, &has] {
        worker.become_ready(&app).await;
    }
    notary_task(&app, &app.developer().await, "bounty").await;
    let notices = app.notices().await;
    let told: Vec<_> = notices
        .iter()
        .filter(|notice| notice["kind"] == "bounty")
        .map(|notice| notice["worker_id"].as_str().unwrap())
        .collect();
    assert_eq!(told, [has.id.as_str()]);
}

async fn an_admin_is_asked_to_confirm_a_skill(app: TestApp) {
    let worker = app.sign_up(&["notary"]).await;
    assert_eq!(items(&app, "skill_check").await.len(), 0, "nobody yet");
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
    let asked = items(&app, "skill_check").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["subject_id"], worker.id);
    assert_eq!(asked[0]["asked_skills"], json!(["notary"]));
    assert_eq!(asked[0]["worker"]["id"], worker.id);
    let one = format!("/v1/admin/queue/{}", asked[0]["id"].as_str().unwrap());
    let one = app.admin().await.get(&one).await.expect(200);
    assert_eq!(one["asked_skills"], json!(["notary"]));
    assert_eq!(one["files"].as_array().unwrap().len(), 2);
    assert!(one["files"][0]["file_url"].is_string(), "{one}");
    assert_eq!(one["earlier_decisions"], json!([]));
    worker.confirm(&app, &["notary"]).await;
    assert_eq!(items(&app, "skill_check").await.len(), 0);
    // A verified worker learns it.
    let other = app.ready_worker().await;
    let learn = json!({"skills": ["driving"]});
    other.client.patch("/v1/worker", &learn).await.expect(200);
    assert_eq!(items(&app, "skill_check").await.len(), 0);
    let learn = json!({"skills": ["driving", "notary"]});
    other.client.patch("/v1/worker", &learn).await.expect(200);
    let asked = items(&app, "skill_check").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(profile(&other).await["status"], "verified");
    // An admin who does not confirm it clears the item.
    let clear = format!("/v1/admin/queue/{}/clear", asked[0]["id"].as_str().unwrap());
    let note = json!({"note": "No commission."});
    app.admin().await.post(&clear, &note).await.expect(200);
    assert_eq!(items(&app, "skill_check").await.len(), 0);
    assert_eq!(profile(&other).await["confirmed_skills"], json!([]));
}

async fn confirming_is_read_strictly_and_recorded(app: TestApp) {
    let (worker, admin) = (app.sign_up(&["notary"]).await, app.admin().await);
    let path = format!("/v1/admin/workers/{}/skills", worker.id);
    for (body, fields) in [
        (json!({}), vec!["confirmed"]),
        (json!({"confirmed": "notary"}), vec!["confirmed"]),
        (json!({"confirmed": ["flying"]}), vec!["confirmed[0]"]),
        (json!({"confirmed": [], "more": 1}), vec!["more"]),
    ] {
        let refused = admin.post(&path, &body).await;
        assert_eq!(refused.faulty_fields(), fields, "{body}");
    }
    let unknown = "/v1/admin/workers/none/skills";
    let confirm = json!({"confirmed": ["notary"]});
    let unknown = admin.post(unknown, &confirm).await;
    unknown.expect_error(404, "WORKER_NOT_FOUND");
    for _ in 0..2 {
        let confirmed = admin.post(&path, &confirm).await.expect(200);
        assert_eq!(confirmed["confirmed_skills"], json!(["notary"]));
    }
    let lines = format!(
        "/v1/admin/audit?subject_id={}&action=worker.skills_confirmed",
        worker.id
    );
    let lines = admin.get(&lines).await.expect(200);
    let lines = lines["data"].as_array().unwrap();
    assert_eq!(lines.len(), 1, "the second said the same");
    let details = json!({"confirmed": ["notary"], "before": []});
    assert_eq!(lines[0]["details"], details);
}

async fn a_verified_name_changes_when_an_admin_agrees(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    // The same name is no change.
    let same = json!({"name": "Grace", "phone": "+1 718 555 0100"});
    let changed = worker.client.patch("/v1/worker", &same).await.expect(200);
    assert_eq!(changed["status"], "verified");
    let rename = json!({"name": "Grace Hopper"});
    let changed = worker.client.patch("/v1/worker", &rename).await.expect(200);
    assert_eq!(changed["name"], "Grace");
    assert_eq!(changed["pending_name"], "Grace Hopper");
    assert_eq!(changed["status"], "in_review");
    assert_eq!(profile(&worker).await, changed);
    let asked = items(&app, "worker_verification").await;
    assert_eq!(asked.len(), 1);
    let note = asked[0]["note"].as_str().unwrap();
    assert!(note.contains("“Grace Hopper” instead of “Grace”"), "{note}");
    // What was accepted goes on; nothing more can be accepted.
    worker.act(&task, "start").await.expect(200);
    let proof = worker.prove(&task, "one").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    let other = dev.create_paid_task().await;
    let refused = worker.act(&other, "accept").await;
    refused.expect_error(403, "WORKER_NOT_ELIGIBLE");
    app.advance(std::time::Duration::from_secs(1));
    let verify = format!("/v1/admin/workers/{}/verify", worker.id);
    let admin = app.admin().await;
    let verified = admin.post(&verify, &json!({})).await.expect(200);
    assert_eq!(verified["name"], "Grace Hopper");
    assert_eq!(verified["pending_name"], Value::Null);
    assert_eq!(verified["status"], "verified");
    assert_eq!(profile(&worker).await["name"], "Grace Hopper");
    assert_eq!(items(&app, "worker_verification").await.len(), 0);
    worker.act(&other, "accept").await.expect(200);
    let notices = app.notices().await;
    let told = |notice: &&Value| notice["subject"] == "Your new name is confirmed";
    assert_eq!(notices.iter().filter(told).count(), 1);
}

async fn a_name_that_is_refused_leaves_the_old_one(app: TestApp) {
    let worker = app.ready_worker().await;
    for (name, pending, status) in [
        ("Mallory", json!("Mallory"), "in_review"),
        // The worker thinks better of it, and of that.
        ("Grace", Value::Null, "verified"),
        ("Mallory", json!("Mallory"), "in_review"),
    ] {
        let rename = json!({"name": name});
        let changed = worker.client.patch("/v1/worker", &rename).await.expect(200);
        assert_eq!(changed["pending_name"], pending);
        // What an admin is looking at does not change under their eyes.
        if status == "in_review" {
            let again = json!({"name": "Mallory M."});
            let refused = worker.client.patch("/v1/worker", &again).await;
            refused.expect_error(409, "INVALID_WORKER_STATE");
        }
        assert_eq!(changed["status"], status);
        let asked = items(&app, "worker_verification").await.len();
        assert_eq!(asked, usize::from(status == "in_review"));
    }
    let refuse = format!("/v1/admin/workers/{}/refuse", worker.id);
    let note = json!({"note": "The passport says otherwise."});
    let refused = app.admin().await.post(&refuse, &note).await.expect(200);
    assert_eq!(refused["name"], "Grace");
    assert_eq!(refused["pending_name"], Value::Null);
    assert_eq!(refused["status"], "verified");
    assert_eq!(profile(&worker).await["pending_name"], Value::Null);
    let notices = app.notices().await;
    let told = notices
        .iter()
        .find(|notice| notice["subject"] == "Your new name was refused");
    let told = told.unwrap()["paragraphs"].to_string();
    assert!(told.contains("The passport says otherwise."), "{told}");
}

async fn a_suspension_drops_a_pending_name(app: TestApp) {
    let (worker, admin) = (app.ready_worker().await, app.admin().await);
    let rename = json!({"name": "Mallory"});
    worker.client.patch("/v1/worker", &rename).await.expect(200);
    let decide = |what: &str| format!("/v1/admin/workers/{}/{what}", worker.id);
    admin.post(&decide("suspend"), &json!({})).await.expect(200);
    let restored = admin.post(&decide("restore"), &json!({})).await;
    let restored = restored.expect(200);
    assert_eq!(restored["status"], "verified");
    assert_eq!(restored["name"], "Grace");
    assert_eq!(restored["pending_name"], Value::Null);
}

async fn a_name_is_free_before_verification(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let rename = json!({"name": "Grace Hopper"});
    let changed = worker.client.patch("/v1/worker", &rename).await.expect(200);
    assert_eq!(changed["name"], "Grace Hopper");
    assert_eq!(changed["pending_name"], Value::Null);
    assert_eq!(changed["status"], "unverified");
}

async fn the_name_stays_while_documents_are_in_review(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
    let rename = json!({"name": "Mallory", "phone": "+1 718 555 0100"});
    let refused = worker.client.patch("/v1/worker", &rename).await;
    let refused = refused.expect_error(409, "INVALID_WORKER_STATE");
    assert!(refused.text.contains("change the name"), "{}", refused.text);
    let unchanged = profile(&worker).await;
    assert_eq!(
        (&unchanged["name"], &unchanged["phone"]),
        (&json!("Grace"), &Value::Null)
    );
    // The rest of the profile is free, and so is the name once an admin has decided.
    let same = json!({"name": "Grace", "phone": "+1 718 555 0100"});
    worker.client.patch("/v1/worker", &same).await.expect(200);
    let refuse = format!("/v1/admin/workers/{}/refuse", worker.id);
    let admin = app.admin().await;
    admin.post(&refuse, &json!({})).await.expect(200);
    let renamed = worker.client.patch("/v1/worker", &rename).await.expect(200);
    assert_eq!(renamed["name"], "Mallory");
}
