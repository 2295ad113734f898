//! Those who run the marketplace: who may do what, what they decide, and what is remembered of it.

mod audit;
mod deciding;
mod disputes;
mod documents;
mod four_eyes;
mod keys;
mod lists;
mod payouts;
mod queue;
mod roles;
mod same_person;

use serde_json::{Value, json};

use crate::support::{Developer, TestApp, Worker};

/// The page of a list, as the ids in it and the cursor of the next.
pub fn ids(page: &Value) -> Vec<&str> {
    let data = page["data"].as_array().unwrap().iter();
    data.map(|item| item["id"].as_str().unwrap()).collect()
}

/// A live task whose proof was rejected, which the worker contests.
pub async fn disputed_task(app: &TestApp, dev: &Developer, worker: &Worker) -> Value {
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let id = task["id"].as_str().unwrap();
    let proof = worker.prove(&task, id).await;
    dev.review(&task, &proof, "reject").await.expect(200);
    let path = format!("/v1/worker/tasks/{id}/dispute");
    let statement = json!({"statement": "The door is in the picture."});
    worker.client.post(&path, &statement).await.expect(200);
    app.jobs.drain().await.unwrap();
    task
}
