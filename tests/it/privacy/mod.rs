//! What people can ask for: a copy of what is held about them, and that it goes.

mod documents;
mod exports;
mod in_s3;
mod worker_deletion;
mod worker_exports;

use std::path::PathBuf;
use std::time::Duration;

use crate::support::{TestApp, Worker, photo};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Sends an identity document and a selfie.
async fn send_documents(worker: &Worker, seed: &str) {
    let (identity, selfie) = (
        photo(&format!("identity {seed}")),
        photo(&format!("selfie {seed}")),
    );
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
}

fn stored(app: &TestApp) -> PathBuf {
    app.database.folder.path().join("files")
}
