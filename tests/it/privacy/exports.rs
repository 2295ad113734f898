//! Everybody can have a copy of what is held about them.

use std::collections::BTreeMap;
use std::time::Duration;

use legwork::exports::PartLimits;
use legwork::maintenance::{expire_exports, sweep_files};
use legwork::store::{FileCursor, StoreError};
use serde_json::{Value, json};

use super::{DAY, send_documents, stored};
use crate::admin::disputed_task;
use crate::support::archive::unzip;
use crate::support::{Client, Developer, TestApp, Worker, on_both_engines, path, photo};
use crate::suspension::erasure::files_in;
use crate::suspension::{count, finish_jobs, ids, kill_jobs_when};

on_both_engines!(
    a_developer_gets_everything_in_one_file,
    a_worker_gets_everything_in_one_file,
    one_at_a_time_and_three_a_day,
    it_is_kept_for_a_week_and_told_when_ready,
    nobody_sees_the_export_of_another,
    a_stolen_token_gets_no_copy_of_identity_documents,
    an_export_that_is_killed_is_made_in_the_end,
    much_becomes_several_parts,
    what_cannot_be_made_does_not_block_the_next,
    it_goes_with_its_owner,
    it_is_among_the_files_that_are_moved,
);

pub(super) type Entries = BTreeMap<String, Vec<u8>>;

async fn ask(client: &Client, whose: &str) -> Value {
    let path = format!("/v1/{whose}/export");
    client.post(&path, &json!({})).await.expect(201)
}

async fn list(client: &Client, whose: &str) -> Vec<Value> {
    let list = client.get(&format!("/v1/{whose}/export")).await.expect(200);
    list["data"].as_array().unwrap().clone()
}

async fn download(app: &TestApp, file: &Value) -> Entries {
    let url = file["url"].as_str().unwrap();
    let at = url.find("/files/exports/").unwrap();
    let reply = app.client().get(&url[at..]).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("content-type"), "application/zip");
    assert!(
        reply
            .header("content-disposition")
            .starts_with("attachment")
    );
    assert_eq!(file["size_bytes"].as_u64(), Some(reply.bytes.len() as u64));
    unzip(&reply.bytes)
}

/// Asks for an export, has it made, and downloads its only file.
pub(super) async fn export(app: &TestApp, client: &Client, whose: &str) -> Entries {
    let asked = ask(client, whose).await;
    assert_eq!(asked["status"], "preparing");
    assert_eq!(asked["files"], json!([]));
    finish_jobs(app).await;
    let ready = list(client, whose).await.remove(0);
    assert_eq!(
        (&ready["id"], &ready["status"]),
        (&asked["id"], &json!("ready"))
    );
    let files = ready["files"].as_array().unwrap();
    assert_eq!(files.len(), 1);
    download(app, &files[0]).await
}

pub(super) fn json_of(entries: &Entries, name: &str) -> Value {
    let found = entries.get(name);
    let text = found.unwrap_or_else(|| panic!("no {name} in {:?}", entries.keys()));
    serde_json::from_slice(text).unwrap()
}

pub(super) fn text_of<'a>(entries: &'a Entries, name: &str) -> &'a str {
    std::str::from_utf8(&entries[name]).unwrap()
}

/// The one entry whose name begins and ends so.
fn named<'a>(entries: &'a Entries, begins: &str, ends: &str) -> &'a str {
    let mut found = entries
        .keys()
        .filter(|name| name.starts_with(begins) && name.ends_with(ends));
    let name = found.next();
    assert!(found.next().is_none(), "several {begins}*{ends}");
    name.unwrap_or_else(|| panic!("no {begins}*{ends} in {:?}", entries.keys()))
}

async fn a_developer_gets_everything_in_one_file(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let webhook = json!({"url": "https://example.com/hook"}).to_string();
    let path_of_hook = "/v1/account/webhook";
    let set = dev.live.send("PUT", path_of_hook, &[], webhook).await;
    let secret = set.expect(200)["webhook_secret"].clone();
    let live = disputed_task(&app, &dev, &worker).await;
    let mut formula = crate::support::storefront();
    formula["title"] = json!("=1+1, \"really\"");
    let test = dev.test.post("/v1/tasks", &formula).await.expect(201);
    let mandate = json!({"permissions": ["create"], "approval_above_cents": 1_000,
        "spending_limits": [{"interval": "day", "cents": 9_000}], "expires_at": "2027-01-01T00:00:00Z"});
    let agent = json!({"name": "Agent", "environment": "test", "mandate": mandate});
    let agent = dev.live.post("/v1/account/keys", &agent).await.expect(201);
    let client = Client::new(app.address, agent["key"].as_str());
    let usual = crate::support::storefront();
    let asked = client.post("/v1/tasks", &usual).await.expect(201);
    // Another developer's task must not be in it.
    let other = app.developer().await;
    other.create_task().await;
    let entries = export(&app, &dev.test, "account").await;
    let account = json_of(&entries, "account.json");
    assert_eq!(account["email_confirmed"], true);
    assert_eq!(account["second_factor"]["enabled_at"], Value::Null);
    assert_eq!(account["second_factor"]["passkeys"], json!([]));
    assert!(text_of(&entries, "README.txt").contains("account.json"));
    let account = json_of(&entries, "account.json");
    assert_eq!(account["id"], json!(dev.account_id));
    assert_eq!(account["webhook"]["url"], "https://example.com/hook");
    let keys = json_of(&entries, "api_keys.json");
    assert_eq!(keys.as_array().unwrap().len(), 3);
    assert_eq!(text_of(&entries, "api_keys.csv").lines().count(), 4);
    // What each key may do, as it stands.
    let agent = agent["id"].as_str().unwrap();
    let path_of_mandate = format!("/v1/account/keys/{agent}/mandate");
    let mandate = dev.live.get(&path_of_mandate).await.expect(200);
    assert_eq!(mandate["usage"][0]["used"], 2_500);
    for key in keys.as_array().unwrap() {
        let limited = key["id"] == agent;
        let expected = if limited { &mandate } else { &Value::Null };
        assert_eq!(key["mandate"], *expected);
    }
    assert_eq!(account["test_keys_manage"], "all");
    let approval = format!("{}/approval", path(&asked));
    let approval = dev.test.get(&approval).await.expect(200);
    let kept = format!("tasks/test/{}/approval.json", asked["id"].as_str().unwrap());
    let kept = json_of(&entries, &kept);
    for (field, value) in kept.as_object().unwrap() {
        assert_eq!(approval[field], *value, "{field}");
    }
    assert_eq!(kept["status"], "waiting");
    let id = live["id"].as_str().unwrap();
    let folder = format!("tasks/live/{id}");
    let task = dev.live.get(&path(&live)).await.expect(200);
    assert_eq!(json_of(&entries, &format!("{folder}/task.json")), task);
    for part in ["history", "ledger"] {
        let list = dev.live.get(&format!("{}/{part}", path(&live))).await;
        let expected = &list.expect(200)["data"];
        let found = json_of(&entries, &format!("{folder}/{part}.json"));
        assert_eq!(&found, expected, "{part}");
    }
    let dispute = dev.live.get(&format!("{}/dispute", path(&live))).await;
    let found = json_of(&entries, &format!("{folder}/dispute.json"));
    assert_eq!(found, dispute.expect(200));
    let proofs = json_of(&entries, &format!("{folder}/proofs.json"));
    let proof = proofs[0]["id"].as_str().unwrap();
    let evidence = format!("{}/proofs/{proof}/evidence", path(&live));
    let evidence = dev.live.get(&evidence).await.expect(200);
    let found = json_of(&entries, &format!("{folder}/evidence.json"));
    assert_eq!(found, json!([evidence]));
    // The file as the developer sees it.
    let file = format!("{folder}/{}", proofs[0]["file"].as_str().unwrap());
    let shown = dev.live.get(&format!("{}/proofs", path(&live))).await;
    let shown = shown.expect(200)["data"][0]["file_url"].clone();
    let shown = shown.as_str().unwrap();
    let shown = app
        .client()
        .get(&shown[shown.find("/files/").unwrap()..])
        .await;
    assert_eq!(entries[&file], shown.bytes);
    let tasks = text_of(&entries, "tasks.csv");
    assert!(tasks.contains("\"'=1+1, \"\"really\"\"\""), "{tasks}");
    let test = format!("tasks/test/{}/task.json", test["id"].as_str().unwrap());
    assert_eq!(json_of(&entries, &test)["title"], formula["title"]);
    let events = json_of(&entries, named(&entries, "events/live-", ".json"));
    assert_eq!(events[0]["event"], "task.created");
    named(&entries, "deliveries/live-", ".json");
    let audit = json_of(&entries, named(&entries, "audit-", ".json"));
    assert!(audit.to_string().contains("account.created"), "{audit}");
    nothing_secret(&entries, &dev, &secret, client.key());
    let of_other = |text: &str| text.contains(&other.account_id);
    assert!(
        !entries
            .values()
            .any(|bytes| of_other(&String::from_utf8_lossy(bytes)))
    );
}

fn nothing_secret(entries: &Entries, dev: &Developer, webhook_secret: &Value, agent: &str) {
    let webhook_secret = webhook_secret.as_str().unwrap();
    for (name, bytes) in entries {
        let text = String::from_utf8_lossy(bytes);
        for secret in [&*dev.live_key, &*dev.test_key, webhook_secret, agent] {
            assert!(!text.contains(secret), "{name}");
        }
    }
}

async fn a_worker_gets_everything_in_one_file(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.sign_up(&["driving"]).await);
    send_documents(&worker, "one").await;
    worker.become_ready(&app).await;
    let task = disputed_task(&app, &dev, &worker).await;
    let done = dev.create_paid_task().await;
    worker.begin(&done).await;
    let proof = worker.prove(&done, "done").await;
    dev.review(&done, &proof, "approve").await.expect(200);
    app.jobs.drain().await.unwrap();
    let entries = export(&app, &worker.client, "worker").await;
    let profile = json_of(&entries, "profile.json");
    assert_eq!(profile["email"], json!(worker.email));
    assert_eq!(profile["skills"], json!(["driving"]));
    assert_eq!(profile["sign_ins"].as_array().unwrap().len(), 1);
    assert!(profile["sign_ins"][0]["user_agent"].is_string());
    assert_eq!(profile["email_confirmed"], true);
    assert_eq!(profile["confirmed_skills"], json!([]));
    assert_eq!(profile["pending_name"], Value::Null);
    assert_eq!(profile["second_factor"]["enabled_at"], Value::Null);
    assert_eq!(profile["second_factor"]["passkeys"], json!([]));
    let account = &profile["payout_accounts"][0];
    assert_eq!(account["processor"], "sandbox");
    assert_eq!(account["status"], "ready");
    assert!(account["id"].is_string());
    let identity = named(&entries, "documents/identity", ".jpg");
    assert_eq!(entries[identity], photo("identity one"));
    named(&entries, "documents/selfie", ".jpg");
    let told = json_of(&entries, named(&entries, "notifications-", ".json"));
    assert!(told.to_string().contains("You are verified"));
    let audit = json_of(&entries, named(&entries, "audit-", ".json"));
    assert!(audit.to_string().contains("worker.verified"));
    let id = task["id"].as_str().unwrap();
    let disputed = json_of(&entries, &format!("tasks/{id}.json"));
    assert_eq!(
        disputed["dispute"]["statement"],
        "The door is in the picture."
    );
    let id = done["id"].as_str().unwrap();
    let earned = json_of(&entries, &format!("tasks/{id}.json"))["earnings"].clone();
    assert_eq!(earned[0]["amount_cents"], 2100);
    assert_eq!(earned[1]["amount_cents"], -2100);
    assert_eq!(text_of(&entries, "earnings.csv").lines().count(), 3);
    // With the file as it was sent.
    let file = named(&entries, &format!("proofs/{id}/files/"), ".jpg");
    assert_eq!(entries[file], photo("done"));
    assert_eq!(text_of(&entries, "proofs.csv").lines().count(), 3);
    let all = entries
        .values()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let all: String = all.collect();
    // Of the developer there is nothing that the worker could not see.
    assert!(!all.contains("budget_cents") && !all.contains(&dev.account_id));
    assert!(!all.contains("$argon2") && !all.contains(worker.client.key()));
}

async fn one_at_a_time_and_three_a_day(app: TestApp) {
    let dev = app.developer().await;
    let again = async || dev.live.post("/v1/account/export", &json!({})).await;
    let field = json!({"all": true});
    let refused = dev.live.post("/v1/account/export", &field).await;
    assert_eq!(refused.faulty_fields(), ["all"]);
    let first = ask(&dev.live, "account").await;
    let refused = again().await.expect_error(409, "EXPORT_UNDER_WAY");
    assert!(refused.text.contains(first["id"].as_str().unwrap()));
    // From two servers at once, one is made.
    let second = TestApp::start(&app.database).await;
    let other = app.developer().await;
    let elsewhere = Client::new(second.address, Some(&other.test_key));
    let nothing = json!({});
    let (here, there) = tokio::join!(
        other.live.post("/v1/account/export", &nothing),
        elsewhere.post("/v1/account/export", &nothing),
    );
    let mut statuses = [here.status.as_u16(), there.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    for _ in 1..3 {
        finish_jobs(&app).await;
        app.advance(Duration::from_secs(60 * 60));
        ask(&dev.live, "account").await;
    }
    finish_jobs(&app).await;
    let refused = again().await.expect_error(429, "TOO_MANY_EXPORTS");
    assert_eq!(refused.header("retry-after"), "79201");
    app.advance(Duration::from_secs(22 * 60 * 60));
    ask(&dev.live, "account").await;
    again().await.expect_error(409, "EXPORT_UNDER_WAY");
}

async fn it_is_kept_for_a_week_and_told_when_ready(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    ask(&dev.live, "account").await;
    ask(&worker.client, "worker").await;
    finish_jobs(&app).await;
    let told = "SELECT kind FROM notices WHERE kind = 'export_ready'";
    assert_eq!(ids(&app, told).await.len(), 2);
    let ready = list(&dev.live, "account").await.remove(0);
    assert_eq!(ready["ready_at"], TestApp::NOON);
    assert_eq!(ready["expires_at"], "2025-11-22T12:00:00.000Z");
    app.advance(DAY * 7 - Duration::from_millis(1));
    expire_exports(&app.store, app.clock.now()).await.unwrap();
    // The sweep knows these files.
    sweep_files(&app.store, &app.app.files, app.clock.now())
        .await
        .unwrap();
    finish_jobs(&app).await;
    let still = list(&dev.live, "account").await.remove(0);
    download(&app, &still["files"][0]).await;
    app.advance(Duration::from_millis(1));
    assert_eq!(list(&dev.live, "account").await, Vec::<Value>::new());
    expire_exports(&app.store, app.clock.now()).await.unwrap();
    finish_jobs(&app).await;
    assert_eq!(files_in(&stored(&app)), 0);
    assert_eq!(count(&app, "exports").await, 0);
    assert_eq!(count(&app, "export_parts").await, 0);
}

async fn nobody_sees_the_export_of_another(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.sign_up(&[]).await);
    ask(&dev.live, "account").await;
    ask(&worker.client, "worker").await;
    finish_jobs(&app).await;
    let (other, another) = (app.developer().await, app.sign_up(&[]).await);
    assert_eq!(list(&other.live, "account").await, Vec::<Value>::new());
    assert_eq!(list(&another.client, "worker").await, Vec::<Value>::new());
    // The URL is the key to the file, and good for an hour.
    let ready = list(&dev.live, "account").await.remove(0);
    let url = ready["files"][0]["url"].as_str().unwrap();
    let url = &url[url.find("/files/").unwrap()..];
    app.advance(Duration::from_secs(60 * 60 + 1));
    let expired = app.client().get(url).await;
    expired.expect_error(403, "URL_EXPIRED");
}

async fn a_stolen_token_gets_no_copy_of_identity_documents(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    ask(&worker.client, "worker").await;
    finish_jobs(&app).await;
    app.advance(Duration::from_secs(10 * 60 + 1));
    let path = "/v1/worker/export";
    let refused = worker.client.get(path).await;
    refused.expect_error(403, "SIGN_IN_AGAIN");
    let refused = worker.client.post(path, &json!({})).await;
    refused.expect_error(403, "SIGN_IN_AGAIN");
    assert_eq!(count(&app, "exports").await, 1);
    let worker = worker.signed_in_again(&app).await;
    assert_eq!(list(&worker.client, "worker").await.len(), 1);
    ask(&worker.client, "worker").await;
}

async fn an_export_that_is_killed_is_made_in_the_end(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..5 {
        dev.create_task().await;
    }
    ask(&dev.live, "account").await;
    // Killed when the file is stored and nothing is recorded yet.
    kill_jobs_when(&app, async || files_in(&stored(&app)) > 0).await;
    finish_jobs(&app).await;
    let ready = list(&dev.live, "account").await.remove(0);
    assert_eq!(ready["status"], "ready");
    let entries = download(&app, &ready["files"][0]).await;
    assert_eq!(text_of(&entries, "tasks.csv").lines().count(), 6);
    // What the killed one has stored is swept.
    app.advance(Duration::from_secs(2 * 60 * 60));
    sweep_files(&app.store, &app.app.files, app.clock.now())
        .await
        .unwrap();
    assert_eq!(files_in(&stored(&app)), 1);
}

async fn much_becomes_several_parts(app: TestApp) {
    const TASKS: usize = 23;
    let dev = app.developer().await;
    for n in 0..TASKS {
        let client = if n % 2 == 0 { &dev.test } else { &dev.live };
        let task = crate::support::storefront();
        client.post("/v1/tasks", &task).await.expect(201);
    }
    ask(&dev.live, "account").await;
    let limits = PartLimits {
        units: 6,
        ..PartLimits::default()
    };
    let jobs = app.jobs.clone().with_export_limits(limits);
    jobs.drain().await.unwrap();
    let ready = list(&dev.live, "account").await.remove(0);
    let files = ready["files"].as_array().unwrap();
    assert!(files.len() >= TASKS / 6, "{}", files.len());
    let mut tasks = std::collections::BTreeSet::new();
    for file in files {
        let part = download(&app, file).await;
        text_of(&part, "README.txt");
        let rows = part.get("tasks.csv").map(Vec::as_slice);
        let rows = std::str::from_utf8(rows.unwrap_or_default()).unwrap();
        assert!(rows.lines().count() <= 7);
        for row in rows.lines().skip(1) {
            let cells: Vec<_> = row.split(',').collect();
            let document = format!("tasks/{}/{}/task.json", cells[1], cells[0]);
            assert!(part.contains_key(&document));
            assert!(tasks.insert(cells[0].to_owned()), "in two parts");
        }
    }
    assert_eq!(tasks.len(), TASKS);
    // Parts by size: a proof and its file do not come with others.
    let (worker, other) = (app.ready_worker().await, app.developer().await);
    for seed in ["one", "two", "three"] {
        let task = other.create_paid_task().await;
        worker.begin(&task).await;
        worker.prove(&task, seed).await;
    }
    ask(&worker.client, "worker").await;
    let limits = PartLimits {
        bytes: 1_000,
        ..PartLimits::default()
    };
    let jobs = app.jobs.clone().with_export_limits(limits);
    jobs.drain().await.unwrap();
    let ready = list(&worker.client, "worker").await.remove(0);
    let mut files = 0;
    for file in ready["files"].as_array().unwrap() {
        let part = download(&app, file).await;
        let proofs = part.keys().filter(|name| name.ends_with(".jpg")).count();
        assert!(proofs <= 1);
        files += proofs;
    }
    assert_eq!(files, 3);
}

async fn what_cannot_be_made_does_not_block_the_next(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    let broken = format!(
        "UPDATE tasks SET metadata = 'not JSON' WHERE id = '{}'",
        task["id"].as_str().unwrap()
    );
    app.database.execute(&broken).await;
    ask(&dev.live, "account").await;
    for _ in 0..12 {
        app.jobs.drain().await.unwrap();
        app.advance(Duration::from_secs(20 * 60));
    }
    let failed = list(&dev.live, "account").await.remove(0);
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["files"], json!([]));
    app.database
        .execute("UPDATE tasks SET metadata = '{}'")
        .await;
    ask(&dev.live, "account").await;
    app.jobs.drain().await.unwrap();
    let ready = list(&dev.live, "account").await.remove(0);
    assert_eq!(ready["status"], "ready");
}

async fn it_goes_with_its_owner(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.sign_up(&[]).await);
    ask(&dev.live, "account").await;
    ask(&worker.client, "worker").await;
    finish_jobs(&app).await;
    assert_eq!(files_in(&stored(&app)), 2);
    // One more is under way when the account goes.
    ask(&dev.live, "account").await;
    let account = crate::suspension::id_of(&dev);
    crate::suspension::delete(&app, account).await.unwrap();
    delete_worker(&worker).await;
    app.jobs.drain().await.unwrap();
    assert_eq!(files_in(&stored(&app)), 0);
    assert_eq!(count(&app, "exports").await, 0);
}

async fn delete_worker(worker: &Worker) {
    let body = json!({"password": crate::support::PASSWORD}).to_string();
    let deleted = worker.client.send("DELETE", "/v1/worker", &[], body).await;
    deleted.expect(200);
}

async fn it_is_among_the_files_that_are_moved(app: TestApp) {
    let dev = app.developer().await;
    ask(&dev.live, "account").await;
    finish_jobs(&app).await;
    let keys = "SELECT file_key FROM export_parts";
    let parts = app.database.column(keys).await;
    let (mut cursor, mut found) = (FileCursor::default(), Vec::new());
    loop {
        let after = cursor.clone();
        let page = app.store.snapshot(move |tx| tx.stored_files(&after, 10));
        let (files, next): (Vec<_>, _) = page.await.map_err(|e: StoreError| e).unwrap();
        if files.is_empty() {
            break;
        }
        found.extend(files.into_iter().flat_map(|file| file.keys));
        cursor = next;
    }
    assert_eq!(found, parts);
}
