//! `legwork mcp` line by line: what the official clients would never send, or not show.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::inspector::test_task;
use crate::support::{Command, TestApp, in_time, on_sqlite};

on_sqlite!(a_wait_that_was_cancelled_asks_no_more);

/// The program, and a client that says what it is told.
pub struct Line {
    program: Child,
    input: ChildStdin,
    answers: UnboundedReceiver<Value>,
    asked: u64,
}

impl Line {
    pub async fn to(url: &str, key: &str) -> Self {
        let mut command = Command::new(&["mcp", "--server", url, "--key", key]).0;
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = piped.spawn().unwrap();
        let (told, answers) = unbounded_channel();
        let output = BufReader::new(program.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = told.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut line = Self {
            input: program.stdin.take().unwrap(),
            program,
            answers,
            asked: 0,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "line", "version": "1"}});
        line.ask("initialize", hello).await;
        line.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        line
    }

    pub async fn of(app: &TestApp, key: &str) -> Self {
        Self::to(&format!("http://{}", app.address), key).await
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// The number of the request.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    async fn next(&mut self) -> Value {
        in_time(self.answers.recv()).await.unwrap()
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        loop {
            let told = self.next().await;
            if told["id"] == id {
                return told;
            }
        }
    }

    pub async fn call(&mut self, tool: &str, given: &Value) -> Value {
        let call = json!({"name": tool, "arguments": given});
        self.ask("tools/call", call).await
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// It tells how far it is after each look, so its silence shows that it looks no more.
async fn a_wait_that_was_cancelled_asks_no_more(app: TestApp) {
    let developer = app.developer().await;
    let task = test_task(&developer).await;
    let mut line = Line::of(&app, &developer.test_key).await;
    let wait = json!({"name": "wait_for_task", "arguments": {"task_id": task},
        "_meta": {"progressToken": "far"}});
    let id = line.begin("tools/call", wait);
    let progress = line.next().await;
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let cancelled = json!({"requestId": id, "reason": "no longer needed"});
    let method = "notifications/cancelled";
    line.send(&json!({"jsonrpc": "2.0", "method": method, "params": cancelled}));
    let limits = line.call("get_mandate", &json!({})).await;
    assert_eq!(limits["result"]["structuredContent"]["limited"], false);
    // It would look every two seconds.
    let more = tokio::time::timeout(Duration::from_secs(5), line.answers.recv()).await;
    assert!(more.is_err(), "{more:?}");
}
