//! A body that is held back until something about its key has changed.

use std::time::Duration;

use legwork::api::Timeouts;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Limited, everything, put, task, with};
use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    a_revoked_key_and_a_suspended_account_finish_nothing,
    a_key_that_was_limited_meanwhile_creates_nothing,
    a_key_that_may_no_longer_review_pays_nobody,
    a_body_that_is_late_and_nothing_else_is_served,
);

/// A request whose last byte is not sent yet. Its key was looked up.
struct Held {
    connection: TcpStream,
    last: Vec<u8>,
}

impl Held {
    async fn begin(app: &TestApp, key: &str, target: &str, body: &Value) -> Self {
        let mut body = body.to_string().into_bytes();
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
             content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let last = body.split_off(body.len() - 1);
        let mut connection = TcpStream::connect(app.address).await.unwrap();
        connection.write_all(head.as_bytes()).await.unwrap();
        // The body is asked for when it is read: the key was looked up before.
        let mut asked = [0; 25];
        connection.read_exact(&mut asked).await.unwrap();
        assert!(asked.starts_with(b"HTTP/1.1 100 Continue"));
        connection.write_all(&body).await.unwrap();
        Self { connection, last }
    }

    async fn finish(mut self) -> (u16, Value) {
        self.connection.write_all(&self.last).await.unwrap();
        let mut answer = String::new();
        self.connection.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, serde_json::from_str(body).unwrap())
    }
}

/// A server for which every body is late.
async fn impatient(app: &TestApp) -> TestApp {
    let timeouts = Timeouts {
        recheck: Duration::ZERO,
        ..Timeouts::default()
    };
    TestApp::start_with(app.store.clone(), &app.database, timeouts).await
}

#[track_caller]
fn expect_error((status, body): (u16, Value), expected: u16, code: &str) {
    assert_eq!((status, &body["error"]["code"]), (expected, &json!(code)));
}

async fn a_revoked_key_and_a_suspended_account_finish_nothing(app: TestApp) {
    let app = impatient(&app).await;
    let dev = app.developer().await;
    let made = json!({"name": "Other", "environment": "test"});
    let made = dev.live.post("/v1/account/keys", &made).await.expect(201);
    let (key, id) = (made["key"].as_str().unwrap(), made["id"].as_str().unwrap());
    let create = Held::begin(&app, key, "/v1/tasks", &task(2_500)).await;
    let revoke = format!("/v1/account/keys/{id}");
    dev.live.delete(&revoke).await.expect(200);
    expect_error(create.finish().await, 401, "UNAUTHORIZED");
    let create = Held::begin(&app, &dev.test_key, "/v1/tasks", &task(2_500)).await;
    let suspend = format!("/v1/admin/accounts/{}/suspend", dev.account_id);
    let admin = app.admin().await;
    admin.post(&suspend, &json!({})).await.expect(200);
    expect_error(create.finish().await, 403, "ACCOUNT_SUSPENDED");
    let counted = "SELECT CAST(SUM(last_number) AS TEXT) FROM task_totals";
    assert_eq!(app.database.column(counted).await, ["0"]);
}

async fn a_key_that_was_limited_meanwhile_creates_nothing(app: TestApp) {
    let app = impatient(&app).await;
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, everything()).await;
    // A mandate that allows the task may still have limits that the request was not held against.
    for (limits, status, code) in [
        (everything(), 408, "REQUEST_TIMEOUT"),
        (json!({"permissions": ["read"]}), 403, "PERMISSION_DENIED"),
        (with("paused", json!(true)), 403, "MANDATE_PAUSED"),
    ] {
        dev.live.delete(&agent.path()).await.expect(200);
        let create = Held::begin(&app, &agent.key, "/v1/tasks", &task(2_500)).await;
        put(&dev.live, &agent.path(), &limits).await.expect(200);
        expect_error(create.finish().await, status, code);
    }
    let counted = "SELECT CAST(SUM(last_number) AS TEXT) FROM task_totals";
    assert_eq!(app.database.column(counted).await, ["0"]);
}

async fn a_key_that_may_no_longer_review_pays_nobody(app: TestApp) {
    let app = impatient(&app).await;
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, everything()).await;
    let task = agent.create(2_500).await.expect(201);
    let id = task["id"].as_str().unwrap();
    let advance = format!("/v1/test_helpers/tasks/{id}/advance");
    let submitted = json!({"to": "proof_submitted"});
    agent.client.post(&advance, &submitted).await.expect(200);
    let proofs = agent.client.get(&format!("{}/proofs", path(&task))).await;
    let proof = proofs.expect(200)["data"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let approve = format!("{}/proofs/{proof}/approve", path(&task));
    let held = Held::begin(&app, &agent.key, &approve, &json!({})).await;
    let less = with("review_up_to_cents", json!(500));
    put(&dev.live, &agent.path(), &less).await.expect(200);
    let refused = held.finish().await;
    let message = refused.1["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("changed while the body was arriving"),
        "{message}"
    );
    expect_error(refused, 408, "REQUEST_TIMEOUT");
    let after = agent.client.get(&path(&task)).await.expect(200);
    assert_eq!(after["status"], "proof_submitted");
}

async fn a_body_that_is_late_and_nothing_else_is_served(app: TestApp) {
    let app = impatient(&app).await;
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, everything()).await;
    for key in [&agent.key, &dev.test_key] {
        let create = Held::begin(&app, key, "/v1/tasks", &task(2_500)).await;
        assert_eq!(create.finish().await.0, 201);
    }
}
