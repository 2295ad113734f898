//! Workers choose passwords, and see where they are signed in.

use std::time::Duration;

use serde_json::{Value, json};

use super::workers::{NEW, RESET, SESSIONS, credentials, mails, token};
use crate::support::{Client, PASSWORD, TestApp, on_both_engines};

on_both_engines!(
    a_reset_sets_the_password_and_revokes_all_tokens,
    a_request_for_a_reset_tells_nothing,
    a_changed_password_revokes_all_other_tokens,
    the_current_password_cannot_be_guessed,
    a_sign_in_that_races_with_a_change_of_password_leaves_no_token,
    sessions_are_listed_and_revoked,
);

async fn a_reset_sets_the_password_and_revokes_all_tokens(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    app.client()
        .post(RESET, &json!({"email": worker.email}))
        .await
        .expect(200);
    assert_eq!(mails(&app, &worker.email).await, ["reset_password"]);
    let token = token(&app, "reset_password").await;
    let path = format!("{RESET}/confirm");
    let faulty = json!({"token": token, "password": "password"});
    let faulty = app.client().post(&path, &faulty).await;
    assert_eq!(faulty.faulty_fields(), ["password"]);
    let revealing = json!({"token": token, "password": worker.email});
    let revealing = app.client().post(&path, &revealing).await;
    assert_eq!(revealing.faulty_fields(), ["password"]);
    worker.client.get("/v1/worker").await.expect(200);
    let body = json!({"token": token, "password": NEW});
    app.client().post(&path, &body).await.expect(200);
    let gone = worker.client.get("/v1/worker").await;
    gone.expect_error(401, "UNAUTHORIZED");
    let again = app.client().post(&path, &body).await;
    again.expect_error(410, "LINK_EXPIRED");
    let old = app
        .client()
        .post(SESSIONS, &credentials(&worker.email, PASSWORD))
        .await;
    old.expect_error(401, "INVALID_CREDENTIALS");
    let new = credentials(&worker.email, NEW);
    app.client().post(SESSIONS, &new).await.expect(201);
    let expected = ["password_changed", "reset_password"];
    assert_eq!(mails(&app, &worker.email).await, expected);
    // A link is good for half an hour.
    app.client()
        .post(RESET, &json!({"email": worker.email}))
        .await
        .expect(200);
    let late = self::token(&app, "reset_password").await;
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(30 * 60)));
    let late = app
        .client()
        .post(&path, &json!({"token": late, "password": PASSWORD}))
        .await;
    late.expect_error(410, "LINK_EXPIRED");
}

async fn a_request_for_a_reset_tells_nothing(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let known = app
        .client()
        .post(RESET, &json!({"email": worker.email}))
        .await;
    let unknown = app
        .client()
        .post(RESET, &json!({"email": "nobody@example.com"}))
        .await;
    assert_eq!(known.expect(200), unknown.expect(200));
    let faulty = app.client().post(RESET, &json!({"email": "nobody"})).await;
    assert_eq!(faulty.faulty_fields(), ["email"]);
}

async fn a_changed_password_revokes_all_other_tokens(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let other = worker.signed_in_again(&app).await;
    let path = "/v1/worker/password";
    let put = async |body: Value| worker.client.send("PUT", path, &[], body.to_string()).await;
    let wrong = put(json!({"current_password": "not this one", "password": NEW})).await;
    wrong.expect_error(401, "INVALID_CREDENTIALS");
    let faulty = put(json!({"current_password": PASSWORD, "password": "short"})).await;
    assert_eq!(faulty.faulty_fields(), ["password"]);
    let missing = put(json!({})).await;
    assert_eq!(missing.faulty_fields(), ["current_password", "password"]);
    other.client.get("/v1/worker").await.expect(200);
    put(json!({"current_password": PASSWORD, "password": NEW}))
        .await
        .expect(200);
    worker.client.get("/v1/worker").await.expect(200);
    let gone = other.client.get("/v1/worker").await;
    gone.expect_error(401, "UNAUTHORIZED");
    assert_eq!(mails(&app, &worker.email).await, ["password_changed"]);
    let new = credentials(&worker.email, NEW);
    app.client().post(SESSIONS, &new).await.expect(201);
    let old = put(json!({"current_password": PASSWORD, "password": PASSWORD})).await;
    old.expect_error(401, "INVALID_CREDENTIALS");
}

async fn the_current_password_cannot_be_guessed(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let put = async |path: &str, body: Value| {
        let body = body.to_string();
        worker.client.send("PUT", path, &[], body).await
    };
    let wrong = json!({"password": "not this one", "email": "new@example.com"});
    for _ in 0..10 {
        let refused = put("/v1/worker/email", wrong.clone()).await;
        refused.expect_error(401, "INVALID_CREDENTIALS");
    }
    let right = json!({"current_password": PASSWORD, "password": NEW});
    let limited = put("/v1/worker/password", right).await;
    limited.expect_error(429, "RATE_LIMITED");
}

async fn a_sign_in_that_races_with_a_change_of_password_leaves_no_token(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let mut passwords = [PASSWORD, NEW];
    for _ in 0..4 {
        let [old, new] = passwords;
        let change = json!({"current_password": old, "password": new}).to_string();
        let (client, body) = (app.client(), credentials(&worker.email, old));
        let (changed, signed_in) = tokio::join!(
            worker
                .client
                .send("PUT", "/v1/worker/password", &[], change),
            client.post(SESSIONS, &body),
        );
        changed.expect(200);
        // Whoever signed in with the old password is signed out by now.
        if signed_in.status == 201 {
            let token = signed_in.body["token"].as_str();
            let gone = Client::new(app.address, token).get("/v1/worker").await;
            gone.expect_error(401, "UNAUTHORIZED");
        }
        passwords.reverse();
    }
}

async fn sessions_are_listed_and_revoked(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(60)));
    let header = [("User-Agent", "Legwork/1.0 (Android)")];
    let body = credentials(&worker.email, PASSWORD);
    let reply = app.client().post_with(SESSIONS, &header, &body).await;
    let phone = Client::new(app.address, reply.expect(201)["token"].as_str());
    phone.get("/v1/worker").await.expect(200);
    let listed = worker.client.get("/v1/worker/sessions").await.expect(200);
    let sessions = listed["data"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["user_agent"], "Legwork/1.0 (Android)");
    assert_eq!(sessions[0]["created_at"], "2025-11-15T12:01:00.000Z");
    assert_eq!(sessions[0]["last_used_at"], "2025-11-15T12:01:00.000Z");
    assert_eq!(sessions[0]["current"], false);
    assert_eq!(sessions[1]["current"], true);
    assert_eq!(sessions[1]["created_at"], TestApp::NOON);
    // Somebody else's session is not found.
    let path = format!(
        "/v1/worker/sessions/{}",
        sessions[0]["id"].as_str().unwrap()
    );
    let other = app.sign_up(&[]).await;
    let refused = other.client.delete(&path).await;
    refused.expect_error(404, "SESSION_NOT_FOUND");
    phone.get("/v1/worker").await.expect(200);
    worker.client.delete(&path).await.expect(200);
    let gone = phone.get("/v1/worker").await;
    gone.expect_error(401, "UNAUTHORIZED");
    let again = worker.client.delete(&path).await;
    again.expect_error(404, "SESSION_NOT_FOUND");
    let malformed = worker.client.delete("/v1/worker/sessions/none").await;
    malformed.expect_error(404, "SESSION_NOT_FOUND");
    let listed = worker.client.get("/v1/worker/sessions").await.expect(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
}
