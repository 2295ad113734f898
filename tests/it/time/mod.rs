//! What happens by the clock alone: in live when it is time, in test when the clock is wound.

mod live;
mod test_clock;

use serde_json::Value;

use crate::support::{Client, path};

async fn status(client: &Client, task: &Value) -> String {
    let task = client.get(&path(task)).await.expect(200);
    task["status"].as_str().unwrap().to_owned()
}

/// The moves of a task: from, to, by whom, why.
async fn history(client: &Client, task: &Value) -> Vec<(String, String, String)> {
    let path = format!("{}/history?limit=100", path(task));
    let page = client.get(&path).await.expect(200);
    let moves = page["data"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    moves
        .map(|made| {
            (
                text(&made["to"]),
                text(&made["by"]["type"]),
                text(&made["reason"]),
            )
        })
        .collect()
}
