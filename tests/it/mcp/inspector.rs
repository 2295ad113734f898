//! The protocol's own inspector, by both ways and in both eras: `initialize` of older clients, and `server/discover`.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::TOOLS;
use crate::mandates::Limited;
use crate::support::{Developer, TestApp, eventually, in_time, on_sqlite, peer, storefront};

on_sqlite!(the_inspector_is_content, a_wait_is_a_task_of_the_protocol);

/// How the inspector reaches the tools.
#[derive(Clone, Copy)]
enum Way {
    Http,
    Stdio,
}

struct Inspector<'a> {
    app: &'a TestApp,
    way: Way,
    era: &'static str,
    /// It keeps files in its home.
    home: TempDir,
}

impl<'a> Inspector<'a> {
    fn new(app: &'a TestApp, way: Way, era: &'static str) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self {
            app,
            way,
            era,
            home,
        }
    }

    fn command(&self, key: &str, asked: &[&str]) -> Command {
        let package = "@modelcontextprotocol/inspector/clients/cli/build/index.js";
        let mut command = Command::new(peer::variable("LEGWORK_TEST_NODE"));
        let url = format!("http://{}", self.app.address);
        command
            .arg(peer::node_modules().join(package))
            .env("HOME", self.home.path())
            .stdin(Stdio::null());
        match self.way {
            Way::Http => command
                .args(["--transport", "http", "--server-url", &format!("{url}/mcp")])
                .args(["--header", &format!("Authorization: Bearer {key}")]),
            Way::Stdio => command
                .args(["-e", &format!("LEGWORK_SERVER={url}")])
                .args(["-e", &format!("LEGWORK_KEY={key}")]),
        };
        let output = ["--stored-auth-only", "--quiet", "--format", "json"];
        command
            .args(output)
            .args(["--protocol-era", self.era])
            .args(asked);
        if matches!(self.way, Way::Stdio) {
            command.args([env!("CARGO_BIN_EXE_legwork"), "mcp"]);
        }
        command
    }

    /// What the server answered, and the inspector's exit code.
    async fn ask(&self, key: &str, asked: &[&str]) -> (Value, i32) {
        let mut command = self.command(key, asked);
        let run = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = in_time(run).await.unwrap();
        let mut answer = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
        let problem = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code().unwrap();
        assert!(code != 0 || answer["result"].is_object(), "{problem}");
        (answer["result"].take(), code)
    }

    async fn call(&self, key: &str, tool: &str, given: &Value) -> Value {
        let (method, given) = (["--method", "tools/call"], given.to_string());
        let named = ["--tool-name", tool, "--tool-args-json", &given];
        let (answer, code) = self.ask(key, &[&method[..], &named].concat()).await;
        assert_eq!(code, 0, "{tool}: {answer}");
        answer["structuredContent"].clone()
    }

    async fn tools(&self, key: &str) -> Vec<String> {
        // Strict: schemas that some clients could not read make it fail.
        let asked = ["--method", "tools/list", "--strict"];
        let (answer, code) = self.ask(key, &asked).await;
        assert_eq!(code, 0, "{answer}");
        let tools = answer["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

async fn the_inspector_is_content(app: TestApp) {
    let developer = app.developer().await;
    let reads = json!({"permissions": ["read"]});
    let limited = Limited::in_test(&app, &developer, reads).await;
    let key = developer.test_key.as_str();
    for (way, era) in [(Way::Http, "modern"), (Way::Stdio, "legacy")] {
        let inspector = Inspector::new(&app, way, era);
        let (all, some) = tokio::join!(inspector.tools(key), inspector.tools(&limited.key));
        assert_eq!(all, TOOLS);
        assert_eq!(
            some,
            [
                "wait_for_task",
                "get_task",
                "list_tasks",
                "get_proofs",
                "get_mandate"
            ]
        );
        let quote = inspector.call(key, "quote_task", &storefront()).await;
        let redeem = json!({"quote_id": quote["id"]});
        let (first, again) = tokio::join!(
            inspector.call(key, "create_task", &redeem),
            inspector.call(key, "create_task", &redeem)
        );
        assert_eq!(first["id"], again["id"]);
        let uri = format!("legwork://tasks/{}", first["id"].as_str().unwrap());
        let read = ["--method", "resources/read", "--uri", &uri];
        let (listed, read) = tokio::join!(
            inspector.ask(key, &["--method", "resources/list"]),
            inspector.ask(key, &read)
        );
        assert_eq!(listed.0["resources"][0]["uri"], "legwork://guide");
        let task = read.0["contents"][0]["text"].as_str().unwrap();
        let task: Value = serde_json::from_str(task).unwrap();
        assert_eq!(task["id"], first["id"]);
    }
    let made = developer.test.get("/v1/tasks").await.expect(200);
    assert_eq!(made["meta"]["total"], 2);
    // 3 is its code for a server that wants another key.
    let inspector = Inspector::new(&app, Way::Http, "modern");
    let refused = inspector.ask("svc_test_x", &["--method", "tools/list"]);
    assert_eq!(refused.await.1, 3);
}

pub async fn test_task(developer: &Developer) -> String {
    let task = developer.create_task().await;
    task["id"].as_str().unwrap().to_owned()
}

pub async fn advance(developer: &Developer, task: &str, to: &str) {
    let path = format!("/v1/test_helpers/tasks/{task}/advance");
    let advanced = developer.test.post(&path, &json!({"to": to})).await;
    advanced.expect(200);
}

/// The inspector has the extension, and polls until the wait is over.
async fn a_wait_is_a_task_of_the_protocol(app: TestApp) {
    let developer = app.developer().await;
    let key = developer.test_key.as_str();
    for way in [Way::Http, Way::Stdio] {
        let task = test_task(&developer).await;
        let inspector = Inspector::new(&app, way, "modern");
        let until = json!({"task_id": task, "until": ["in_progress"], "timeout_s": 1});
        let work = async {
            // The inspector has been told to come again.
            let path = format!("/v1/tasks/{task}");
            eventually("the wait begins", || async {
                let logged = developer.test.get("/v1/logs").await.expect(200);
                let logged = logged["data"].as_array().unwrap();
                logged.iter().any(|logged| logged["path"] == path.as_str())
            })
            .await;
            advance(&developer, &task, "in_progress").await;
        };
        let waiting = inspector.call(key, "wait_for_task", &until);
        let (waited, ()) = tokio::join!(waiting, work);
        assert_eq!(waited["reached"], true, "{waited}");
        assert_eq!(waited["task"]["status"], "in_progress");
    }
    waits_are_kept_nowhere(&app).await;
}

/// A request as the revision of 2026-07-28 has it.
pub async fn ask_with(
    app: &TestApp,
    key: &str,
    extensions: Value,
    asked: (&str, &str, Value),
) -> Value {
    let (method, name, mut params) = asked;
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions},
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"}});
    let bearer = format!("Bearer {key}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", name),
    ];
    super::ask(app, &headers, method, params).await.1
}

/// So every server of a service can be asked, and a wait survives a restart.
async fn waits_are_kept_nowhere(app: &TestApp) {
    let (developer, other) = (app.developer().await, app.developer().await);
    let has = || json!({"io.modelcontextprotocol/tasks": {}});
    let task = test_task(&developer).await;
    let key = developer.test_key.as_str();
    let call = |given: Value| {
        let params = json!({"name": "wait_for_task", "arguments": given});
        ("tools/call", "wait_for_task", params)
    };
    let begun = ask_with(app, key, has(), call(json!({"task_id": task}))).await;
    let begun = &begun["result"];
    assert_eq!(begun["resultType"], "task", "{begun}");
    assert_eq!(begun["status"], "working");
    assert_eq!(begun["pollIntervalMs"], 1_000);
    assert_eq!(begun["statusMessage"], "The task is funded.");
    let wait = begun["taskId"].as_str().unwrap().to_owned();
    let about = |method| (method, wait.as_str(), json!({"taskId": wait}));
    let working = ask_with(app, key, has(), about("tasks/get")).await;
    assert_eq!(working["result"]["status"], "working");
    assert_eq!(working["result"]["createdAt"], begun["createdAt"]);
    advance(&developer, &task, "proof_submitted").await;
    let done = ask_with(app, key, has(), about("tasks/get")).await;
    assert_eq!(done["result"]["status"], "completed", "{done}");
    let told = &done["result"]["result"]["structuredContent"];
    assert_eq!(
        (&told["reached"], &told["task"]["id"]),
        (&json!(true), &json!(task))
    );
    // What is reached is answered at once, and so is somebody who only looks.
    let at_once = ask_with(app, key, has(), call(json!({"task_id": task}))).await;
    assert_eq!(at_once["result"]["structuredContent"]["reached"], true);
    let looks = json!({"task_id": task, "until": ["completed"], "timeout_s": 0});
    let looked = ask_with(app, key, has(), call(looks)).await;
    assert_eq!(looked["result"]["structuredContent"]["reached"], false);
    // An id is no key: another account learns nothing by it.
    let strange = ask_with(app, &other.test_key, has(), about("tasks/get")).await;
    assert_eq!(strange["result"]["status"], "completed");
    assert_eq!(strange["result"]["result"]["isError"], true);
    assert!(strange.to_string().contains("TASK_NOT_FOUND"));
    let stopped = ask_with(app, key, has(), about("tasks/cancel")).await;
    assert_eq!(stopped["result"]["resultType"], "complete", "{stopped}");
    for id in [
        "",
        "wait",
        "wait.1.x",
        "wait.x.y.0",
        "wait.1.y.zz",
        "wait.1.y.0.0",
    ] {
        let asked = ("tasks/get", id, json!({"taskId": id}));
        let refused = ask_with(app, key, has(), asked).await;
        assert!(refused["error"].is_object(), "{id}: {refused}");
    }
    // A client without the extension could not read such an answer.
    let plain = ask_with(app, key, json!({}), call(json!({"task_id": task}))).await;
    assert_eq!(plain["result"]["structuredContent"]["reached"], true);
    let refused = ask_with(app, key, json!({}), about("tasks/get")).await;
    assert!(refused["error"].is_object(), "{refused}");
}
