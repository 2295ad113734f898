//! What strangers and broken clients can do at /mcp: nothing, and cheaply.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ask;
use crate::support::{TestApp, in_time, on_sqlite};

on_sqlite!(
    strangers_pages_and_broken_clients_are_refused,
    an_account_has_so_many_calls_in_progress,
);

async fn strangers_pages_and_broken_clients_are_refused(app: TestApp) {
    let developer = app.developer().await;
    strangers(&app).await;
    let bearer = format!("Bearer {}", developer.test_key);
    let key = ("authorization", bearer.as_str());
    let from_page = [key, ("origin", "https://evil.example")];
    let (status, _) = ask(&app, &from_page, "tools/list", json!({})).await;
    assert_eq!(status, 403);
    // Ids cannot lead to another path of the API.
    for id in ["../account", "..", "x/../../account", "%2e%2e", "a?b=c#d"] {
        let sneaky = json!({"name": "get_task", "arguments": {"task_id": id}});
        let (status, answer) = ask(&app, &[key], "tools/call", sneaky).await;
        let told = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(status == 200 && told.contains("TASK_NOT_FOUND"), "{answer}");
        for uri in [
            format!("legwork://tasks/{id}"),
            format!("legwork://tasks/{id}/proofs/{id}"),
        ] {
            let (_, answer) = ask(&app, &[key], "resources/read", json!({"uri": uri})).await;
            assert!(answer["error"].is_object(), "{answer}");
        }
    }
    for (name, arguments) in [
        ("drop_tables", json!({})),
        ("get_task", json!([])),
        ("get_task", json!({"task_id": 7})),
        ("get_task", json!({"task_id": "0", "api_key": "x"})),
        ("wait_for_task", json!({"task_id": "0", "timeout_s": -1})),
    ] {
        let call = json!({"name": name, "arguments": arguments});
        let (status, answer) = ask(&app, &[key], "tools/call", call).await;
        let is_refused = answer["error"].is_object() || answer["result"]["isError"] == true;
        assert!(status < 500 && is_refused, "{name}: {status} {answer}");
    }
    let sent = [
        key,
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(300_000));
    for (body, status, code, id) in [
        (large, 413, -32600, None),
        ("[".repeat(100_000), 400, -32700, None),
        ("{".to_owned(), 400, -32700, None),
        ("{} {}".to_owned(), 400, -32700, None),
        ("\u{0}".to_owned(), 400, -32700, None),
        (json!([]).to_string(), 400, -32600, None),
        (
            json!(vec![json!({"": 0}); 1_000]).to_string(),
            400,
            -32600,
            None,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 7}).to_string(),
            400,
            -32600,
            Some(7),
        ),
    ] {
        let reply = app.client().send("POST", "/mcp", &sent, body).await;
        assert_eq!(reply.status, status, "{}", reply.text);
        assert_eq!(reply.body["error"]["code"], code, "{}", reply.text);
        assert_eq!(reply.body["jsonrpc"], "2.0");
        assert_eq!(reply.body["id"], json!(id), "{}", reply.text);
    }
    // The server is still there for those who behave.
    let (status, _) = ask(&app, &[key], "tools/list", json!({})).await;
    assert_eq!(status, 200);
}

/// Whoever has no key is told where to read more, before a byte of the body is read.
async fn strangers(app: &TestApp) {
    for key in [&[][..], &[("authorization", "Bearer svc_test_x")]] {
        let (status, answer) = ask(app, key, "tools/list", json!({})).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (401, &json!("UNAUTHORIZED"))
        );
    }
    let mut connection = TcpStream::connect(app.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000000000\r\n\r\n",
        app.address
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 2_000];
    let read = in_time(connection.read(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).to_lowercase();
    assert!(answer.starts_with("http/1.1 401"), "{answer}");
    let (_, named) = answer
        .split_once("www-authenticate: bearer resource_metadata=\"")
        .unwrap();
    let (url, _) = named.split_once('"').unwrap();
    assert!(
        url.ends_with("/.well-known/oauth-protected-resource"),
        "{url}"
    );
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let told = app.client().get(&path).await.expect(200);
        let resource = told["resource"].as_str().unwrap();
        assert_eq!(
            resource,
            url.replace("/.well-known/oauth-protected-resource", "/mcp")
        );
        assert_eq!(told["bearer_methods_supported"], json!(["header"]));
    }
}

/// Calls that wait hold their messages, and those that are not sent to the end hold what has come.
async fn an_account_has_so_many_calls_in_progress(app: TestApp) {
    let (developer, other) = (app.developer().await, app.developer().await);
    let mut held = Vec::new();
    for _ in 0..64 {
        let (connection, answer) = begun(&app, &developer.test_key).await;
        assert!(answer.starts_with("HTTP/1.1 100"), "{answer}");
        held.push(connection);
    }
    let (_, answer) = begun(&app, &developer.live_key).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    let (_, answer) = begun(&app, &other.test_key).await;
    assert!(answer.starts_with("HTTP/1.1 100"), "{answer}");
}

/// A call whose body does not come, and what the server says to that: 100 when it begins to read.
async fn begun(app: &TestApp, key: &str) -> (TcpStream, String) {
    let mut connection = TcpStream::connect(app.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
        app.address
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 2_000];
    let read = in_time(connection.read(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    (connection, answer)
}
