//! The Model Context Protocol, as agents speak it: with the official client for Python, by HTTP and by standard input.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{TestApp, in_time, on_sqlite, peer};

on_sqlite!(
    an_agent_hires_by_http,
    an_agent_hires_by_stdio,
    live_keys_see_no_tools_for_test,
    pages_and_strangers_are_refused
);

/// Clients of the revisions before and after sessions were given up.
const MODES: [&str; 2] = ["legacy", "2026-07-28"];

const TOOLS: [&str; 10] = [
    "quote_task",
    "create_task",
    "wait_for_task",
    "get_task",
    "list_tasks",
    "get_proofs",
    "review_proof",
    "cancel_task",
    "get_mandate",
    "advance_test_task",
];

fn expected() -> Value {
    json!({
        "tools": TOOLS,
        "described": true,
        "read_only": ["quote_task", "wait_for_task", "get_task", "list_tasks", "get_proofs", "get_mandate"],
        "payout": 2100,
        "same_task": true,
        "early": [false, 300],
        "reached": "proof_submitted",
        "attention": [true],
        "untrusted": true,
        "blocks": ["text", "text", "resource_link", "image"],
        "evidence": true,
        "unreasoned": "VALIDATION_ERROR",
        "done": ["completed", "completed", true],
        "differs": ["REFUND_DIFFERS", true],
        "cancelled": "cancelled",
        "listed": 1,
        "missing": "quote_id is required",
        "unknown": "TASK_NOT_FOUND",
        "resource": true,
        "limited": false,
    })
}

async fn told(arguments: &[&str]) -> Value {
    let mut command: Command = peer::python("mcp_story.py");
    command.args(arguments);
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = in_time(run).await.unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn an_agent_hires_by_http(app: TestApp) {
    for mode in MODES {
        let developer = app.developer().await;
        let url = format!("http://{}", app.address);
        let told = told(&["http", mode, &url, &developer.test_key]).await;
        assert_eq!(told, expected(), "{mode}");
    }
}

async fn an_agent_hires_by_stdio(app: TestApp) {
    for mode in MODES {
        let developer = app.developer().await;
        let url = format!("http://{}", app.address);
        let program = env!("CARGO_BIN_EXE_legwork");
        let told = told(&["stdio", mode, &url, &developer.test_key, program]).await;
        assert_eq!(told, expected(), "{mode}");
    }
}

/// A request of a client that speaks the revision of 2025-06-18.
async fn ask(app: &TestApp, headers: &[(&str, &str)], method: &str, params: Value) -> (u16, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut all = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    all.extend_from_slice(headers);
    let reply = app
        .client()
        .send("POST", "/mcp", &all, body.to_string())
        .await;
    (reply.status.as_u16(), reply.body)
}

async fn live_keys_see_no_tools_for_test(app: TestApp) {
    let developer = app.developer().await;
    let bearer = format!("Bearer {}", developer.live_key);
    let (status, answer) = ask(&app, &[("authorization", &bearer)], "tools/list", json!({})).await;
    assert_eq!(status, 200, "{answer}");
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOLS[..9]);
}

async fn pages_and_strangers_are_refused(app: TestApp) {
    let developer = app.developer().await;
    let (status, answer) = ask(&app, &[], "tools/list", json!({})).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (401, &json!("UNAUTHORIZED"))
    );
    let (status, _) = ask(
        &app,
        &[("authorization", "Bearer svc_test_x")],
        "tools/list",
        json!({}),
    )
    .await;
    assert_eq!(status, 401);
    let bearer = format!("Bearer {}", developer.test_key);
    let from_page = [
        ("authorization", bearer.as_str()),
        ("origin", "https://evil.example"),
    ];
    let (status, _) = ask(&app, &from_page, "tools/list", json!({})).await;
    assert_eq!(status, 403);
    // Ids cannot lead to another path of the API.
    let sneaky = json!({"name": "get_task", "arguments": {"task_id": "../account"}});
    let (status, answer) = ask(&app, &[("authorization", &bearer)], "tools/call", sneaky).await;
    assert_eq!(status, 200);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}
