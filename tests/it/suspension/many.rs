//! Very many posted tasks are hidden and shown again, some at a time, whoever is killed meanwhile.

use futures_util::future::join_all;
use legwork::domain::Tier;

use super::{count, finish_jobs, id_of, kill_jobs_when, restore, suspend};
use crate::support::{TestApp, on_both_engines, storefront};

on_both_engines!(half_done_is_done_in_the_end);

/// More than two pages.
const TASKS: usize = 420;

async fn half_done_is_done_in_the_end(app: TestApp) {
    let dev = app.developer_on(Tier::Enterprise).await;
    dev.charge_to("pm_card_visa").await;
    for _ in 0..TASKS / 20 {
        let task = storefront();
        let created = (0..20).map(|_| dev.live.post("/v1/tasks", &task));
        for reply in join_all(created).await {
            reply.expect(201);
        }
    }
    app.jobs.drain().await.unwrap();
    let shown = async || count(&app, "posted_tasks").await;
    assert_eq!(shown().await, TASKS);

    suspend(&app, id_of(&dev)).await.unwrap();
    kill_jobs_when(&app, async || shown().await < TASKS).await;
    finish_jobs(&app).await;
    assert_eq!(shown().await, 0);

    restore(&app, id_of(&dev)).await.unwrap();
    kill_jobs_when(&app, async || shown().await > 0).await;
    finish_jobs(&app).await;
    assert_eq!(shown().await, TASKS);

    // Half hidden when it is restored: the job of the suspension goes on, and does no harm.
    suspend(&app, id_of(&dev)).await.unwrap();
    kill_jobs_when(&app, async || shown().await < TASKS).await;
    restore(&app, id_of(&dev)).await.unwrap();
    finish_jobs(&app).await;
    assert_eq!(shown().await, TASKS);
    TestApp::expect_settled(&app.verify().await);
}
