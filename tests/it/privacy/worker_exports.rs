//! What a worker gets a copy of, besides the profile and the work that was done.

use serde_json::{Value, json};

use super::exports::{export, json_of, text_of};
use crate::resumable::client::create_with;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    which_messages_are_wanted_is_in_it,
    what_was_begun_to_be_sent_is_in_it,
    what_was_accepted_and_given_back_is_in_it,
);

async fn which_messages_are_wanted_is_in_it(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let wanted = json!({"muted": ["bounties"], "quiet_from": "22:13", "quiet_to": "06:47",
        "utc_offset_minutes": -300});
    let path = "/v1/worker/push_settings";
    let set = worker.client.send("PUT", path, &[], wanted.to_string());
    set.await.expect(200);
    let entries = export(&app, &worker.client, "worker").await;
    let profile = json_of(&entries, "profile.json");
    assert_eq!(profile["push_settings"], wanted);
    assert_eq!(profile["uploads"], json!([]));
}

async fn what_was_begun_to_be_sent_is_in_it(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let key = ("idempotency-key", "front-door");
    let begun = create_with(&worker.client, &task, ("photo", 10), &[key], b"").await;
    assert_eq!(begun.status, 201, "{}", begun.text);
    let entries = export(&app, &worker.client, "worker").await;
    let uploads = json_of(&entries, "profile.json")["uploads"].take();
    assert_eq!(uploads.as_array().unwrap().len(), 1);
    let upload = &uploads[0];
    assert_eq!(upload["task_id"], task["id"]);
    assert_eq!(upload["proof_type"], "photo");
    assert_eq!(upload["name"], "front-door");
    assert_eq!(upload["size_bytes"], 10);
    assert_eq!(upload["received_bytes"], 0);
    assert_eq!(upload["begun_at"], TestApp::NOON);
    let metadata = upload["metadata"].as_str().unwrap();
    assert!(metadata.starts_with("filename "), "{metadata}");
}

async fn what_was_accepted_and_given_back_is_in_it(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let other = app.ready_worker().await;
    let (gone, kept) = (dev.create_paid_task().await, dev.create_paid_task().await);
    // Twice, and then somebody else does it.
    for _ in 0..2 {
        worker.act(&gone, "accept").await.expect(200);
        worker.act(&gone, "release").await.expect(200);
    }
    other.begin(&gone).await;
    other.prove(&gone, "by somebody else").await;
    // Given back and taken again: it is theirs.
    worker.act(&kept, "accept").await.expect(200);
    worker.act(&kept, "release").await.expect(200);
    worker.act(&kept, "accept").await.expect(200);
    let entries = export(&app, &worker.client, "worker").await;
    let folder =
        |folder: &str, task: &Value| format!("{folder}/{}.json", task["id"].as_str().unwrap());
    let given_back = json_of(&entries, &folder("given-back", &gone));
    assert_eq!(given_back["title"], gone["title"]);
    let moves = given_back["moves"].as_array().unwrap();
    let to: Vec<_> = moves.iter().map(|made| &made["to_status"]).collect();
    assert_eq!(to, ["assigned", "posted", "assigned", "posted"]);
    assert_eq!(moves[0]["created_at"], TestApp::NOON);
    json_of(&entries, &folder("tasks", &kept));
    assert!(!entries.contains_key(&folder("given-back", &kept)));
    assert!(!entries.contains_key(&folder("tasks", &gone)));
    let all: String = entries
        .values()
        .map(|bytes| String::from_utf8_lossy(bytes))
        .collect();
    assert!(!all.contains(&other.id), "who did it is not told");
    assert!(text_of(&entries, "README.txt").contains("given-back/ID.json"));
}
