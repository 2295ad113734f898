//! Workers are told what others decide, and read it in a list of theirs.

use legwork::domain::{AccountId, Actor, ProcessorName, Timestamp};
use legwork::usecases;
use serde_json::{Value, json};

use crate::support::{InjectedFault, TestApp, Worker, on_both_engines, path, photo, storefront};

on_both_engines!(
    a_cancelled_assignment_tells_what_is_paid,
    work_that_expires_is_told,
    a_decided_dispute_is_told_with_its_note,
    a_suspension_and_its_end_are_told,
    refused_documents_are_told_with_the_note,
    a_payout_that_fails_and_is_written_off_is_told,
    a_payout_account_that_stops_working_is_told,
    notifications_are_listed_and_marked_as_read,
    erased_tasks_leave_no_notifications,
);

async fn list(worker: &Worker) -> Value {
    let list = worker.client.get("/v1/worker/notifications").await;
    list.expect(200)
}

/// The worker was told this once: of that kind, about that task or none, with these words.
async fn expect_told(worker: &Worker, kind: &str, task: &Value, words: &[&str]) {
    let list = list(worker).await;
    let fits = |told: &&Value| told["kind"] == kind && told["task_id"] == *task;
    let told: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(fits)
        .collect();
    assert_eq!(told.len(), 1, "{kind}: {list}");
    let text = format!("{} {}", told[0]["subject"], told[0]["paragraphs"]);
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

async fn a_cancelled_assignment_tells_what_is_paid(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    let cancel = format!("{}/cancel", path(&task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    let words = ["Photograph a storefront", "$10.50"];
    expect_told(&worker, "task_cancelled", &task["id"], &words).await;
    // Mailed as well.
    let notices = app.notices().await;
    let kept = notices
        .iter()
        .find(|notice| notice["kind"] == "task_cancelled");
    assert_eq!(kept.unwrap()["email"], worker.email);
    // Nobody had taken this one.
    let before = list(&worker).await["data"].as_array().unwrap().len();
    let task = dev.create_paid_task().await;
    let cancel = format!("{}/cancel", path(&task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    let after = list(&worker).await["data"].as_array().unwrap().len();
    assert_eq!(after, before);
}

async fn work_that_expires_is_told(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let mut body = storefront();
    body["deadline"] = json!("2025-11-15T18:00:00.000Z");
    let task = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = task["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, crate::support::GOOD_CARD).await;
    worker.begin(&task).await;
    app.set_time("2025-11-15T18:00:00.000Z");
    app.scheduler.catch_up().await.unwrap();
    let words = ["Photograph a storefront", "is over"];
    expect_told(&worker, "task_expired", &task["id"], &words).await;
}

async fn a_decided_dispute_is_told_with_its_note(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let admin = app.admin().await;
    for (decision, words) in [
        (
            json!({"decision": "pay", "note": "It is there."}),
            ["$21.00", "It is there."],
        ),
        (
            json!({"decision": "refund", "note": "It is not."}),
            ["The developer gets the money back", "It is not."],
        ),
        (
            json!({"decision": "split", "paid_cents": 1000, "note": "Half of it is."}),
            ["$8.40", "Half of it is."],
        ),
    ] {
        let task = crate::admin::disputed_task(&app, &dev, &worker).await;
        let decide = format!("/v1/admin/disputes/{}/decide", task["id"].as_str().unwrap());
        admin.post(&decide, &decision).await.expect(200);
        expect_told(&worker, "dispute_decided", &task["id"], &words).await;
    }
    let task = crate::admin::disputed_task(&app, &dev, &worker).await;
    app.set_time("2025-12-15T12:00:00.000Z");
    app.scheduler.catch_up().await.unwrap();
    // The worker's token has expired meanwhile.
    let notices = app.notices().await;
    let told = notices
        .iter()
        .find(|told| told.to_string().contains("nobody decided in time"));
    assert_eq!(told.unwrap()["kind"], "dispute_decided", "{task}");
}

async fn a_suspension_and_its_end_are_told(app: TestApp) {
    let (dev, worker, admin) = (
        app.developer().await,
        app.ready_worker().await,
        app.admin().await,
    );
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let decide = |what: &str| format!("/v1/admin/workers/{}/{what}", worker.id);
    admin.post(&decide("suspend"), &json!({})).await.expect(200);
    let notices = app.notices().await;
    let told = |kind: &str| -> Value {
        let found = notices.iter().find(|notice| notice["kind"] == kind);
        found.unwrap()["paragraphs"].clone()
    };
    let suspended = told("worker_suspended").to_string();
    for words in ["cannot accept tasks", "A task that you", "is held"] {
        assert!(suspended.contains(words), "{suspended}");
    }
    admin.post(&decide("restore"), &json!({})).await.expect(200);
    let notices = app.notices().await;
    let restored = notices
        .iter()
        .find(|notice| notice["kind"] == "worker_restored");
    let restored = restored.unwrap()["paragraphs"].to_string();
    assert!(restored.contains("accept tasks again"), "{restored}");
}

async fn refused_documents_are_told_with_the_note(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
    let refuse = format!("/v1/admin/workers/{}/refuse", worker.id);
    let note = json!({"note": "The picture of the passport is cut off."});
    app.admin().await.post(&refuse, &note).await.expect(200);
    let words = [
        "could not verify",
        "The picture of the passport is cut off.",
    ];
    expect_told(&worker, "worker_refused", &Value::Null, &words).await;
}

async fn a_payout_that_fails_and_is_written_off_is_told(app: TestApp) {
    let (app, processor) = TestApp::start_flaky(&app.database).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "one").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    processor.set(InjectedFault::Refuses);
    app.jobs.drain().await.unwrap();
    let words = ["could not send you $21.00", "stays on your balance"];
    let kind = "payout_account_attention";
    expect_told(&worker, kind, &task["id"], &words).await;
    processor.set(InjectedFault::None);
    let write_off = format!(
        "/v1/admin/payouts/{}/write_off",
        task["id"].as_str().unwrap()
    );
    let admin = app.admin().await;
    admin.post(&write_off, &json!({})).await.expect(200);
    let words = ["$21.00", "written off"];
    expect_told(&worker, "payout_written_off", &task["id"], &words).await;
}

async fn a_payout_account_that_stops_working_is_told(app: TestApp) {
    let worker = app.ready_worker().await;
    app.jobs.drain().await.unwrap();
    let before = list(&worker).await["data"].as_array().unwrap().len();
    let says = async |ready: bool, seconds: i64| {
        let id = format!("acct_{}", worker.id);
        let now = app.clock.now();
        let at = Timestamp::from_millis(now.as_millis() + seconds * 1_000);
        app.store
            .write(move |tx| {
                let news = (ready, at);
                usecases::payout_account_changed(tx, ProcessorName::Sandbox, &id, news, now)
            })
            .await
            .unwrap();
    };
    says(false, 10).await;
    // Told again, and an older one that comes late.
    says(false, 11).await;
    says(false, 9).await;
    let told = list(&worker).await["data"].as_array().unwrap().clone();
    assert_eq!(told.len(), before + 1);
    let words = ["needs attention", "cannot pay out"];
    expect_told(&worker, "payout_account_attention", &Value::Null, &words).await;
    says(true, 12).await;
    says(false, 13).await;
    let told = list(&worker).await["data"].as_array().unwrap().len();
    assert_eq!(told, before + 2);
}

async fn notifications_are_listed_and_marked_as_read(app: TestApp) {
    let (dev, worker, other) = (
        app.developer().await,
        app.ready_worker().await,
        app.ready_worker().await,
    );
    for _ in 0..3 {
        app.advance(std::time::Duration::from_secs(1));
        let task = dev.create_paid_task().await;
        worker.act(&task, "accept").await.expect(200);
    }
    let all = list(&worker).await;
    assert_eq!(all["unread_count"], 4);
    assert_eq!(all["meta"], json!({"limit": 20, "next_cursor": null}));
    let all = all["data"].as_array().unwrap();
    let kinds: Vec<_> = all.iter().map(|told| &told["kind"]).collect();
    let assigned = "task_assigned";
    assert_eq!(kinds, [assigned, assigned, assigned, "worker_verified"]);
    assert!(all.iter().all(|told| told["read"] == false));

    let get = async |path: &str| worker.client.get(path).await.expect(200);
    let first = get("/v1/worker/notifications?limit=3").await;
    assert_eq!(first["data"], json!(all[..3]));
    let cursor = first["meta"]["next_cursor"].as_str().unwrap();
    let rest = get(&format!("/v1/worker/notifications?cursor={cursor}")).await;
    assert_eq!(rest["data"], json!(all[3..]));
    assert_eq!(rest["unread_count"], 4, "of all, not of the page");
    for wrong in ["?limit=0", "?cursor=x", "?offset=1"] {
        let wrong = format!("/v1/worker/notifications{wrong}");
        let wrong = worker.client.get(&wrong).await;
        wrong.expect_error(400, "VALIDATION_ERROR");
    }

    let read = |told: &Value| {
        let id = told["id"].as_str().unwrap();
        format!("/v1/worker/notifications/{id}/read")
    };
    let strange = other.client.post(&read(&all[0]), &json!({})).await;
    strange.expect_error(404, "NOTIFICATION_NOT_FOUND");
    let unknown = "/v1/worker/notifications/none/read";
    let unknown = worker.client.post(unknown, &json!({})).await;
    unknown.expect_error(404, "NOTIFICATION_NOT_FOUND");
    assert_eq!(list(&worker).await["unread_count"], 4);
    for _ in 0..2 {
        let marked = worker.client.post(&read(&all[0]), &json!({})).await;
        let marked = marked.expect(200);
        assert_eq!(
            (&marked["id"], &marked["read"]),
            (&all[0]["id"], &json!(true))
        );
        assert_eq!(list(&worker).await["unread_count"], 3);
    }
    for _ in 0..2 {
        let left = worker
            .client
            .post("/v1/worker/notifications/read_all", &json!({}))
            .await;
        assert_eq!(left.expect(200), json!({"unread_count": 0}));
    }
    let after = list(&worker).await;
    let after = after["data"].as_array().unwrap();
    assert!(after.iter().all(|told| told["read"] == true));
    assert_eq!(list(&other).await["unread_count"], 1, "nobody else's");
}

async fn erased_tasks_leave_no_notifications(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.act(&task, "accept").await.expect(200);
    let cancel = format!("{}/cancel", path(&task));
    dev.live.post(&cancel, &json!({})).await.expect(200);
    app.jobs.drain().await.unwrap();
    assert!(list(&worker).await.to_string().contains("storefront"));
    let (id, now) = (AccountId::parse(&dev.account_id).unwrap(), app.clock.now());
    app.store
        .write(move |tx| usecases::delete_account(tx, id, &Actor::COMMAND_LINE, now))
        .await
        .unwrap();
    app.advance(std::time::Duration::from_secs(30 * 24 * 60 * 60));
    app.jobs.drain().await.unwrap();
    let left = "SELECT kind FROM notices WHERE paragraphs LIKE '%storefront%'";
    assert_eq!(app.database.column(left).await, Vec::<String>::new());
}
