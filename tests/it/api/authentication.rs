//! Keys, and what gets no further without one.

use serde_json::Value;

use crate::support::{Client, TestApp, on_both_engines};

on_both_engines!(
    every_bad_key_gets_the_same_answer,
    the_key_comes_before_everything_else,
    a_suspended_account_is_refused,
);

async fn every_bad_key_gets_the_same_answer(app: TestApp) {
    let dev = app.developer().await;
    let list = dev.live.get("/v1/account/keys").await.expect(200);
    let keys = list["data"].as_array().unwrap();
    let test_key = keys
        .iter()
        .find(|key| key["environment"] == "test")
        .unwrap();
    let revoke = format!("/v1/account/keys/{}", test_key["id"].as_str().unwrap());
    let confirm = r#"{"confirm": true}"#;
    let revoked = dev.live.send("DELETE", &revoke, &[], confirm).await;
    revoked.expect(200);
    let unknown = format!("svc_test_{}", "0".repeat(64));
    let none = app.client();
    let mut bodies: Vec<Value> = Vec::new();
    for reply in [
        none.get("/v1/account").await,
        none.send("GET", "/v1/account", &[("authorization", "Basic x")], "")
            .await,
        none.send(
            "GET",
            "/v1/account",
            &[("authorization", &dev.live_key)],
            "",
        )
        .await,
        Client::new(app.address, Some("svc_live_"))
            .get("/v1/account")
            .await,
        Client::new(app.address, Some("' OR 1=1 --"))
            .get("/v1/account")
            .await,
        Client::new(app.address, Some(&unknown))
            .get("/v1/account")
            .await,
        dev.test.get("/v1/account").await,
    ] {
        let reply = reply.expect_error(401, "UNAUTHORIZED");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
        let mut body = reply.body;
        body["error"]["request_id"].take();
        bodies.push(body);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

async fn the_key_comes_before_everything_else(app: TestApp) {
    let none = app.client();
    for (method, path, body) in [
        ("POST", "/v1/tasks", "not json"),
        ("GET", "/v1/tasks?limit=0", ""),
        ("PATCH", "/v1/tasks/nope", "{}"),
        ("DELETE", "/v1/account/keys/nope", ""),
    ] {
        let reply = none.send(method, path, &[], body).await;
        reply.expect_error(401, "UNAUTHORIZED");
    }
}

async fn a_suspended_account_is_refused(app: TestApp) {
    for (status, answer) in [
        ("suspended", (403, "ACCOUNT_SUSPENDED")),
        ("deleted", (401, "UNAUTHORIZED")),
    ] {
        let dev = app.developer().await;
        let put = format!(
            "UPDATE accounts SET status = '{status}' WHERE id = '{}'",
            dev.account_id
        );
        app.database.execute(&put).await;
        for client in [&dev.test, &dev.live] {
            let reply = client.get("/v1/account").await;
            reply.expect_error(answer.0, answer.1);
        }
    }
}
