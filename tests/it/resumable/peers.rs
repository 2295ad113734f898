//! Clients that others wrote.

use std::io::Write;

use serde_json::{Value, json};

use super::breaking::video;
use super::client::{another, begun, head, id, submit};
use crate::support::peer::{Peer, node, node_modules, python};
use crate::support::{TestApp, Worker, on_sqlite};

on_sqlite!(others_send_their_files);

fn order(app: &TestApp, worker: &Worker, task: &Value, file: &std::path::Path) -> Value {
    json!({"endpoint": format!("http://{}/v1/worker/uploads", app.address), "token": worker.client.key(),
        "file": file, "task_id": task["id"], "proof_type": "video", "chunk_size": 300_000})
}

async fn others_send_their_files(app: TestApp) {
    let (dev, worker, first) = begun(&app, json!(["video"])).await;
    let mut javascript = Peer::start(node("tus_upload.mjs").arg(node_modules()));
    let mut tuspy = Peer::start(&mut python("tus_upload.py"));
    let file = video(700_000);
    let mut kept = tempfile::NamedTempFile::new().unwrap();
    kept.write_all(&file).unwrap();
    let mut ask = async |app: &TestApp, task: &Value, more: &Value, in_python: bool| {
        let mut order = order(app, &worker, task, kept.path());
        for (name, value) in more.as_object().unwrap() {
            order[name] = value.clone();
        }
        let peer = if in_python {
            &mut tuspy
        } else {
            &mut javascript
        };
        let told = tokio::task::block_in_place(|| peer.ask(&order));
        let url = told["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with("http://"), "{url}");
        let (_, path) = url.split_once("/v1/").unwrap();
        format!("/v1/{path}")
    };
    let path = ask(&app, &first, &json!({"terminate": true}), false).await;
    assert_eq!(head(&worker.client, &path).await.status, 410);
    let mut sizes = Vec::new();
    for (more, in_python) in [
        (json!({"during_creation": false}), false),
        (json!({"during_creation": true}), false),
        (json!({}), true),
    ] {
        let task = another(&app, &dev, json!(["video"])).await;
        worker.begin(&task).await;
        let path = ask(&app, &task, &more, in_python).await;
        let fields = json!({"video": id(&path)});
        let sent = submit(&worker.client, &task, &fields).await.expect(201);
        sizes.push(sent["data"][0]["file_size_bytes"].clone());
    }
    assert_eq!(sizes[0], sizes[1]);
    assert_eq!(sizes[1], sizes[2]);
}
