//! "There is no such thing" is said only where it is so.

use serde_json::{Value, json};

use super::ask;
use super::inspector::test_task;
use super::stdio::Line;
use crate::mandates::Limited;
use crate::support::{TestApp, on_sqlite};

on_sqlite!(a_resource_that_cannot_be_read_says_why);

async fn a_resource_that_cannot_be_read_says_why(app: TestApp) {
    let developer = app.developer().await;
    let task = test_task(&developer).await;
    let creates = json!({"permissions": ["create"]});
    let limited = Limited::in_test(&app, &developer, creates).await;
    let uri = format!("legwork://tasks/{task}");
    let proof = format!("{uri}/proofs/0");
    for (key, uri, code, part) in [
        (
            &developer.test_key,
            proof.as_str(),
            -32002,
            "there is no legwork://",
        ),
        (
            &developer.test_key,
            "legwork://tasks/0",
            -32002,
            "there is no legwork://",
        ),
        (
            &developer.test_key,
            "legwork://nothing",
            -32002,
            "there is no legwork://",
        ),
        (&limited.key, uri.as_str(), -32603, "read"),
        (&limited.key, proof.as_str(), -32603, "read"),
    ] {
        let mut line = Line::of(&app, key).await;
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str())];
        let (_, by_http) = ask(&app, &headers, "resources/read", json!({"uri": uri})).await;
        let by_line = line.ask("resources/read", json!({"uri": uri})).await;
        for answer in [by_http, by_line] {
            told(&answer, code, part);
            if code == -32603 {
                assert_eq!(answer["error"]["data"]["code"], "PERMISSION_DENIED");
            }
        }
    }
    // Nobody listens there.
    let mut line = Line::to("http://127.0.0.1:1", &developer.test_key).await;
    let answer = line.ask("resources/read", json!({"uri": uri})).await;
    told(&answer, -32603, "127.0.0.1:1");
    assert_eq!(answer["error"]["data"]["code"], "UNREACHABLE");
}

#[track_caller]
fn told(answer: &Value, code: i64, part: &str) {
    assert_eq!(answer["error"]["code"], code, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(part), "{message}");
}
