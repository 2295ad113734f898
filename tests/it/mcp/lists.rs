//! Lists of tasks that an agent reads page by page, and where a person agrees, also for a key that may not read.

use serde_json::{Value, json};

use super::inspector::{advance, test_task};
use super::stdio::Line;
use super::{ask, call, refusal};
use crate::mandates::{Limited, with};
use crate::support::{TestApp, on_sqlite, storefront};

on_sqlite!(
    what_needs_attention_is_read_page_by_page,
    a_key_that_may_only_create_gets_the_link,
    a_task_that_waits_for_a_person_says_so_wherever_it_is_shown
);

async fn what_needs_attention_is_read_page_by_page(app: TestApp) {
    let developer = app.developer().await;
    let mut waiting = Vec::new();
    for status in [
        "disputed",
        "funded",
        "proof_submitted",
        "completed",
        "proof_submitted",
    ] {
        let task = test_task(&developer).await;
        if status != "funded" {
            advance(&developer, &task, status).await;
        }
        if ["disputed", "proof_submitted"].contains(&status) {
            waiting.insert(0, (task, status));
        }
    }
    let list = async |given: Value| {
        let answer = call(&app, &developer.test_key, "list_tasks", &given).await;
        let listed = answer["result"]["structuredContent"].clone();
        let tasks = listed["data"].as_array().unwrap().iter();
        let ids: Vec<_> = tasks
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, listed["meta"].clone())
    };
    let mut read = Vec::new();
    for (offset, expected) in [(0, 2), (2, 1), (4, 0)] {
        let given = json!({"needs_attention": true, "limit": 2, "offset": offset});
        let (ids, meta) = list(given).await;
        assert_eq!(meta, json!({"total": 3, "limit": 2, "offset": offset}));
        assert_eq!(ids.len(), expected);
        read.extend(ids);
    }
    let newest_first: Vec<_> = waiting.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(read, newest_first);
    for (status, expected) in [("disputed", 1), ("proof_submitted", 2), ("funded", 0)] {
        let (ids, meta) = list(json!({"needs_attention": true, "status": status})).await;
        let of_status = waiting.iter().filter(|(_, waits)| *waits == status);
        let of_status: Vec<_> = of_status.map(|(id, _)| id.clone()).collect();
        assert_eq!(ids, of_status);
        assert_eq!(meta, json!({"total": expected, "limit": 20, "offset": 0}));
    }
    let (ids, _) = list(json!({"needs_attention": false, "status": "funded"})).await;
    assert_eq!(ids.len(), 1);
}

async fn a_key_that_may_only_create_gets_the_link(app: TestApp) {
    let developer = app.developer().await;
    let mandate = json!({"permissions": ["create"], "approval_above_cents": 0});
    let limited = Limited::in_test(&app, &developer, mandate).await;
    let mut line = Line::of(&app, &limited.key).await;
    let quote = call(&app, &limited.key, "quote_task", &storefront()).await;
    let redeem = json!({"quote_id": quote["result"]["structuredContent"]["id"]});
    let by_http = call(&app, &limited.key, "create_task", &redeem).await;
    for answer in [by_http, line.call("create_task", &redeem).await] {
        let approval = &answer["result"]["structuredContent"]["approval"];
        assert_eq!(approval["status"], "waiting", "{answer}");
        let url = approval["url"].as_str().unwrap();
        assert!(url.ends_with("/dashboard/test/approvals"), "{url}");
    }
    // It may not read the task, but learns what was decided.
    let created = call(&app, &limited.key, "create_task", &redeem).await;
    let id = created["result"]["structuredContent"]["id"]
        .as_str()
        .unwrap();
    let agree = format!("/v1/tasks/{id}/approval/approve");
    developer.test.post(&agree, &json!({})).await.expect(200);
    let decided = line.call("create_task", &redeem).await;
    let task = &decided["result"]["structuredContent"];
    assert_eq!(
        (&task["id"], &task["approval"]["status"]),
        (&json!(id), &json!("approved"))
    );
}

async fn a_task_that_waits_for_a_person_says_so_wherever_it_is_shown(app: TestApp) {
    let developer = app.developer().await;
    let asks = with("approval_above_cents", json!(0));
    let limited = Limited::in_test(&app, &developer, asks).await;
    let task = limited.create(2_500).await.expect(201);
    let id = task["id"].as_str().unwrap();
    let approval = limited
        .client
        .get(&format!("/v1/tasks/{id}/approval"))
        .await;
    let approval = approval.expect(200);
    assert_eq!(approval["status"], "waiting");
    let looks = json!({"task_id": id, "timeout_s": 0});
    let waited = call(&app, &limited.key, "wait_for_task", &looks).await;
    let waited = &waited["result"]["structuredContent"];
    assert_eq!(waited["task"]["approval"], approval, "{waited}");
    let message = waited["message"].as_str().unwrap();
    assert!(message.contains("a person must agree first"), "{message}");
    let of_task = json!({"task_id": id});
    let read = call(&app, &limited.key, "get_task", &of_task).await;
    let read = &read["result"]["structuredContent"];
    assert_eq!(read["task"]["approval"], approval, "{read}");
    let bearer = format!("Bearer {}", limited.key);
    let uri = json!({"uri": format!("legwork://tasks/{id}")});
    let (_, resource) = ask(&app, &[("authorization", &bearer)], "resources/read", uri).await;
    let text = resource["result"]["contents"][0]["text"].as_str().unwrap();
    let resource: Value = serde_json::from_str(text).unwrap();
    assert_eq!(resource["approval"], approval, "{resource}");
    let refused = refusal(&call(&app, &limited.key, "advance_test_task", &of_task).await);
    let hint = refused["what_to_do"].as_str().unwrap();
    assert!(
        hint.contains("get_task") && hint.contains("approval"),
        "{hint}"
    );
    // Once somebody has agreed, nothing is left to be said about it.
    let agree = format!("/v1/tasks/{id}/approval/approve");
    developer.test.post(&agree, &json!({})).await.expect(200);
    let read = call(&app, &limited.key, "get_task", &of_task).await;
    let read = &read["result"]["structuredContent"]["task"];
    assert_eq!(
        (&read["status"], read.get("approval")),
        (&json!("funded"), None)
    );
}
