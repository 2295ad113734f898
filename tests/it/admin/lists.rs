//! What admins can look at, and the simple things they change: accounts, workers, tasks, jobs, reports.

use std::time::Duration;

use legwork::domain::{JobKind, JobName, Tier};
use serde_json::{Value, json};

use super::{disputed_task, ids};
use crate::support::{Client, TestApp, on_both_engines, path, photo};

on_both_engines!(
    accounts_are_listed_and_shown_with_their_totals,
    an_account_changes_its_tier,
    an_account_is_suspended_and_restored,
    workers_are_listed_and_shown_with_their_documents,
    a_worker_is_suspended_and_restored,
    any_task_is_shown_with_its_money_and_its_history,
    dead_jobs_are_listed_and_tried_again,
    a_month_is_reported_as_json_and_as_csv,
);

/// Follows a list from its first page to its last, two at a time.
async fn all_ids(client: &Client, list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client
            .get(&format!("{list}limit=2{cursor}"))
            .await
            .expect(200);
        assert!(ids(&page).len() <= 2);
        found.extend(ids(&page).into_iter().map(str::to_owned));
        match page["meta"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

async fn accounts_are_listed_and_shown_with_their_totals(app: TestApp) {
    let admin = app.admin().await;
    let mut developers = Vec::new();
    for _ in 0..5 {
        developers.push(app.developer().await);
        app.advance(Duration::from_millis(1));
    }
    developers.reverse();
    let expected: Vec<_> = developers
        .iter()
        .map(|dev| dev.account_id.clone())
        .collect();
    assert_eq!(all_ids(&admin, "/v1/admin/accounts?").await, expected);
    let dev = &developers[0];
    let own = dev.test.get("/v1/account").await.expect(200);
    let email = own["email"].as_str().unwrap().to_uppercase();
    let email = format!("/v1/admin/accounts?email={email}");
    let found = admin.get(&email).await.expect(200);
    assert_eq!(ids(&found), [dev.account_id.as_str()]);
    let suspended = admin
        .get(&format!("{email}&status=suspended"))
        .await
        .expect(200);
    assert_eq!(ids(&suspended), Vec::<&str>::new());
    dev.create_task().await;
    dev.create_paid_task().await;
    let shown = format!("/v1/admin/accounts/{}", dev.account_id);
    let shown = admin.get(&shown).await.expect(200);
    assert_eq!(shown["account"], found["data"][0]);
    assert_eq!(shown["api_keys_count"], 2);
    assert_eq!(shown["live"]["tasks"], 1);
    assert_eq!(shown["live"]["tasks_by_status"]["posted"], 1);
    assert_eq!(shown["test"]["tasks_this_month"], 1);
    assert_eq!(shown["test"]["tasks_by_status"]["funded"], 1);
    assert_eq!(shown["test"]["tasks_by_status"]["expired"], 0);
    let none = admin.get("/v1/admin/accounts/none").await;
    none.expect_error(404, "ACCOUNT_NOT_FOUND");
    let faulty = "/v1/admin/accounts?status=x&email=x&cursor=x&limit=x&y=1";
    let faults = admin.get(faulty).await.faulty_fields();
    assert_eq!(faults, ["status", "email", "cursor", "limit", "y"]);
}

async fn an_account_changes_its_tier(app: TestApp) {
    let (admin, dev) = (app.admin().await, app.developer_on(Tier::Free).await);
    let tier = format!("/v1/admin/accounts/{}/tier", dev.account_id);
    let changed = admin.post(&tier, &json!({"tier": "pro"})).await.expect(200);
    assert_eq!(changed["tier"], "pro");
    let usage = dev.test.get("/v1/account/usage").await.expect(200);
    assert_eq!(usage["tasks_limit"], 10_000);
    admin.post(&tier, &json!({"tier": "pro"})).await.expect(200);
    let log = format!(
        "/v1/admin/audit?subject_id={}&action=account.tier_changed",
        dev.account_id
    );
    let log = admin.get(&log).await.expect(200);
    assert_eq!(log["data"].as_array().unwrap().len(), 1);
    assert_eq!(
        log["data"][0]["details"],
        json!({"from": "free", "to": "pro"})
    );
    for faulty in [json!({}), json!({"tier": "royal"}), json!({"tier": null})] {
        let refused = admin.post(&tier, &faulty).await;
        assert_eq!(refused.faulty_fields(), ["tier"]);
    }
    let none = admin
        .post("/v1/admin/accounts/none/tier", &json!({"tier": "pro"}))
        .await;
    none.expect_error(404, "ACCOUNT_NOT_FOUND");
}

async fn an_account_is_suspended_and_restored(app: TestApp) {
    let (admin, dev) = (app.admin().await, app.developer().await);
    let account = |action: &str| format!("/v1/admin/accounts/{}/{action}", dev.account_id);
    let early = admin.post(&account("restore"), &json!({})).await;
    early.expect_error(409, "INVALID_ACCOUNT_STATE");
    let suspended = admin
        .post(&account("suspend"), &json!({}))
        .await
        .expect(200);
    assert_eq!(suspended["status"], "suspended");
    let refused = dev.live.get("/v1/account").await;
    refused.expect_error(403, "ACCOUNT_SUSPENDED");
    let again = admin.post(&account("suspend"), &json!({})).await;
    assert_eq!(again.expect(200), suspended);
    let listed = admin
        .get("/v1/admin/accounts?status=suspended")
        .await
        .expect(200);
    assert_eq!(ids(&listed), [dev.account_id.as_str()]);
    let restored = admin
        .post(&account("restore"), &json!({}))
        .await
        .expect(200);
    assert_eq!(restored["status"], "active");
    dev.live.get("/v1/account").await.expect(200);
    for action in ["suspend", "restore"] {
        let none = format!("/v1/admin/accounts/none/{action}");
        let none = admin.post(&none, &json!({})).await;
        none.expect_error(404, "ACCOUNT_NOT_FOUND");
    }
}

async fn workers_are_listed_and_shown_with_their_documents(app: TestApp) {
    let admin = app.admin().await;
    let mut workers = Vec::new();
    for _ in 0..5 {
        workers.push(app.sign_up(&[]).await);
        app.advance(Duration::from_millis(1));
    }
    workers.reverse();
    let expected: Vec<_> = workers.iter().map(|worker| worker.id.clone()).collect();
    assert_eq!(all_ids(&admin, "/v1/admin/workers?").await, expected);
    let worker = &workers[2];
    worker.become_ready(&app).await;
    let verified = admin
        .get("/v1/admin/workers?status=verified")
        .await
        .expect(200);
    assert_eq!(ids(&verified), [worker.id.as_str()]);
    assert_eq!(verified["data"][0]["payout_account"]["status"], "ready");
    let sender = &workers[0];
    let (identity, selfie) = (photo("identity"), photo("selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = sender.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
    let found = format!("/v1/admin/workers?email={}", sender.email);
    let found = admin.get(&found).await.expect(200);
    assert_eq!(ids(&found), [sender.id.as_str()]);
    let shown = admin
        .get(&format!("/v1/admin/workers/{}", sender.id))
        .await
        .expect(200);
    assert_eq!(shown["worker"], found["data"][0]);
    assert_eq!(shown["verified_at"], Value::Null);
    let files = shown["files"].as_array().unwrap();
    let kinds: Vec<_> = files.iter().map(|file| &file["kind"]).collect();
    assert_eq!(kinds, ["identity", "selfie"]);
    let url = files[0]["file_url"].as_str().unwrap();
    let (_, file) = url.split_once("/files/").unwrap();
    let file = app.client().get(&format!("/files/{file}")).await;
    assert_eq!(file.status, 200);
    let none = admin.get("/v1/admin/workers/none").await;
    none.expect_error(404, "WORKER_NOT_FOUND");
}

async fn a_worker_is_suspended_and_restored(app: TestApp) {
    let admin = app.admin().await;
    let (verified, new) = (app.ready_worker().await, app.sign_up(&[]).await);
    let path = |id: &str, action: &str| format!("/v1/admin/workers/{id}/{action}");
    let early = admin.post(&path(&new.id, "restore"), &json!({})).await;
    early.expect_error(409, "INVALID_WORKER_STATE");
    app.advance(Duration::from_secs(60));
    for (worker, status) in [(&verified, "verified"), (&new, "unverified")] {
        admin
            .post(&path(&worker.id, "suspend"), &json!({}))
            .await
            .expect(200);
        let worker = worker.signed_in_again(&app).await;
        let own = worker.client.get("/v1/worker").await.expect(200);
        assert_eq!(own["status"], "suspended", "who reads, and takes nothing");
        let restored = admin
            .post(&path(&worker.id, "restore"), &json!({}))
            .await
            .expect(200);
        assert_eq!(restored["status"], status);
        let own = worker.client.get("/v1/worker").await.expect(200);
        assert_eq!(own["status"], status);
    }
    let shown = admin
        .get(&format!("/v1/admin/workers/{}", verified.id))
        .await
        .expect(200);
    assert_eq!(shown["verified_at"], TestApp::NOON);
}

async fn any_task_is_shown_with_its_money_and_its_history(app: TestApp) {
    let (admin, dev) = (app.admin().await, app.developer().await);
    let worker = app.ready_worker().await;
    let mut created = Vec::new();
    for _ in 0..3 {
        created.push(dev.create_task().await["id"].as_str().unwrap().to_owned());
        app.advance(Duration::from_millis(1));
    }
    let other = app.developer().await;
    created.push(
        other.create_live_task().await["id"]
            .as_str()
            .unwrap()
            .to_owned(),
    );
    app.advance(Duration::from_millis(1));
    let task = disputed_task(&app, &dev, &worker).await;
    created.push(task["id"].as_str().unwrap().to_owned());
    created.reverse();
    assert_eq!(all_ids(&admin, "/v1/admin/tasks?").await, created);
    let own = format!("/v1/admin/tasks?account_id={}&", dev.account_id);
    let expected = [&created[0], &created[2], &created[3], &created[4]];
    assert_eq!(
        all_ids(&admin, &own).await.iter().collect::<Vec<_>>(),
        expected
    );
    let funded = all_ids(&admin, &format!("{own}status=funded&")).await;
    assert_eq!(funded, created[2..]);
    let disputed = all_ids(&admin, "/v1/admin/tasks?status=disputed&").await;
    assert_eq!(disputed, created[..1]);
    let shown = admin
        .get(&format!("/v1/admin/tasks/{}", created[0]))
        .await
        .expect(200);
    assert_eq!(shown["task"], dev.live.get(&path(&task)).await.expect(200));
    assert_eq!(shown["payment"]["status"], "succeeded");
    assert_eq!(shown["ledger"][0]["type"], "payment");
    let history = shown["history"].as_array().unwrap();
    let moves: Vec<_> = history
        .iter()
        .map(|made| made["to"].as_str().unwrap())
        .collect();
    let expected = [
        "pending",
        "funded",
        "posted",
        "assigned",
        "in_progress",
        "proof_submitted",
        "proof_rejected",
        "disputed",
    ];
    assert_eq!(moves, expected);
    assert_eq!(shown["history_total"], expected.len());
    let last = history.last().unwrap();
    assert_eq!(last["by"]["type"], "worker");
    assert_eq!(last["by"]["id"], worker.id);
    assert_eq!(last["reason"], "The door is in the picture.");
    // An admin can look at a payment, but not make it.
    let unpaid = admin
        .get(&format!("/v1/admin/tasks/{}", created[1]))
        .await
        .expect(200);
    assert_eq!(unpaid["payment"]["status"], "requires_payment");
    assert_eq!(unpaid["payment"]["payment_client_secret"], Value::Null);
    assert_eq!(unpaid["payment"]["payment_url"], Value::Null);
    let none = admin.get("/v1/admin/tasks/none").await;
    none.expect_error(404, "TASK_NOT_FOUND");
    let faulty = admin
        .get("/v1/admin/tasks?account_id=x&status=x&cursor=x")
        .await;
    assert_eq!(faulty.faulty_fields(), ["account_id", "status", "cursor"]);
}

async fn dead_jobs_are_listed_and_tried_again(app: TestApp) {
    let admin = app.admin().await;
    let now = app.clock.now();
    let names = ["a", "b", "c"].map(|subject| JobName::new(JobKind::Refund, subject));
    app.store
        .write(move |tx| names.iter().try_for_each(|name| tx.add_job(name, now)))
        .await
        .unwrap();
    app.database
        .execute(
            "UPDATE jobs SET run_at = NULL, attempts = 3, last_error = 'no' WHERE subject <> 'c'",
        )
        .await;
    let jobs = |page: &Value| {
        let data = page["data"].as_array().unwrap().iter();
        data.map(|job| job["subject"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = admin.get("/v1/admin/jobs").await.expect(200);
    assert_eq!(jobs(&all), ["a", "b", "c"]);
    let first = admin
        .get("/v1/admin/jobs?dead=true&limit=1")
        .await
        .expect(200);
    let expected = json!({"kind": "refund", "subject": "a", "dead": true, "run_at": null,
        "attempts": 3, "waits_for": null, "last_error": "no", "created_at": TestApp::NOON});
    assert_eq!(first["data"], json!([expected]));
    let cursor = first["meta"]["next_cursor"].as_str().unwrap();
    let second = format!("/v1/admin/jobs?dead=true&limit=1&cursor={cursor}");
    let second = admin.get(&second).await.expect(200);
    assert_eq!(jobs(&second), ["b"]);
    assert_eq!(second["meta"]["next_cursor"], Value::Null);
    let retry = "/v1/admin/jobs/retry";
    let name = json!({"kind": "refund", "subject": "a"});
    let retried = admin.post(retry, &name).await.expect(200);
    assert_eq!(
        (&retried["dead"], &retried["attempts"]),
        (&json!(false), &json!(0))
    );
    for (kind, subject) in [
        ("refund", "a"),
        ("refund", "c"),
        ("mail", "b"),
        ("refund", "z"),
    ] {
        let none = admin
            .post(retry, &json!({"kind": kind, "subject": subject}))
            .await;
        none.expect_error(404, "JOB_NOT_FOUND");
    }
    let faulty = json!({"kind": "nap", "subject": "", "now": true});
    let faults = admin.post(retry, &faulty).await.faulty_fields();
    assert_eq!(faults, ["kind", "subject", "now"]);
    let faults = admin
        .get("/v1/admin/jobs?dead=maybe&cursor=x")
        .await
        .faulty_fields();
    assert_eq!(faults, ["dead", "cursor"]);
}

async fn a_month_is_reported_as_json_and_as_csv(app: TestApp) {
    let (admin, dev) = (app.admin().await, app.developer().await);
    dev.create_paid_task().await;
    dev.create_task().await;
    let base = "/v1/admin/report?month=2025-11";
    let report = admin.get(base).await.expect(200);
    assert_eq!(
        (&report["month"], &report["environment"]),
        (&json!("2025-11"), &json!("live"))
    );
    assert_eq!(report["total"]["paid_in_cents"], 2500);
    assert_eq!(report["days"].as_array().unwrap().len(), 30);
    let test = admin
        .get(&format!("{base}&environment=test&format=json"))
        .await
        .expect(200);
    assert_eq!(test["tasks_now"]["funded"], 1);
    let csv = admin.get(&format!("{base}&format=csv")).await;
    assert_eq!(csv.status, 200);
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let name = "attachment; filename=\"legwork-live-2025-11.csv\"";
    assert_eq!(csv.header("content-disposition"), name);
    assert_eq!(csv.text.lines().count(), 32);
    assert!(
        csv.text.lines().last().unwrap().starts_with("total,2500,"),
        "{}",
        csv.text
    );
    let faults = admin.get("/v1/admin/report").await.faulty_fields();
    assert_eq!(faults, ["month"]);
    let faulty = "/v1/admin/report?month=2026-13&environment=moon&format=pdf&x=1";
    let faults = admin.get(faulty).await.faulty_fields();
    assert_eq!(faults, ["month", "environment", "format", "x"]);
}
