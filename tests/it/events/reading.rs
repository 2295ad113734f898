//! GET /v1/events

use serde_json::json;

use super::{all_events, types};
use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    pages_are_newest_first_and_complete,
    filters_narrow_the_list,
    what_is_malformed_is_named,
    a_history_of_moves_comes_with_the_events,
);

async fn pages_are_newest_first_and_complete(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..5 {
        dev.create_task().await;
    }
    let first = dev.test.get("/v1/events?limit=4").await.expect(200);
    let numbers = |page: &serde_json::Value| -> Vec<i64> {
        let events = page["data"].as_array().unwrap().iter();
        events
            .map(|event| event["number"].as_i64().unwrap())
            .collect()
    };
    assert_eq!(numbers(&first), [10, 9, 8, 7]);
    assert_eq!(first["meta"]["limit"], 4);
    // What happens meanwhile does not disturb the pages.
    dev.create_task().await;
    let cursor = first["meta"]["next_cursor"].as_str().unwrap();
    let second = dev
        .test
        .get(&format!("/v1/events?limit=4&cursor={cursor}"))
        .await;
    let second = second.expect(200);
    assert_eq!(numbers(&second), [6, 5, 4, 3]);
    let cursor = second["meta"]["next_cursor"].as_str().unwrap();
    let last = dev
        .test
        .get(&format!("/v1/events?limit=2&cursor={cursor}"))
        .await;
    let last = last.expect(200);
    assert_eq!(numbers(&last), [2, 1]);
    assert_eq!(last["meta"]["next_cursor"], json!(null));
    assert_eq!(all_events(&dev.test).await.len(), 12);
}

async fn filters_narrow_the_list(app: TestApp) {
    let dev = app.developer().await;
    let (task, other) = (dev.create_task().await, dev.create_task().await);
    dev.test
        .post(&format!("{}/cancel", path(&other)), &json!({}))
        .await
        .expect(200);
    let id = task["id"].as_str().unwrap();
    let get = async |query: &str| {
        let page = dev
            .test
            .get(&format!("/v1/events?{query}"))
            .await
            .expect(200);
        types(page["data"].as_array().unwrap()).join(" ")
    };
    assert_eq!(get("type=task.cancelled").await, "task.cancelled");
    assert_eq!(get("type=task.funded").await, "task.funded task.funded");
    assert_eq!(get("event=task.cancelled").await, "task.cancelled");
    assert_eq!(
        get(&format!("task_id={id}")).await,
        "task.funded task.created"
    );
    assert_eq!(
        get(&format!("task={id}&type=task.created")).await,
        "task.created"
    );
    assert_eq!(get(&format!("task_id={id}&type=task.cancelled")).await, "");
    assert_eq!(get("type=worker.verified").await, "");
    let stranger = app.developer().await;
    let page = stranger
        .test
        .get(&format!("/v1/events?task_id={id}"))
        .await
        .expect(200);
    assert_eq!(page["data"], json!([]));
}

async fn what_is_malformed_is_named(app: TestApp) {
    let dev = app.developer().await;
    let query = "type=task.eaten&task_id=7&cursor=x&limit=0&offset=1";
    let reply = dev.test.get(&format!("/v1/events?{query}")).await;
    let faulty = reply.faulty_fields();
    assert_eq!(faulty, ["type", "task_id", "cursor", "limit", "offset"]);
    let unknown = "0".repeat(32);
    let page = dev
        .test
        .get(&format!("/v1/events?cursor={unknown}"))
        .await
        .expect(200);
    assert_eq!(page["data"], json!([]));
    app.client()
        .get("/v1/events")
        .await
        .expect_error(401, "UNAUTHORIZED");
}

/// The history has no endpoint of its own yet; it is written with the events.
async fn a_history_of_moves_comes_with_the_events(app: TestApp) {
    let dev = app.developer().await;
    let task = dev.create_task().await;
    dev.test
        .post(&format!("{}/cancel", path(&task)), &json!({}))
        .await
        .expect(200);
    let id = legwork::domain::TaskId::parse(task["id"].as_str().unwrap()).unwrap();
    let (moves, count) = app
        .store
        .snapshot(move |tx| tx.history(id, 10, 0))
        .await
        .unwrap();
    let made: Vec<_> = moves
        .iter()
        .map(|made| {
            (
                made.from.map(|from| from.as_str()),
                made.to.as_str(),
                made.by.kind.as_str(),
            )
        })
        .collect();
    let expected = [
        (None, "pending", "developer"),
        (Some("pending"), "funded", "processor"),
        (Some("funded"), "cancelled", "developer"),
    ];
    assert_eq!((made, count), (expected.to_vec(), 3));
}
