//! What the phone does by itself: the shell of the app, and what it sends with a cookie instead of a token.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{browser_of, page};
use crate::support::{Client, Reply, TestApp, Worker, on_both_engines, photo};

on_both_engines!(
    the_shell_is_open_and_holds_nothing_of_anybody,
    files_pass_through_for_their_worker
);

async fn the_shell_is_open_and_holds_nothing_of_anybody(app: TestApp) {
    let client = app.client();
    let script = client.send("GET", "/worker/sw.js", &[], "").await;
    assert_eq!(script.status, 200);
    assert_eq!(script.header("service-worker-allowed"), "/worker");
    assert_eq!(script.header("cache-control"), "no-cache");
    let named = script.text.split("/assets/").skip(1);
    let named = named.map(|rest| rest.split([' ', '"']).next().unwrap());
    let mut count = 0;
    // The script itself names the folder too.
    for name in named.filter(|name| !name.is_empty()) {
        let asset = client
            .send("GET", &format!("/assets/{name}"), &[], "")
            .await;
        assert_eq!(asset.status, 200, "{name}");
        count += 1;
    }
    assert!(count >= 10, "{count}");
    let manifest = client
        .send("GET", "/worker/manifest.webmanifest", &[], "")
        .await;
    let manifest: Value = serde_json::from_str(&manifest.text).unwrap();
    for icon in manifest["icons"].as_array().unwrap() {
        let reply = client
            .send("GET", icon["src"].as_str().unwrap(), &[], "")
            .await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), "image/png");
    }
    let spanish = [("accept-language", "es"), ("accept", "text/html")];
    let offline = client.send("GET", "/worker/offline", &spanish, "").await;
    assert!(
        offline.text.contains("Sin red") && !offline.text.contains("data-worker"),
        "{}",
        offline.text
    );
    let reset = client.send("GET", "/worker/reset", &spanish, "").await;
    assert!(
        reset.text.contains("/assets/worker_reset."),
        "{}",
        reset.text
    );
}

/// A request of the app, as its script sends it.
struct Sender<'a> {
    client: Client,
    cookie: String,
    origin: String,
    worker: &'a Worker,
}

impl Sender<'_> {
    async fn send(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let mut headers = vec![
            ("cookie", self.cookie.as_str()),
            ("origin", self.origin.as_str()),
            ("x-legwork-worker", self.worker.id.as_str()),
            ("tus-resumable", "1.0.0"),
        ];
        headers.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
        headers.extend_from_slice(more);
        self.client.send(method, path, &headers, body).await
    }
}

async fn files_pass_through_for_their_worker(app: TestApp) {
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let other = app.ready_worker().await;
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let mut browser = browser_of(&app, &worker).await;
    let capture = browser.get(&format!("{}/capture", page(&task))).await;
    assert!(
        capture
            .header("permissions-policy")
            .starts_with("camera=(self)")
    );
    assert!(
        capture.text.contains("data-types=\"photo\""),
        "{}",
        capture.text
    );

    let sender = Sender {
        client: app.client(),
        cookie: browser.cookie.clone().unwrap(),
        origin: format!("http://{}", app.address),
        worker: &worker,
    };
    let photo = Bytes::from(photo("phone"));
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    let id = task["id"].as_str().unwrap();
    let metadata = format!("task_id {},proof_type {}", encode(id), encode("photo"));
    let (length, half) = (photo.len().to_string(), photo.len() / 2);
    let create = [
        ("upload-length", length.as_str()),
        ("upload-metadata", metadata.as_str()),
    ];
    let created = sender.send("POST", "/worker/uploads", &create, "").await;
    assert_eq!(created.status, 201, "{}", created.text);
    let place = created.header("location").to_owned();
    assert!(place.starts_with("/worker/uploads/"), "{place}");

    let at = |offset: &'static str| {
        [
            ("upload-offset", offset),
            ("content-type", "application/offset+octet-stream"),
        ]
    };
    let first = photo.slice(..half);
    // Not of another site, not of another worker, and not of nobody.
    for (more, status) in [
        (("origin", "https://evil.example"), 403),
        (("x-legwork-worker", other.id.as_str()), 401),
        (("x-legwork-worker", ""), 401),
        (("cookie", ""), 303),
    ] {
        let mut headers = at("0").to_vec();
        headers.push(more);
        let refused = sender.send("PATCH", &place, &headers, first.clone()).await;
        assert_eq!(
            refused.status.as_u16(),
            status,
            "{more:?}: {}",
            refused.text
        );
    }
    let sent = sender.send("PATCH", &place, &at("0"), first).await;
    assert_eq!(sent.status, 204, "{}", sent.text);
    let now = sender.send("HEAD", &place, &[], "").await;
    let offset = now.header("upload-offset").to_owned();
    assert_eq!(offset, half.to_string());
    let rest = [
        ("upload-offset", offset.as_str()),
        ("content-type", "application/offset+octet-stream"),
    ];
    let sent = sender
        .send("PATCH", &place, &rest, photo.slice(half..))
        .await;
    assert_eq!(sent.status, 204, "{}", sent.text);
    let body = json!({
        "submission_id": "s1", "photo": place.rsplit('/').next().unwrap(),
        "gps_latitude": 40.7163, "gps_longitude": -73.9595,
    });
    let json = [("content-type", "application/json")];
    for _ in 0..2 {
        let finished = sender
            .send(
                "POST",
                &format!("{}/proofs", page(&task)),
                &json,
                body.to_string(),
            )
            .await;
        assert_eq!(finished.status, 201, "{}", finished.text);
    }
    let proofs = dev
        .live
        .get(&format!("/v1/tasks/{id}/proofs"))
        .await
        .expect(200);
    assert_eq!(proofs["data"].as_array().unwrap().len(), 1);
    // Nothing is taken now, so nothing is there for the script to work on.
    assert!(capture.text.contains("worker_capture"));
    let capture = browser.get(&format!("{}/capture", page(&task))).await;
    assert!(!capture.text.contains("worker_capture"), "{}", capture.text);
    // Begun already: the app hears that, and goes on.
    let begun = sender
        .send("POST", &format!("{}/begin", page(&task)), &[], "")
        .await;
    assert_eq!(
        (begun.status.as_u16(), &begun.body["error"]["code"]),
        (409, &json!("INVALID_TASK_STATE"))
    );
}
