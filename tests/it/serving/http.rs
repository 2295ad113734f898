//! What holds for every request.

use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    every_answer_carries_a_request_id,
    unknown_paths_and_methods_are_told_apart,
    json_is_read_whatever_the_content_type_says,
    the_service_tells_how_it_is,
    errors_have_one_shape,
);

async fn every_answer_carries_a_request_id(app: TestApp) {
    let dev = app.developer().await;
    let ours = dev.test.get("/v1/account").await;
    assert_eq!(ours.header("x-request-id").len(), 32);
    let again = dev.test.get("/v1/account").await;
    assert_ne!(ours.header("x-request-id"), again.header("x-request-id"));
    let theirs = [("x-request-id", "trace-4711/é")];
    let not_ascii = dev.test.send("GET", "/v1/account", &theirs, "").await;
    assert_eq!(not_ascii.header("x-request-id").len(), 32);
    let theirs = [("x-request-id", "trace-4711")];
    let echoed = dev.test.send("GET", "/v1/tasks/x", &theirs, "").await;
    assert_eq!(echoed.header("x-request-id"), "trace-4711");
    assert_eq!(echoed.body["error"]["request_id"], "trace-4711");
    let long = "x".repeat(201);
    let replaced = dev
        .test
        .send("GET", "/nowhere", &[("x-request-id", &long)], "")
        .await;
    assert_eq!(replaced.header("x-request-id").len(), 32);
}

async fn unknown_paths_and_methods_are_told_apart(app: TestApp) {
    let dev = app.developer().await;
    for path in [
        "/",
        "/v1",
        "/v1/task",
        "/v1/tasks/",
        "/v2/tasks",
        "/v1/tasks/x/y/z",
        "/%00",
    ] {
        dev.test.get(path).await.expect_error(404, "NOT_FOUND");
        app.client().get(path).await.expect_error(404, "NOT_FOUND");
    }
    for (method, path, allow) in [
        ("PUT", "/v1/tasks", "GET,HEAD,POST"),
        ("DELETE", "/v1/tasks/x", "GET,HEAD,PATCH"),
        ("GET", "/v1/tasks/x/cancel", "POST"),
        ("OPTIONS", "/v1/account", "DELETE,GET,HEAD"),
        ("POST", "/healthz", "GET,HEAD"),
        ("BREW", "/v1/account/keys/x", "DELETE"),
    ] {
        let reply = dev.test.send(method, path, &[], "").await;
        let reply = reply.expect_error(405, "METHOD_NOT_ALLOWED");
        let mut allowed: Vec<_> = reply.header("allow").split(',').collect();
        allowed.sort_unstable();
        assert_eq!(allowed.join(","), allow, "{method} {path}");
    }
}

async fn json_is_read_whatever_the_content_type_says(app: TestApp) {
    let dev = app.developer().await;
    for content_type in [
        "application/x-www-form-urlencoded",
        "text/plain",
        "nonsense",
    ] {
        let body = crate::support::storefront().to_string();
        let headers = [("content-type", content_type)];
        let reply = dev.test.send("POST", "/v1/tasks", &headers, body).await;
        assert_eq!(reply.header("content-type"), "application/json");
        reply.expect(201);
    }
}

async fn the_service_tells_how_it_is(app: TestApp) {
    let client = app.client();
    assert_eq!(client.get("/healthz").await.status, 200);
    assert_eq!(client.get("/readyz").await.status, 200);
    let metrics = client.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    for name in ["legwork_requests_total{", "legwork_request_seconds_bucket{"] {
        assert!(metrics.text.contains(name), "{name}");
    }
    assert!(metrics.text.contains("route=\"/healthz\""));
    assert!(client.get("/docs/").await.text.contains("API reference"));
    let described = client.get("/openapi.json").await.expect(200);
    assert_eq!(described["openapi"], "3.1.0");
}

async fn errors_have_one_shape(app: TestApp) {
    let dev = app.developer().await;
    let invalid = dev.test.get("/v1/tasks?limit=0").await;
    let error = invalid.body["error"].as_object().unwrap();
    let fields: Vec<_> = error.keys().collect();
    assert_eq!(fields, ["code", "message", "details", "request_id"]);
    let missing = dev.test.get("/v1/tasks/x").await;
    let error = missing.body["error"].as_object().unwrap();
    let fields: Vec<_> = error.keys().collect();
    assert_eq!(fields, ["code", "message", "request_id"]);
}
