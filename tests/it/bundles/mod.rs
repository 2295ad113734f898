//! Proof that stands alone: a bundle is what the API shows, and nobody can change a byte of it unseen.

mod changing;
mod content;
mod keys;
mod program;

use std::io::Cursor;

use legwork::bundles::{BundleError, VerifiedBundle, read_keys, verify_bundle};
use serde_json::Value;

use crate::support::{Client, Developer, TestApp, path};

/// A live task that was proved and paid.
async fn completed(app: &TestApp) -> (Developer, Value) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let proof = worker.prove(&task, "one").await;
    dev.review(&task, &proof, "approve").await.expect(200);
    app.jobs.drain().await.unwrap();
    (dev, task)
}

async fn bundle(client: &Client, task: &Value) -> Vec<u8> {
    let reply = client.get(&format!("{}/bundle", path(task))).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("content-type"), "application/zip");
    let name = reply.header("content-disposition");
    assert!(name.contains(task["id"].as_str().unwrap()), "{name}");
    reply.bytes.to_vec()
}

/// What anybody can read without a key.
async fn published(app: &TestApp) -> String {
    let reply = app.client().get("/.well-known/legwork-keys.json").await;
    assert_eq!(reply.status, 200);
    reply.text
}

fn verify(bundle: &[u8], keys: &str) -> Result<VerifiedBundle, BundleError> {
    verify_bundle(&mut Cursor::new(bundle), &read_keys(keys).unwrap())
}
