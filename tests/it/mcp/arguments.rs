//! What a tool cannot take is refused, by name and with what it could take.

use serde_json::{Value, json};

use super::inspector::test_task;
use super::stdio::Line;
use super::{ask, call, refusal};
use crate::support::{TestApp, on_sqlite, storefront};

on_sqlite!(
    wrong_arguments_are_refused,
    amounts_may_be_sent_as_floats,
    what_is_not_there_is_told_with_the_way_on,
    parameters_that_cannot_be_read_are_told_from_unknown_methods
);

/// A tool, one of its arguments, what is wrong for it, and what is told.
fn wrong() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let seconds = "timeout_s must be a whole number from 0 to 50";
    let limit = "limit must be a whole number from 1 to 100";
    vec![
        (
            "wait_for_task",
            "until",
            json!("funded"),
            "until must be a list, each one of pending, funded",
        ),
        (
            "wait_for_task",
            "until",
            json!(["funded", "foo"]),
            "until[1] must be one of pending, funded",
        ),
        ("wait_for_task", "timeout_s", json!("1"), seconds),
        ("wait_for_task", "timeout_s", json!(1.5), seconds),
        ("wait_for_task", "timeout_s", json!(51), seconds),
        ("wait_for_task", "timeout_s", json!(-1), seconds),
        (
            "wait_for_task",
            "task_id",
            json!(7),
            "task_id must be a text",
        ),
        ("list_tasks", "limit", json!(-1), limit),
        ("list_tasks", "limit", json!(101), limit),
        (
            "list_tasks",
            "offset",
            json!(-1),
            "offset must be a whole number of at least 0",
        ),
        (
            "list_tasks",
            "needs_attention",
            json!("yes"),
            "needs_attention must be true or false",
        ),
        (
            "list_tasks",
            "status",
            json!(["funded"]),
            "status must be one of pending, funded",
        ),
        (
            "get_task",
            "include",
            json!(["foo"]),
            "include[0] must be one of history, payment, ledger",
        ),
        (
            "get_proofs",
            "images",
            json!("yes"),
            "images must be true or false",
        ),
        (
            "review_proof",
            "decision",
            json!("pay"),
            "decision must be one of approve, reject",
        ),
        ("review_proof", "reason", json!(7), "reason must be a text"),
        (
            "cancel_task",
            "expected_refund_cents",
            json!("all"),
            "expected_refund_cents must be a whole number",
        ),
        (
            "advance_test_task",
            "to",
            json!("done"),
            "to must be one of pending, funded",
        ),
    ]
}

async fn wrong_arguments_are_refused(app: TestApp) {
    let developer = app.developer().await;
    let (task, key) = (test_task(&developer).await, developer.test_key.as_str());
    let mut line = Line::of(&app, key).await;
    for (tool, argument, value, told) in wrong() {
        let mut given = match tool {
            "list_tasks" => json!({}),
            _ => json!({ "task_id": task }),
        };
        given[argument] = value;
        for answer in [
            call(&app, key, tool, &given).await,
            line.call(tool, &given).await,
        ] {
            let refused = refusal(&answer);
            assert_eq!(refused["code"], "VALIDATION_ERROR");
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains(told), "{tool} {given}: {message}");
            assert!(refused["what_to_do"].is_string());
        }
    }
    // What is null counts as left out, and 1.0 as the whole number that it is.
    let given = json!({"task_id": task, "until": null, "timeout_s": 1.0});
    let waited = call(&app, key, "wait_for_task", &given).await;
    assert_eq!(
        waited["result"]["structuredContent"]["reached"], false,
        "{waited}"
    );
}

async fn amounts_may_be_sent_as_floats(app: TestApp) {
    let developer = app.developer().await;
    let key = developer.test_key.as_str();
    let mut task = storefront();
    let cents = task["budget_cents"].as_i64().unwrap();
    task["budget_cents"] = json!(cents as f64);
    task["metadata"] = json!({"weight": 2.0});
    let quote = call(&app, key, "quote_task", &task).await;
    let quote = &quote["result"]["structuredContent"];
    assert_eq!(quote["budget_cents"], cents, "{quote}");
    let created = call(&app, key, "create_task", &json!({"quote_id": quote["id"]})).await;
    let created = &created["result"]["structuredContent"];
    assert_eq!(created["metadata"], json!({"weight": 2.0}));
    let cancel = json!({"task_id": created["id"], "expected_refund_cents": cents as f64});
    let cancelled = call(&app, key, "cancel_task", &cancel).await;
    let cancelled = &cancelled["result"]["structuredContent"];
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    task["budget_cents"] = json!(2_500.5);
    let refused = call(&app, key, "quote_task", &task).await;
    assert_eq!(refusal(&refused)["code"], "VALIDATION_ERROR");
}

async fn what_is_not_there_is_told_with_the_way_on(app: TestApp) {
    let developer = app.developer().await;
    let (task, key) = (test_task(&developer).await, developer.test_key.as_str());
    let none = "0".repeat(32);
    for (tool, given, code) in [
        ("get_task", json!({ "task_id": none }), "TASK_NOT_FOUND"),
        (
            "review_proof",
            json!({"task_id": task, "proof_id": none, "decision": "approve"}),
            "PROOF_NOT_FOUND",
        ),
    ] {
        let refused = refusal(&call(&app, key, tool, &given).await);
        assert_eq!(refused["code"], code);
        assert!(refused["what_to_do"].is_string(), "{refused}");
    }
}

async fn parameters_that_cannot_be_read_are_told_from_unknown_methods(app: TestApp) {
    let developer = app.developer().await;
    let bearer = format!("Bearer {}", developer.test_key);
    let mut line = Line::of(&app, &developer.test_key).await;
    for (method, params, code) in [
        (
            "tools/call",
            json!({"name": "get_mandate", "arguments": [1]}),
            -32602,
        ),
        ("tools/call", json!({"arguments": {}}), -32602),
        ("resources/read", json!({"uri": 7}), -32602),
        ("tools/burn", json!({}), -32601),
    ] {
        let (_, by_http) = ask(&app, &[("authorization", &bearer)], method, params.clone()).await;
        let by_line = line.ask(method, params).await;
        for answer in [by_http, by_line] {
            assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(method), "{message}");
        }
    }
}
