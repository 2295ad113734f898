//! A wait ends where what it is for can no longer come.

use serde_json::{Value, json};

use super::call;
use super::inspector::{advance, ask_with, test_task};
use super::stdio::Line;
use crate::support::{Developer, TestApp, on_sqlite};

on_sqlite!(
    a_wait_for_what_cannot_come_is_over,
    a_wait_as_a_task_ends_too,
    a_wait_as_a_task_can_be_cancelled
);

async fn cancel(developer: &Developer, task: &str) {
    let path = format!("/v1/tasks/{task}/cancel");
    developer.test.post(&path, &json!({})).await.expect(200);
}

#[track_caller]
fn is_in_vain(told: &Value, why: &str) {
    assert_eq!(told["reached"], false, "{told}");
    assert_eq!(told.get("ask_again_in_s"), None);
    let message = told["message"].as_str().unwrap();
    assert!(message.starts_with(why), "{message}");
    assert!(message.ends_with("Waiting again is useless."), "{message}");
}

async fn a_wait_for_what_cannot_come_is_over(app: TestApp) {
    let developer = app.developer().await;
    let key = developer.test_key.as_str();
    let (over, begun) = (test_task(&developer).await, test_task(&developer).await);
    cancel(&developer, &over).await;
    advance(&developer, &begun, "in_progress").await;
    let mut line = Line::of(&app, key).await;
    for (task, until, why) in [
        (&over, "completed", "The task is over: it is cancelled."),
        (
            &begun,
            "funded",
            "The task is in_progress, and what you wait for can no longer come.",
        ),
    ] {
        let given = json!({"task_id": task, "until": [until]});
        let by_http = call(&app, key, "wait_for_task", &given).await;
        for answer in [by_http, line.call("wait_for_task", &given).await] {
            is_in_vain(&answer["result"]["structuredContent"], why);
        }
    }
}

/// What a client that has tasks of the protocol is told.
async fn asks(app: &TestApp, key: &str, asked: (&str, &str, Value)) -> Value {
    let has = json!({"io.modelcontextprotocol/tasks": {}});
    ask_with(app, key, has, asked).await
}

async fn begins(app: &TestApp, key: &str, task: &str) -> String {
    let given = json!({"task_id": task, "until": ["completed"]});
    let call = json!({"name": "wait_for_task", "arguments": given});
    let begun = asks(app, key, ("tools/call", "wait_for_task", call)).await;
    assert_eq!(begun["result"]["status"], "working", "{begun}");
    begun["result"]["taskId"].as_str().unwrap().to_owned()
}

async fn a_wait_as_a_task_ends_too(app: TestApp) {
    let developer = app.developer().await;
    let task = test_task(&developer).await;
    let key = developer.test_key.as_str();
    let wait = begins(&app, key, &task).await;
    cancel(&developer, &task).await;
    let about = ("tasks/get", wait.as_str(), json!({"taskId": wait}));
    let done = asks(&app, key, about).await;
    assert_eq!(done["result"]["status"], "completed", "{done}");
    let told = &done["result"]["result"]["structuredContent"];
    is_in_vain(told, "The task is over: it is cancelled.");
}

async fn a_wait_as_a_task_can_be_cancelled(app: TestApp) {
    let (developer, other) = (app.developer().await, app.developer().await);
    let task = test_task(&developer).await;
    let key = developer.test_key.as_str();
    let wait = begins(&app, key, &task).await;
    let about = |method| (method, wait.as_str(), json!({"taskId": wait}));
    // Whoever cannot see the task cannot end the wait.
    let strange = asks(&app, &other.test_key, about("tasks/cancel")).await;
    assert_eq!(strange["error"]["code"], -32602, "{strange}");
    let goes_on = asks(&app, key, about("tasks/get")).await;
    assert_eq!(goes_on["result"]["status"], "working", "{goes_on}");
    let ended = asks(&app, key, about("tasks/cancel")).await;
    assert_eq!(ended["result"]["resultType"], "complete", "{ended}");
    // It stays so, whatever comes of the task.
    for status in ["in_progress", "completed"] {
        let told = asks(&app, key, about("tasks/get")).await;
        assert_eq!(told["result"]["status"], "cancelled", "{told}");
        advance(&developer, &task, status).await;
    }
    let told = asks(&app, key, about("tasks/get")).await;
    assert_eq!(told["result"]["status"], "cancelled", "{told}");
}
