//! The Model Context Protocol, as agents speak it: with the official client for Python, by HTTP and by standard input.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::mandates::{Limited, with};
use crate::support::{TestApp, in_time, on_sqlite, peer};

mod arguments;
mod hostile;
mod inspector;
mod lists;
mod resources;
mod stdio;
mod waits;

on_sqlite!(
    an_agent_hires_by_http,
    an_agent_hires_by_stdio,
    keys_see_exactly_their_tools,
    every_revision_is_spoken
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
        "progress": [1.0, "The task is funded.", true],
        "image": ["JPEG", [600, 450], true],
        "file": [true, "image/jpeg", [1200, 900]],
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
        "approval": ["approval_required", [true, "waiting"], [false, "approved"]],
    })
}

/// The story, told by a client of each mode. Over HTTP, older clients have no session to be asked in.
async fn hire(app: &TestApp, transport: &str, program: &[&str]) {
    for mode in MODES {
        let developer = app.developer().await;
        let asks = Limited::in_test(app, &developer, with("approval_above_cents", json!(0))).await;
        let url = format!("http://{}", app.address);
        let mut arguments = vec![transport, mode, &url, &developer.test_key, &asks.key];
        arguments.extend_from_slice(program);
        let mut told = told(&arguments).await;
        let asked = told.as_object_mut().unwrap().remove("asked").unwrap();
        assert_eq!(told, expected(), "{transport} {mode}");
        let asked = asked.as_array().unwrap();
        assert_eq!(
            asked.len(),
            usize::from((transport, mode) != ("http", "legacy")),
            "{transport} {mode}"
        );
        for question in asked {
            assert_eq!(question[0], "url");
            let page = question[1].as_str().unwrap();
            assert!(page.ends_with("/dashboard/test/approvals"), "{page}");
            let words = question[2].as_str().unwrap();
            assert!(
                words.contains("$25.00 on \"Photograph a storefront\""),
                "{words}"
            );
        }
    }
}

async fn told(arguments: &[&str]) -> Value {
    let mut command: Command = peer::python("mcp_story.py");
    let command = command.args(arguments).stdout(Stdio::piped());
    let mut agent = command.spawn().unwrap();
    let mut said = BufReader::new(agent.stdout.take().unwrap()).lines();
    let (ready, mut said) = tokio::task::spawn_blocking(|| (said.next(), said))
        .await
        .unwrap();
    assert_eq!(ready.unwrap().unwrap(), "ready");
    let run = tokio::task::spawn_blocking(move || (said.next(), agent.wait().unwrap()));
    let (told, ended) = in_time(run).await.unwrap();
    assert!(ended.success(), "see its error above");
    serde_json::from_str(&told.unwrap().unwrap()).unwrap()
}

async fn an_agent_hires_by_http(app: TestApp) {
    hire(&app, "http", &[]).await;
}

async fn an_agent_hires_by_stdio(app: TestApp) {
    hire(&app, "stdio", &[env!("CARGO_BIN_EXE_legwork")]).await;
}

/// A request of a client that speaks the revision of 2025-06-18.
pub async fn ask(
    app: &TestApp,
    headers: &[(&str, &str)],
    method: &str,
    params: Value,
) -> (u16, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut all = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    all.extend_from_slice(headers);
    if !headers
        .iter()
        .any(|(name, _)| *name == "mcp-protocol-version")
    {
        all.push(("mcp-protocol-version", "2025-06-18"));
    }
    let reply = app
        .client()
        .send("POST", "/mcp", &all, body.to_string())
        .await;
    (reply.status.as_u16(), reply.body)
}

/// The same with a key, for a tool.
pub async fn call(app: &TestApp, key: &str, tool: &str, given: &Value) -> Value {
    let bearer = format!("Bearer {key}");
    let call = json!({"name": tool, "arguments": given});
    let (status, answer) = ask(app, &[("authorization", &bearer)], "tools/call", call).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// The error that a tool told.
#[track_caller]
pub fn refusal(answer: &Value) -> Value {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let told = answer["result"]["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(told).unwrap()
}

async fn tools_of(app: &TestApp, key: &str) -> Vec<String> {
    let bearer = format!("Bearer {key}");
    let (status, answer) = ask(app, &[("authorization", &bearer)], "tools/list", json!({})).await;
    assert_eq!(status, 200, "{answer}");
    let tools = answer["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

async fn keys_see_exactly_their_tools(app: TestApp) {
    let developer = app.developer().await;
    assert_eq!(tools_of(&app, &developer.live_key).await, TOOLS[..9]);
    let reading = [
        "wait_for_task",
        "get_task",
        "list_tasks",
        "get_proofs",
        "get_mandate",
    ];
    for (permission, tools) in [
        ("read", &reading[..]),
        ("create", &["quote_task", "create_task", "get_mandate"]),
        ("review", &["review_proof", "get_mandate"]),
        ("cancel", &["cancel_task", "get_mandate"]),
        ("test", &["get_mandate", "advance_test_task"]),
    ] {
        let mandate = json!({"permissions": [permission]});
        let limited = Limited::in_test(&app, &developer, mandate.clone()).await;
        assert_eq!(tools_of(&app, &limited.key).await, tools, "{permission}");
        if permission == "test" {
            let live = Limited::new(&app, &developer, "live", mandate).await;
            assert_eq!(tools_of(&app, &live.key).await, ["get_mandate"]);
        }
    }
    // One that is paused or over sees what says so, and nothing else.
    let expires = json!("2025-12-01T00:00:00Z");
    app.set_time("2025-11-30T00:00:00Z");
    let limited = Limited::in_test(&app, &developer, with("expires_at", expires)).await;
    assert_eq!(tools_of(&app, &limited.key).await, TOOLS);
    assert_eq!(limited.mandate().await["status"], "active");
    app.set_time("2025-12-01T00:00:00Z");
    assert_eq!(tools_of(&app, &limited.key).await, ["get_mandate"]);
    assert_eq!(limited.mandate().await["status"], "expired");
    let paused = with("paused", json!(true));
    let put = developer
        .live
        .send("PUT", &limited.path(), &[], paused.to_string())
        .await;
    assert_eq!(put.expect(200)["status"], "paused");
    assert_eq!(tools_of(&app, &limited.key).await, ["get_mandate"]);
    // A tool that is not shown is refused all the same.
    let bearer = format!("Bearer {}", limited.key);
    let call = json!({"name": "list_tasks", "arguments": {}});
    let (_, answer) = ask(&app, &[("authorization", &bearer)], "tools/call", call).await;
    let told = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        told.contains("MANDATE_PAUSED") && told.contains("what_to_do"),
        "{told}"
    );
}

/// Each client gets the revision that it asks for, and a server of its own time.
async fn every_revision_is_spoken(app: TestApp) {
    let developer = app.developer().await;
    let bearer = format!("Bearer {}", developer.test_key);
    for revision in ["2025-06-18", "2025-11-25"] {
        let about = json!({"name": "old", "version": "1"});
        let hello = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": about});
        let headers = [
            ("authorization", bearer.as_str()),
            ("mcp-protocol-version", revision),
        ];
        let (status, answer) = ask(&app, &headers, "initialize", hello).await;
        assert_eq!(status, 200, "{answer}");
        let told = &answer["result"];
        assert_eq!(told["protocolVersion"], revision);
        assert_eq!(told["serverInfo"]["name"], "legwork");
        let call = json!({"name": "get_mandate", "arguments": {}});
        let (_, answer) = ask(&app, &headers, "tools/call", call).await;
        assert_eq!(answer["result"]["structuredContent"]["limited"], false);
    }
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "server/discover"),
    ];
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"}});
    let (status, answer) = ask(&app, &headers, "server/discover", json!({"_meta": meta})).await;
    assert_eq!(status, 200, "{answer}");
    let spoken = answer["result"]["supportedVersions"].to_string();
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        assert!(spoken.contains(revision), "{spoken}");
    }
}
