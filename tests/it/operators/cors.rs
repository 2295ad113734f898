//! Web pages of other hosts.

use futures_util::future::join_all;
use legwork::domain::AdminRole;

use crate::support::{
    Client, Command, Database, Engine, Reply, Server, TestApp, on_both_engines, runtime, storefront,
};

on_both_engines!(
    a_named_origin_is_told_what_it_may_send,
    questions_of_browsers_are_limited_by_address,
    a_named_origin_reads_every_answer,
    other_origins_get_no_headers,
    api_keys_of_foreign_pages_are_refused,
);

const OTHER: &str = "https://evil.example.com";

async fn ask(client: &Client, origin: &str, path: &str) -> Reply {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,content-type",
        ),
    ];
    client.send("OPTIONS", path, &headers, "").await
}

async fn get(client: &Client, origin: &str, path: &str) -> Reply {
    client.send("GET", path, &[("origin", origin)], "").await
}

fn cors_headers(reply: &Reply) -> Vec<&str> {
    let names = reply.headers.keys().map(|name| name.as_str());
    let names = names.filter(|name| name.starts_with("access-control-"));
    names.collect()
}

#[track_caller]
fn is_readable(reply: &Reply) {
    let origin = reply.header("access-control-allow-origin");
    assert_eq!(origin, TestApp::ELSEWHERE);
    assert_eq!(reply.header("vary"), "Origin");
    let exposed = reply.header("access-control-expose-headers");
    for name in ["X-Request-Id", "RateLimit", "Retry-After", "Location"] {
        assert!(exposed.split(", ").any(|one| one == name), "{name}");
    }
    let credentials = reply.headers.get("access-control-allow-credentials");
    assert!(credentials.is_none(), "cookies would be sent along");
}

async fn a_named_origin_is_told_what_it_may_send(app: TestApp) {
    // Nobody has a key yet.
    for path in ["/v1/tasks", "/v1/worker/tasks", "/files/x", "/v1/nothing"] {
        let reply = ask(&app.client(), TestApp::ELSEWHERE, path).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (204, ""));
        is_readable(&reply);
        let methods = reply.header("access-control-allow-methods");
        assert_eq!(methods, "GET, POST, PUT, PATCH, DELETE");
        let headers = reply.header("access-control-allow-headers");
        for name in [
            "Authorization",
            "Content-Type",
            "Idempotency-Key",
            "Last-Event-ID",
        ] {
            assert!(headers.split(", ").any(|one| one == name), "{name}");
        }
        assert_eq!(reply.header("access-control-max-age"), "7200");
    }
}

async fn questions_of_browsers_are_limited_by_address(app: TestApp) {
    let stranger = app.client();
    let mut answered = 0;
    let refused = loop {
        let asks = (0..100).map(|_| ask(&stranger, TestApp::ELSEWHERE, "/v1/tasks"));
        let replies = join_all(asks).await;
        answered += replies.iter().filter(|reply| reply.status == 204).count();
        if let Some(refused) = replies.into_iter().find(|reply| reply.status != 204) {
            break refused;
        }
    };
    refused.expect_error(429, "RATE_LIMITED");
    assert!((599..2_000).contains(&answered), "{answered}");
}

async fn a_named_origin_reads_every_answer(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let own = get(&worker.client, TestApp::ELSEWHERE, "/v1/worker").await;
    is_readable(&own);
    own.expect(200);
    for (path, status) in [
        ("/v1/worker", 401),
        ("/v1/nothing", 404),
        ("/v1/workers", 405),
        ("/files/x", 403),
    ] {
        let reply = get(&app.client(), TestApp::ELSEWHERE, path).await;
        is_readable(&reply);
        assert_eq!(reply.status, status, "{path}");
    }
    // Our pages are for our own host.
    for path in ["/docs/", "/openapi.json", "/onboarding/done", "/healthz"] {
        let reply = get(&app.client(), TestApp::ELSEWHERE, path).await;
        assert_eq!(cors_headers(&reply), [""; 0], "{path}");
    }
}

async fn other_origins_get_no_headers(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let origins = [
        OTHER,
        "null",
        "http://workers.example.com",
        "https://workers.example.com:8443",
        "https://workers.example.com.evil.example.com",
        "https://WORKERS.example.com",
    ];
    for origin in origins {
        let reply = ask(&app.client(), origin, "/v1/tasks").await;
        assert_eq!(cors_headers(&reply), [""; 0], "{origin}");
        reply.expect_error(405, "METHOD_NOT_ALLOWED");
        let reply = get(&worker.client, origin, "/v1/worker").await;
        assert_eq!(cors_headers(&reply), [""; 0], "{origin}");
        // A cache must not give it to a named origin.
        assert_eq!(reply.header("vary"), "Origin");
        reply.expect(200);
    }
    let reply = worker.client.get("/v1/worker").await;
    assert_eq!(cors_headers(&reply), [""; 0]);
    assert_eq!(reply.header("vary"), "Origin");
}

async fn api_keys_of_foreign_pages_are_refused(app: TestApp) {
    let dev = app.developer().await;
    let admin = app.admin_with(AdminRole::Viewer).await;
    let task = storefront().to_string();
    for origin in [TestApp::ELSEWHERE, OTHER, "null"] {
        for client in [&dev.live, &dev.test, &admin] {
            let headers = [("origin", origin)];
            let reply = client
                .send("POST", "/v1/tasks", &headers, task.clone())
                .await;
            let reply = reply.expect_error(403, "KEY_IN_BROWSER");
            let message = reply.body["error"]["message"].as_str().unwrap();
            assert!(message.contains("can read the key"), "{message}");
            if origin == TestApp::ELSEWHERE {
                is_readable(&reply);
            }
        }
    }
    let tasks = dev.test.get("/v1/tasks").await.expect(200);
    assert_eq!(tasks["meta"]["total"], 0);
    // A page of our own host, such as /docs, may.
    let own = format!("http://{}", app.address);
    let headers = [("origin", own.as_str())];
    let reply = dev
        .test
        .send("POST", "/v1/tasks", &headers, task.clone())
        .await;
    reply.expect(201);
    get(&admin, &own, "/v1/admin/queue").await.expect(200);
    // One that nobody knows is still unknown when it is no API key.
    let stranger = Client::new(app.address, Some("svc_worker_none"));
    let reply = get(&stranger, TestApp::ELSEWHERE, "/v1/tasks").await;
    reply.expect_error(401, "UNAUTHORIZED");
}

#[test]
fn the_settings_name_origins_and_allow_keys() {
    runtime().block_on(async {
        let database = Database::migrated(Engine::Sqlite);
        let spawn = |variables: &[(&str, &str)]| {
            let listen = ["--listen", "127.0.0.1:0", "--log", "off"];
            let mut command = Command::new(&listen).on(&database);
            for (name, value) in variables {
                command = command.env(name, value);
            }
            Server::spawn(command)
        };
        let account = ["account", "create", "--email", "a@example.com", "--name"];
        let account = [&account[..], &["A", "--json"]].concat();
        let account = Command::new(&account).on(&database).succeed();
        let account: serde_json::Value = serde_json::from_str(&account).unwrap();
        let key = account["test_key"].as_str().unwrap();

        let origins = (
            "LEGWORK_CORS_ORIGINS",
            "https://a.example, https://b.example",
        );
        let server = spawn(&[origins]);
        let client = server.client(key);
        let reply = get(&client, "https://b.example", "/v1/account").await;
        let allowed = reply.header("access-control-allow-origin");
        assert_eq!(allowed, "https://b.example");
        reply.expect_error(403, "KEY_IN_BROWSER");
        drop(server);

        let server = spawn(&[origins, ("LEGWORK_CORS_KEYS", "on")]);
        let client = server.client(key);
        get(&client, "https://b.example", "/v1/account")
            .await
            .expect(200);
        let reply = get(&client, "https://c.example", "/v1/account").await;
        assert_eq!(cors_headers(&reply), [""; 0]);
        drop(server);

        // Behind a proxy that names another host.
        let server = spawn(&[
            ("LEGWORK_PUBLIC_URL", "https://legwork.example.com"),
            ("LEGWORK_ALLOW_SANDBOX", "on"),
        ]);
        let client = server.client(key);
        let own = get(&client, "https://legwork.example.com", "/v1/account").await;
        own.expect(200);
        let reply = ask(&client, "https://legwork.example.com", "/v1/account").await;
        assert_eq!(cors_headers(&reply), [""; 0]);
    });
}
