//! A client of tus that does what a story tells it to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Client, Developer, GOOD_CARD, Reply, TestApp, Worker, storefront};

pub const UPLOADS: &str = "/v1/worker/uploads";
pub const TUS: (&str, &str) = ("tus-resumable", "1.0.0");
pub const OCTETS: (&str, &str) = ("content-type", "application/offset+octet-stream");

/// A worker who has begun a paid task.
pub async fn begun(app: &TestApp, proof_types: Value) -> (Developer, Worker, Value) {
    let dev = app.developer().await;
    let worker = app.ready_worker().await;
    let task = another(app, &dev, proof_types).await;
    worker.begin(&task).await;
    (dev, worker, task)
}

/// A paid task.
pub async fn another(app: &TestApp, dev: &Developer, proof_types: Value) -> Value {
    let mut body = storefront();
    body["proof_types"] = proof_types;
    let created = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    app.client().pay(secret, GOOD_CARD).await;
    created
}

pub fn metadata(task: &Value, proof_type: &str) -> String {
    let id = STANDARD.encode(task["id"].as_str().unwrap());
    let kind = STANDARD.encode(proof_type);
    format!("filename YS5qcGc=,task_id {id},proof_type {kind}")
}

pub async fn create_with(
    client: &Client,
    task: &Value,
    (proof_type, length): (&str, usize),
    more: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let (length, metadata) = (length.to_string(), metadata(task, proof_type));
    let mut headers = vec![
        TUS,
        ("upload-length", &length),
        ("upload-metadata", &metadata),
    ];
    headers.extend(more);
    client.send("POST", UPLOADS, &headers, body.to_vec()).await
}

/// The path of a new upload.
pub async fn create(client: &Client, task: &Value, proof_type: &str, length: usize) -> String {
    let created = create_with(client, task, (proof_type, length), &[], b"").await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.header("location").to_owned()
}

pub async fn head(client: &Client, path: &str) -> Reply {
    client.send("HEAD", path, &[TUS], "").await
}

pub async fn offset(client: &Client, path: &str) -> usize {
    let reply = head(client, path).await;
    assert_eq!(reply.status, 200);
    reply.header("upload-offset").parse().unwrap()
}

pub async fn patch_with(
    client: &Client,
    path: &str,
    offset: usize,
    more: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let offset = offset.to_string();
    let mut headers = vec![TUS, OCTETS, ("upload-offset", &offset)];
    headers.extend(more);
    client.send("PATCH", path, &headers, body.to_vec()).await
}

pub async fn patch(client: &Client, path: &str, offset: usize, body: &[u8]) -> Reply {
    patch_with(client, path, offset, &[], body).await
}

/// The id of an upload that is complete.
pub async fn upload(client: &Client, task: &Value, proof_type: &str, file: &[u8]) -> String {
    let path = create(client, task, proof_type, file.len()).await;
    let sent = patch(client, &path, 0, file).await;
    assert_eq!(sent.status, 204, "{}", sent.text);
    id(&path)
}

pub fn id(path: &str) -> String {
    path.rsplit('/').next().unwrap().to_owned()
}

/// Names uploads in a submission.
pub async fn submit(client: &Client, task: &Value, fields: &Value) -> Reply {
    let mut body = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595});
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    let path = format!("/v1/worker/tasks/{}/proofs", task["id"].as_str().unwrap());
    let json = [("content-type", "application/json")];
    client.send("POST", &path, &json, body.to_string()).await
}

/// A PATCH that announces more than it has sent so far.
pub struct Begun(pub TcpStream);

impl Begun {
    pub async fn patch(client: &Client, path: &str, offset: usize, length: usize) -> Self {
        Self::patch_with(client, path, offset, length, ("x-more", "none")).await
    }

    pub async fn patch_with(
        client: &Client,
        path: &str,
        offset: usize,
        length: usize,
        (name, value): (&str, &str),
    ) -> Self {
        let mut stream = TcpStream::connect(client.address()).await.unwrap();
        let head = format!(
            "PATCH {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             tus-resumable: 1.0.0\r\ncontent-type: application/offset+octet-stream\r\n\
             upload-offset: {offset}\r\n{name}: {value}\r\ncontent-length: {length}\r\n\r\n",
            client.key()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self(stream)
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }
}
