//! Where the operator requires a second factor.

use legwork::api::admin_routes;
use legwork::domain::RequiredFactor;
use serde_json::json;

use super::workers::credentials;
use super::{delete, set_up};
use crate::support::{Client, Command, Server, TestApp, on_both_engines};

on_both_engines!(
    an_admin_key_without_a_factor_can_only_set_one_up,
    an_admin_key_with_a_factor_needs_a_session,
    workers_are_asked_only_where_everybody_is,
    a_worker_without_a_factor_can_only_set_one_up,
    the_setting_reaches_the_program,
);

const ADMIN: &str = "/v1/admin/second_factor";
const WORKER: &str = "/v1/worker/second_factor";

fn on(app: &TestApp, client: &Client) -> Client {
    Client::new(app.address, Some(client.key()))
}

/// Routes that a key opens by itself.
fn is_open(path: &str) -> bool {
    path.starts_with(ADMIN) || path.starts_with("/v1/admin/session")
}

async fn an_admin_key_without_a_factor_can_only_set_one_up(app: TestApp) {
    for required in [RequiredFactor::Admins, RequiredFactor::All] {
        let strict = app.requiring(required).await;
        let admin = on(&strict, &app.admin().await);
        for route in admin_routes() {
            let path = route.path.replace("{id}", "none");
            let reply = admin.send(route.method.as_str(), &path, &[], "").await;
            let code = reply.body["error"]["code"].as_str();
            let refused = code == Some("SECOND_FACTOR_NOT_SET_UP") && reply.status == 403;
            let what = format!("{} {path}: {}", route.method, reply.text);
            assert_eq!(refused, !is_open(&path), "{what}");
        }
        assert_eq!(admin.get(ADMIN).await.expect(200)["required"], true);
        // The role comes first, and a wrong key before it.
        let stranger = Client::new(strict.address, Some("svc_admin_session_0"));
        let refused = stranger.get("/v1/admin/queue").await;
        refused.expect_error(401, "UNAUTHORIZED");
    }
}

async fn an_admin_key_with_a_factor_needs_a_session(app: TestApp) {
    let strict = app.requiring(RequiredFactor::Admins).await;
    let admin = on(&strict, &app.admin().await);
    let factor = set_up(&strict, &admin, ADMIN).await;
    let refused = admin.get("/v1/admin/queue").await;
    refused.expect_error(401, "SECOND_FACTOR_REQUIRED");
    let code = factor.next_code(&strict);
    let opened = admin.post("/v1/admin/sessions", &code).await.expect(201);
    let session = Client::new(strict.address, opened["token"].as_str());
    session.get("/v1/admin/queue").await.expect(200);
    // The key alone still does not do.
    let refused = admin.get("/v1/admin/queue").await;
    refused.expect_error(401, "SECOND_FACTOR_REQUIRED");
    // Nor is it enough to turn the factor off.
    let code = factor.next_code(&strict);
    delete(&session, ADMIN, &code).await.expect(200);
    let refused = admin.get("/v1/admin/queue").await;
    refused.expect_error(403, "SECOND_FACTOR_NOT_SET_UP");
}

async fn workers_are_asked_only_where_everybody_is(app: TestApp) {
    let strict = app.requiring(RequiredFactor::Admins).await;
    let (worker, dev) = (app.sign_up(&[]).await, app.developer().await);
    let client = on(&strict, &worker.client);
    client.get("/v1/worker").await.expect(200);
    assert_eq!(client.get(WORKER).await.expect(200)["required"], false);
    // Keys of developers belong to programs.
    let strict = app.requiring(RequiredFactor::All).await;
    on(&strict, &dev.live).get("/v1/tasks").await.expect(200);
}

async fn a_worker_without_a_factor_can_only_set_one_up(app: TestApp) {
    let strict = app.requiring(RequiredFactor::All).await;
    let worker = strict.sign_up(&[]).await;
    let client = &worker.client;
    let old = credentials(&worker, None);
    let old = strict.client().post("/v1/workers/sessions", &old).await;
    let old = Client::new(strict.address, old.expect(201)["token"].as_str());
    for path in ["/v1/worker", "/v1/worker/earnings", "/v1/worker/tasks"] {
        let refused = client.get(path).await;
        refused.expect_error(403, "SECOND_FACTOR_NOT_SET_UP");
    }
    let accept = client
        .post("/v1/worker/tasks/none/accept", &json!({}))
        .await;
    accept.expect_error(403, "SECOND_FACTOR_NOT_SET_UP");
    assert_eq!(client.get(WORKER).await.expect(200)["required"], true);
    let factor = set_up(&strict, client, WORKER).await;
    client.get("/v1/worker").await.expect(200);
    // Another session has not given a code.
    let refused = old.get("/v1/worker").await;
    refused.expect_error(401, "SECOND_FACTOR_REQUIRED");
    old.delete("/v1/worker/session").await.expect(200);
    let body = credentials(&worker, Some(&factor.next_code(&strict)));
    let reply = strict.client().post("/v1/workers/sessions", &body).await;
    let second = Client::new(strict.address, reply.expect(201)["token"].as_str());
    second.get("/v1/worker").await.expect(200);
    let code = factor.next_code(&strict);
    delete(client, WORKER, &code).await.expect(200);
    for client in [client, &second] {
        let refused = client.get("/v1/worker").await;
        refused.expect_error(403, "SECOND_FACTOR_NOT_SET_UP");
    }
}

async fn the_setting_reaches_the_program(app: TestApp) {
    let admin = app.admin().await;
    let command = Command::new(&["--listen", "127.0.0.1:0", "--log", "warn"]).on(&app.database);
    let server = Server::spawn(command.env("LEGWORK_REQUIRE_SECOND_FACTOR", "admins"));
    let refused = server.client(admin.key()).get("/v1/admin/queue").await;
    refused.expect_error(403, "SECOND_FACTOR_NOT_SET_UP");
    let status = server.client(admin.key()).get(ADMIN).await.expect(200);
    assert_eq!(status["required"], true);
    assert_eq!(server.terminate(), Some(0));
}
